import { expect, it } from 'vitest'
import { GatewayError } from '../../../src/shared/core/errors.ts'
import { Admissions } from '../../../src/front/limits/admissions.ts'
import { budgetsContract } from '../../contract/budgets.ts'
import { FRONTS, leasesContract, principal } from '../../contract/leases.ts'
import { BudgetWorld } from '../../support/budget-world.ts'
import { dose, itLater } from '../../support/dose.ts'
import { LeaseLane } from '../../support/lease-lane.ts'
import { LeaseWorld } from '../../support/lease-world.ts'
import type { WorldFront, WorldNode } from '../../support/lease-world.ts'
import { SeededRandom } from '../../support/seeded-random.ts'
import { useRedis } from '../../support/redis-client.ts'

/** Of each property of a budget; of those of limits a part. */
const RUNS = dose('SLUICE_TEST_LEASE_RUNS', { short: 1, long: 10 })
const LIMIT = 400
const WANTED = 20

const client = useRedis()

leasesContract({
  make: async (random, fronts = FRONTS) => {
    const world = new LeaseWorld({ fronts: fronts / 2, nodes: 2, random, lane: new LeaseLane(client()) })
    await world.settle()
    return world
  },
  share: RUNS / 50,
  itLast: itLater,
})

budgetsContract(RUNS, () => new LeaseLane(client()))

it('counts a closed journal once, and nothing of what its front held, at another machine', async () => {
  const limit = 100
  const world = new BudgetWorld(new SeededRandom(1), new LeaseLane(client()))
  await world.leases.settle()
  const [here, there] = world.leases.nodes.map(({ fronts }) => fronts[0]) as [WorldFront, WorldFront]
  void world.request(here, limit, 60, 60, 0)
  await world.leases.run(5_000)
  world.crash(here)
  // By then this machine has nothing to do with the budget any more.
  await world.leases.run(30_000)

  for (let asked = 60; asked < limit; asked++) {
    void world.request(there, limit, 1, 1, 0)
    await world.leases.run(200)
  }
  await world.leases.run(5_000)
  expect(world.spent).toBe(limit)
})

/** A machine that has lost its control process asks `WANTED` times at each front while another one uses up the limit. */
async function withoutControl(awayMs: number): Promise<{ atMs: number[]; elsewhere: number }> {
  const random = new SeededRandom(awayMs)
  const world = new LeaseWorld({ fronts: 2, nodes: 2, random: () => random.next(), lane: new LeaseLane(client()) })
  await world.settle()
  const [here, there] = world.nodes as [WorldNode, WorldNode]
  const limits = new Map(world.fronts.map((front) => [front, new Admissions(front.book)]))
  const caller = principal({ requestsPerMinute: LIMIT })
  const ask = async (front: WorldFront | undefined): Promise<boolean> => {
    try {
      const admission = await limits.get(front as WorldFront)?.admit(caller, world.nowMs)
      admission?.settle(0, world.nowMs)
      return true
    } catch (cause) {
      if (cause instanceof GatewayError) return false
      throw cause
    }
  }
  let had = 0
  for (const front of here.fronts) void ask(front).then((isIn) => (had += Number(isIn)))
  await world.run(200)
  expect(had).toBe(here.fronts.length)

  world.restartAuthority(awayMs, here)
  const lostMs = world.nowMs
  const atMs: number[] = here.fronts.map(() => 0)
  let answered = 0
  for (const front of here.fronts) {
    for (let nth = 0; nth < WANTED; nth++) {
      void ask(front).then((isIn) => {
        answered += 1
        if (isIn) atMs.push(world.nowMs - lostMs)
      })
    }
  }
  let elsewhere = 0
  const flood = (): void => {
    world.after(2, flood)
    void ask(there.fronts[random.between(0, 1)]).then((isIn) => (elsewhere += Number(isIn)))
  }
  world.after(0, flood)
  await world.run(10_000)
  expect(answered).toBe(here.fronts.length * WANTED)
  return { atMs, elsewhere }
}

it('takes nothing of what other machines go on to take while a control process starts anew', async () => {
  const { atMs, elsewhere } = await withoutControl(2_000)
  expect(atMs.length + elsewhere).toBeGreaterThan(LIMIT * 0.97)
  expect(atMs.length + elsewhere).toBeLessThanOrEqual(LIMIT)
})

it('goes on by shares when no control process comes back', async () => {
  const { atMs } = await withoutControl(60_000)
  const late = atMs.filter((at) => at > 0)
  expect(late.length).toBeGreaterThan(WANTED / 2)
  expect(Math.max(...late)).toBeLessThan(6_000)
})
