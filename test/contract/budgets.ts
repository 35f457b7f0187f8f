import { describe, expect, it } from 'vitest'
import { BudgetWorld } from '../support/budget-world.ts'
import fc from '../support/fast-check.ts'
import type { LeaseLane } from '../support/lease-lane.ts'
import { SeededRandom } from '../support/seeded-random.ts'

interface Load {
  readonly seed: number
  readonly limit: number
  readonly everyMs: number
  readonly faults: 'none' | 'fronts' | 'authority' | 'both' | 'Redis'
}

const QUIET_MS = 20_000

/** Random requests and faults for a minute; then, when all is quiet, whatever is left is used up one by one. */
async function useUp({ seed, limit, everyMs, faults }: Load, lane?: LeaseLane): Promise<BudgetWorld> {
  const random = new SeededRandom(seed)
  const world = new BudgetWorld(random, lane)
  await world.leases.settle()
  const { leases } = world
  const endMs = leases.nowMs + 60_000
  const every = (meanMs: () => number, act: () => void): void => {
    leases.after(meanMs(), () => {
      if (leases.nowMs > endMs) return
      act()
      every(meanMs, act)
    })
  }
  every(
    () => -Math.log(1 - random.next()) * everyMs,
    () => {
      const worst = random.between(1, Math.max(1, Math.floor(limit / 20)))
      void world.request(world.front(), limit, worst, random.between(0, worst), random.next() * 3_000)
    },
  )
  if (faults === 'fronts' || faults === 'both') {
    every(
      () => 3_000 + random.next() * 9_000,
      () => {
        world.crash(world.front())
      },
    )
  }
  if (faults === 'authority' || faults === 'both') {
    every(
      () => 8_000 + random.next() * 20_000,
      () => {
        world.restart()
      },
    )
  }
  if (faults === 'Redis') {
    every(
      () => 6_000 + random.next() * 12_000,
      () => {
        leases.redisAway = true
        leases.after(random.next() * 5_000, () => {
          leases.redisAway = false
        })
      },
    )
  }
  await leases.run(60_000 + QUIET_MS)
  for (let refused = 0; refused < 3;) {
    void world.request(world.front(), limit, 1, 1, 0).then((isIn) => (refused = isIn ? 0 : refused + 1))
    await leases.run(200)
  }
  await leases.run(QUIET_MS)
  return world
}

const loads = (faults: Load['faults']) =>
  fc.record({
    seed: fc.nat(),
    limit: fc.integer({ min: 1, max: 2_000 }),
    everyMs: fc.integer({ min: 20, max: 500 }),
    faults: fc.constant(faults),
  })

/** What holds for budgets, whoever hands out the leases. @param runs of each property */
export function budgetsContract(runs: number, lane?: () => LeaseLane): void {
  describe('a budget over several fronts', () => {
    const kinds = ['none', 'fronts', 'authority', 'both'] as const
    it.each<Load['faults']>(lane === undefined ? kinds : [...kinds, 'Redis'])(
      'is never overshot and in the end used up to the last unit (faults: %s)',
      async (faults) => {
        await fc.assert(
          fc.asyncProperty(loads(faults), async (load) => {
            const world = await useUp(load, lane?.())
            expect(world.most).toBeLessThanOrEqual(1)
            expect(world.spent).toBe(load.limit)
          }),
          { numRuns: runs },
        )
      },
      120_000,
    )

    it('counts what of a closed journal is settled late, when the budget is in use already', async () => {
      const limit = 100
      const world = new BudgetWorld(new SeededRandom(1), lane?.())
      await world.leases.settle()
      const front = world.front()
      const useOne = async (): Promise<void> => {
        void world.request(front, limit, 1, 1, 0)
        await world.leases.run(200)
      }
      await useOne()
      await world.leases.run(5_000)
      world.settleLate(front, 60)
      await world.leases.run(5_000)
      for (let asked = 0; asked < limit; asked++) await useOne()
      await world.leases.run(5_000)
      expect(world.spent).toBe(limit)
    })
  })
}
