import { expect, it } from 'vitest'
import { GatewayError } from '../../../src/shared/core/errors.ts'
import { Admissions } from '../../../src/front/limits/admissions.ts'
import { principal } from '../../contract/leases.ts'
import { dose, firstCases, itLater } from '../../support/dose.ts'
import { LeaseLane } from '../../support/lease-lane.ts'
import { simulateLeases } from '../../support/lease-simulation.ts'
import { LeaseWorld } from '../../support/lease-world.ts'
import { mostInAWindow } from '../../support/most-in-a-window.ts'
import { useRedis } from '../../support/redis-client.ts'
import { TEST_SEED } from '../../support/seed.ts'
import { SeededRandom } from '../../support/seeded-random.ts'

const GATEWAYS = 3
const ADMISSIONS = dose('LEASE_ADMISSIONS', { short: 250, long: 15_000 })

const client = useRedis()

interface Gateways {
  readonly world: LeaseWorld
  /** Resolves with whether the request was let in; it lasts so long. */
  readonly ask: (gateway: number, lastsMs?: number) => Promise<boolean>
  /** When requests were let in. */
  readonly admittedMs: number[]
  readonly running: { now: number; most: number }
}

/** Three machines, each with one front, and one caller. */
async function gateways(limits: Parameters<typeof principal>[0], seed = TEST_SEED): Promise<Gateways> {
  const random = new SeededRandom(seed)
  const world = new LeaseWorld({
    fronts: 1,
    nodes: GATEWAYS,
    random: () => random.next(),
    lane: new LeaseLane(client()),
  })
  await world.settle()
  const caller = principal(limits)
  const admissions = world.fronts.map(({ book }) => new Admissions(book))
  const admittedMs: number[] = []
  const running = { now: 0, most: 0 }
  const ask = async (gateway: number, lastsMs = 0): Promise<boolean> => {
    try {
      const admission = await admissions[gateway]?.admit(caller, world.nowMs)
      admittedMs.push(world.nowMs)
      running.now += 1
      running.most = Math.max(running.most, running.now)
      world.after(lastsMs, () => {
        running.now -= 1
        admission?.settle(0, world.nowMs)
      })
      return true
    } catch (cause) {
      if (cause instanceof GatewayError) return false
      throw cause
    }
  }
  return { world, ask, admittedMs, running }
}

it.each(firstCases(1, [0, 1, 2]))(
  'never runs more than five at once on three gateways while Redis is away for 12 s and returns (seed %d)',
  async (seed) => {
    const { world, ask, running } = await gateways({ concurrency: 5 }, seed)
    const random = new SeededRandom(seed)
    const load = (): void => {
      world.after(random.next() * 40, load)
      void ask(random.between(0, GATEWAYS - 1), random.next() * 2_000)
    }
    load()
    await world.run(5_000)
    expect(running.most).toBe(5)
    world.redisAway = true
    await world.run(12_000)
    expect(running.now).toBeGreaterThan(0)
    world.redisAway = false
    await world.run(5_000)
    expect(running.most).toBe(5)
  },
)

itLater(
  'runs no more than there are places when requests on one gateway hold all of them and others are asked',
  async () => {
    const { world, ask, running } = await gateways({ concurrency: 6 })
    for (let nth = 0; nth < 6; nth++) void ask(0, 60_000)
    await world.run(1_000)
    expect(running.now).toBe(6)
    world.redisAway = true
    await world.run(3_000)
    const asked = Promise.all([ask(1), ask(2)])
    await world.run(1_000)
    expect(await asked).toEqual([false, false])
    await world.run(15_000)
    expect(running.most).toBe(6)
  },
)

it('admits a key whose window has emptied while Redis is away', async () => {
  const { world, ask, admittedMs } = await gateways({ requestsPerMinute: 60 })
  for (let nth = 0; nth < 70; nth++) {
    void ask(nth % GATEWAYS)
    await world.run(20)
  }
  expect(admittedMs).toHaveLength(60)
  await world.run(68_000)
  world.redisAway = true
  await world.run(3_000)
  const before = admittedMs.length
  for (let second = 0; second < 13; second++) {
    for (let gateway = 0; gateway < GATEWAYS; gateway++) void ask(gateway)
    await world.run(1_000)
  }
  // Half of the limit is set aside, and nobody has used any of it.
  expect(admittedMs.length - before).toBeGreaterThanOrEqual(30)
  expect(mostInAWindow(admittedMs.map((atMs) => [atMs, 1]))).toBeLessThanOrEqual(60)
})

it('goes on with what it used itself when its window empties while Redis is away', async () => {
  const { world, ask, admittedMs } = await gateways({ requestsPerMinute: 60 })
  for (let nth = 0; nth < 70; nth++) {
    void ask(nth % GATEWAYS)
    await world.run(20)
  }
  await world.run(50_000)
  world.redisAway = true
  await world.run(12_000)
  const before = admittedMs.length
  for (let nth = 0; nth < 70; nth++) {
    void ask(nth % GATEWAYS)
    await world.run(20)
  }
  expect(admittedMs.length - before).toBeGreaterThan(60 * 0.97)
  expect(mostInAWindow(admittedMs.map((atMs) => [atMs, 1]))).toBeLessThanOrEqual(60)
})

it('admits no more than the limit when one gateway used all of it and the others are asked while Redis is away', async () => {
  const { world, ask, admittedMs } = await gateways({ requestsPerMinute: 60 })
  for (let nth = 0; nth < 70; nth++) {
    void ask(0)
    await world.run(20)
  }
  expect(admittedMs).toHaveLength(60)
  world.redisAway = true
  for (let second = 0; second < 120; second++) {
    for (let gateway = 0; gateway < GATEWAYS; gateway++) void ask(gateway)
    await world.run(1_000)
  }
  expect(mostInAWindow(admittedMs.map((atMs) => [atMs, 1]))).toBeLessThanOrEqual(60)
  expect(admittedMs.length).toBeGreaterThan(60 * 1.97)
})

it('serves a key that a gateway has never seen while Redis is away', async () => {
  const { world, ask } = await gateways({ requestsPerMinute: 60, concurrency: 60 })
  world.redisAway = true
  await world.run(3_000)
  const asked = Promise.all([ask(0), ask(1), ask(2)])
  await world.run(1_000)
  expect(await asked).toEqual([true, true, true])
})

it.each(
  firstCases<readonly [name: string, outages: object]>(1, [
    ['short outages', { calmMs: 30_000 }],
    ['outages of up to a minute', { calmMs: 60_000, longestOutageMs: 60_000 }],
  ]),
)('keeps to every limit through %s', { timeout: 600_000 }, async (name, outages) => {
  const result = await simulateLeases({
    seed: TEST_SEED,
    lane: new LeaseLane(client()),
    nodes: GATEWAYS,
    fronts: 2,
    limits: [5, 60, 300, 1_000],
    places: [5, 24],
    budgets: [5_000],
    admissions: ADMISSIONS,
    faults: { crashEveryMs: Infinity, outageEveryMs: 10_000, lossRate: 0.002, skewMs: 2_500, ...outages },
  })
  console.log(JSON.stringify({ seed: TEST_SEED, name, ...result }))
  expect(result.worstWindow).toBeLessThanOrEqual(1)
  expect(result.mostAtOnce).toBeLessThanOrEqual(1)
  expect(result.mostSpent).toBeLessThanOrEqual(1)
  expect(result.back).toBe(1)
  expect(result.share).toBeGreaterThan(0.95)
})
