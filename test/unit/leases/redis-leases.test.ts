import { Redis } from 'ioredis'
import { afterAll, beforeAll } from 'vitest'
import { budgetsContract } from '../../contract/budgets.ts'
import { FRONTS, leasesContract } from '../../contract/leases.ts'
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

leasesContract({
  make: async (random, fronts = FRONTS) => {
    const world = new LeaseWorld({ fronts: fronts / 2, nodes: 2, random, lane: new LeaseLane(client) })
    await world.settle()
    return world
  },
  share: 0.2,
})

budgetsContract(10, () => new LeaseLane(client))
