import { Redis } from 'ioredis'
import { afterAll, beforeAll } from 'vitest'
import { farLimitsContract } from '../../contract/far-limits.ts'
import { LeaseLane } from '../../support/lease-lane.ts'
import { LeaseWorld } from '../../support/lease-world.ts'
import { TestRedis } from '../../support/redis.ts'

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

farLimitsContract({
  make: async (random) => {
    const world = new LeaseWorld({ fronts: 2, nodes: 2, random, lane: new LeaseLane(client) })
    await world.settle()
    return world
  },
  longestRestMs: 300_000,
  runs: 3,
  roundTripsMs: 260,
})
