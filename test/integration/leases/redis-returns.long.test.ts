import { expect, it } from 'vitest'
import { GatewayError } from '../../../src/shared/core/errors.ts'
import { Admissions } from '../../../src/front/limits/admissions.ts'
import { principal } from '../../contract/leases.ts'
import { LeaseLane } from '../../support/lease-lane.ts'
import { LeaseWorld } from '../../support/lease-world.ts'
import { SeededRandom } from '../../support/seeded-random.ts'
import { useRedis } from '../../support/redis-client.ts'

const client = useRedis()

/** Two ways through three processes and back, as often as a request may ask: for places and for requests. */
const ROUND_TRIPS_MS = 100

interface Felt {
  readonly complaints: string[]
  served: number
}

/** A caller who is far from the limits, and is asked for now and then on every front; what it felt from `sinceMs` on. */
function askNowAndThen(world: LeaseWorld, random: SeededRandom, pauseMs: number, sinceMs: () => number): Felt {
  const caller = principal({ requestsPerMinute: 6_000, tokensPerMinute: 6_000_000, concurrency: 100 })
  const limits = world.fronts.map(({ book }) => new Admissions(book))
  const felt: Felt = { complaints: [], served: 0 }
  const one = async (front: number): Promise<void> => {
    const startMs = world.nowMs
    const complain = (what: string): void => {
      const afterMs = Math.round(startMs - sinceMs())
      if (afterMs >= 0)
        felt.complaints.push(`${afterMs} ms later: ${what} after ${Math.round(world.nowMs - startMs)} ms`)
    }
    try {
      const admission = await limits[front]?.admit(caller, world.nowMs)
      await admission?.reserve(1_000, world.nowMs)
      felt.served += 1
      if (world.nowMs - startMs > ROUND_TRIPS_MS) complain('admitted')
      world.after(random.next() * 1_000, () => admission?.settle(800, world.nowMs))
    } catch (cause) {
      complain(GatewayError.from(cause).code)
    }
  }
  const load = (): void => {
    world.after(random.next() * pauseMs, load)
    void one(random.between(0, limits.length - 1))
  }
  load()
  return felt
}

it.each([
  ['as it was', false],
  ['empty', true],
] as const)('lets nobody wait who is far from the limits when Redis returns %s', async (_how, isEmpty) => {
  const random = new SeededRandom(5)
  const world = new LeaseWorld({ fronts: 2, nodes: 2, random: () => random.next(), lane: new LeaseLane(client()) })
  await world.settle()
  let backMs = Infinity
  const felt = askNowAndThen(world, random, 400, () => backMs)
  await world.run(5_000)
  world.redisAway = true
  await world.run(15_000)
  if (isEmpty) await client().flushall()
  world.redisAway = false
  backMs = world.nowMs
  await world.run(10_000)
  expect(felt.complaints).toEqual([])
  expect(felt.served).toBeGreaterThan(100)
})

it.each([
  ['often', 100],
  ['now and then', 2_000],
  ['seldom', 20_000],
])(
  'lets nobody wait who is far from the limits and asks %s while a control process starts anew',
  async (_often, pauseMs) => {
    const random = new SeededRandom(5)
    const world = new LeaseWorld({ fronts: 2, nodes: 2, random: () => random.next(), lane: new LeaseLane(client()) })
    await world.settle()
    let lostMs = Infinity
    const felt = askNowAndThen(world, random, pauseMs, () => lostMs)
    await world.run(10 * pauseMs + 10_000)
    lostMs = world.nowMs
    for (let kill = 0; kill < 10; kill++) {
      const node = world.nodes[kill % 2]
      world.restartAuthority(2_000, node)
      await world.run(20_000)
    }
    expect(felt.complaints).toEqual([])
    expect(felt.served).toBeGreaterThan(10)
  },
  120_000,
)
