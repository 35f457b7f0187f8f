import { farLimitsContract } from '../../contract/far-limits.ts'
import { dose } from '../../support/dose.ts'
import { LeaseWorld } from '../../support/lease-world.ts'

farLimitsContract({
  make: (random) => Promise.resolve(new LeaseWorld({ fronts: 3, random })),
  longestRestMs: 48 * 3_600_000,
  runs: dose('FAR_LIMIT_RUNS', { short: 8, long: 1_000 }),
  roundTripsMs: 130,
})
