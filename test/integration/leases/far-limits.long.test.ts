import { farLimitsContract } from '../../contract/far-limits.ts'
import { LeaseLane } from '../../support/lease-lane.ts'
import { LeaseWorld } from '../../support/lease-world.ts'
import { useRedis } from '../../support/redis-client.ts'

const client = useRedis()

farLimitsContract({
  make: async (random) => {
    const world = new LeaseWorld({ fronts: 2, nodes: 2, random, lane: new LeaseLane(client()) })
    await world.settle()
    return world
  },
  longestRestMs: 300_000,
  runs: 3,
  roundTripsMs: 260,
})
