import { Redis } from 'ioredis'
import { afterAll, beforeAll } from 'vitest'
import { TestRedis } from './redis.ts'

/** Starts one Redis for all tests of a file. To be called outside of tests; the returned function gives a client inside them. */
export function useRedis(): () => Redis {
  let redis: TestRedis
  let client: Redis

  beforeAll(async () => {
    redis = await TestRedis.start()
    client = new Redis(redis.url)
  })
  afterAll(async () => {
    client.disconnect()
    await redis.stop()
  })
  return () => client
}
