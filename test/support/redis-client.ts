import { Redis } from 'ioredis'
import { afterAll, beforeAll } from 'vitest'
import { TestRedis } from './redis.ts'

/** One Redis for all tests of a file, and a client of it. To be called outside of tests; what it returns is called within them. */
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
