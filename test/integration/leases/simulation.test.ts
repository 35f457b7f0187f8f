import { expect, it } from 'vitest'
import { dose, firstCases } from '../../support/dose.ts'
import { LeaseLane } from '../../support/lease-lane.ts'
import type { SimulationOptions } from '../../support/lease-simulation.ts'
import { simulateLeases } from '../../support/lease-simulation.ts'
import { useRedis } from '../../support/redis-client.ts'
import { TEST_SEED } from '../../support/seed.ts'

/**
 * `LEASE_ADMISSIONS=10000000 npx vitest run --project parts test/integration/leases/simulation.test.ts` makes the long run; `SLUICE_TEST_SEED` the
 * same one again.
 */
const ADMISSIONS = dose('LEASE_ADMISSIONS', { short: 250, long: 15_000 })
const SEED = TEST_SEED
const LONGEST_MS = 3_600_000
/** The more is to be admitted, the busier the keys are. */
const BUSY = Math.max(1, Math.min(40, ADMISSIONS / 30_000))
const LIMITS = [5, 100, 2_000 * BUSY, 5_000 * BUSY, 10_000 * BUSY]

const client = useRedis()

const CRASHES = { crashEveryMs: 15_000, outageEveryMs: Infinity, lossRate: 0.002, skewMs: 2_500 }

it.each(
  firstCases<readonly [name: string, faults: SimulationOptions['faults']]>(1, [
    ['with crashes, lost replies and clocks that differ', CRASHES],
    ['without faults', null],
    ['with outages of Redis besides', { ...CRASHES, outageEveryMs: 60_000 }],
  ]),
)(
  'many machines keep to every limit, %s',
  async (name, faults) => {
    const result = await simulateLeases({
      seed: SEED,
      lane: new LeaseLane(client()),
      nodes: 4,
      fronts: 3,
      limits: LIMITS,
      places: [24, 60],
      budgets: [5_000, 1_000_000],
      admissions: ADMISSIONS,
      faults,
    })
    console.log(JSON.stringify({ seed: SEED, name, ...result }))
    const hasAuthority = faults === null || faults.outageEveryMs === Infinity
    expect(result.worstWindow).toBeLessThanOrEqual(1)
    expect(result.mostAtOnce).toBeLessThanOrEqual(1)
    expect(result.mostSpent).toBeLessThanOrEqual(1)
    expect(result.back).toBe(1)
    if (faults === null) expect(result.share).toBeGreaterThan(0.98)
    // A short run is over before the windows it fills have gone round.
    if (hasAuthority && ADMISSIONS >= 1_000_000) expect(result.share).toBeGreaterThanOrEqual(0.99)
  },
  LONGEST_MS,
)
