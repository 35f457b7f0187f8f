import { GatewayError } from '../../src/shared/core/errors.ts'
import { Admissions } from '../../src/front/limits/admissions.ts'
import { LeasedSlots } from '../../src/front/limits/leased-slots.ts'
import { principal } from '../contract/leases.ts'
import { LeaseWorld } from './lease-world.ts'
import { SeededRandom } from './seeded-random.ts'

const PLACES = 5
/** After this time, the authority has all unused places back. */
const REST_MS = 14_000
const LOAD_PATIENCE_MS = 2_000

export type PlaceKind = 'places of a caller' | 'slots of an upstream key'

/** Asks a front for one of five places; resolves to whether it got the place. */
type Ask = (front: number, lastsMs: number, patienceMs: number) => Promise<boolean>

interface Asked {
  readonly lastsMs: number
  readonly done: (isHad: boolean) => void
}

function callers(world: LeaseWorld): Ask {
  const caller = principal({ concurrency: PLACES })
  const limits = world.fronts.map(({ book }) => new Admissions(book))
  return async (front, lastsMs) => {
    try {
      const admission = await limits[front]?.admit(caller, world.nowMs)
      world.after(lastsMs, () => admission?.settle(0, world.nowMs))
      return true
    } catch (cause) {
      if (cause instanceof GatewayError) return false
      throw cause
    }
  }
}

function slots(world: LeaseWorld): Ask {
  const supplies = world.fronts.map(({ book }) => new LeasedSlots(book))
  const queues = supplies.map((): Asked[] => [])
  const serve = (front: number): void => {
    const supply = supplies[front] as LeasedSlots
    const queue = queues[front] as Asked[]
    while (queue.length > 0 && supply.take('key')) {
      const asked = queue.shift() as Asked
      asked.done(true)
      world.after(asked.lastsMs, () => {
        supply.give('key')
        serve(front)
      })
    }
    if (queue.length > 0) supply.want('key')
    else supply.unwant('key')
  }
  for (const [front, supply] of supplies.entries()) {
    supply.onSupply(() => {
      serve(front)
    })
    supply.declare([{ id: 'key', slots: PLACES }])
  }
  return (front, lastsMs, patienceMs) =>
    new Promise((resolve) => {
      const asked = { lastsMs, done: resolve }
      const queue = queues[front] as Asked[]
      queue.push(asked)
      serve(front)
      world.after(patienceMs, () => {
        const at = queue.indexOf(asked)
        if (at < 0) return
        queue.splice(at, 1)
        resolve(false)
        serve(front)
      })
    })
}

/**
 * One to three fronts use five places of a concurrency limit. Meanwhile the control process is killed at random times, up to three times in
 * a row; messages are up to three seconds late; fronts stall for as long; requests last over the kills. Returns pairs of the places
 * that fronts got and those that were due: the share of each front while the control process was away and no place was in use, and all
 * places for one front at the end.
 */
export async function placeStory(seed: number, kind: PlaceKind): Promise<Array<readonly [had: number, due: number]>> {
  const random = new SeededRandom(seed)
  // A second generator: the events do not depend on the number of messages.
  const delays = new SeededRandom(~seed)
  const pick = (...of: readonly number[]): number => of[random.between(0, of.length - 1)] ?? 0
  const fronts = pick(1, 2, 2, 3)
  let slowestMs = pick(1, 50, 500, 3_000)
  const slowRate = pick(0.02, 0.2, 0.6)
  const lastsMs = pick(100, 1_000, 8_000, 20_000)
  const everyMs = pick(5, 50, 300, 1_000)
  const stallRate = pick(0, 0, 0.03)
  const world = new LeaseWorld({
    fronts,
    greetMs: pick(50, 500, 3_000),
    random: () => delays.next(),
    delayMs: () => 0.05 + delays.next() * (delays.next() < slowRate ? slowestMs : Math.min(slowestMs, 5)),
  })
  // The first kill may come before the first answer.
  if (random.next() < 0.7) await world.run(100)
  const ask = (kind === 'places of a caller' ? callers : slots)(world)
  const had: Array<readonly [number, number]> = []
  const isAlone = (): boolean => world.fronts.every(({ book }) => !book.connected)
  const askAll = async (of: readonly number[], forMs: number, due: number): Promise<number> => {
    let sum = 0
    for (const front of of) {
      for (let nth = 0; nth < PLACES; nth++) {
        void ask(front, forMs, 500).then((isHad) => {
          sum += Number(isHad)
        })
      }
    }
    await world.run(1_000)
    return Math.min(sum, due)
  }
  let isBusy = true
  /** From this time on, no place is in use. */
  let freeAtMs = 0
  const load = (): void => {
    world.after(random.next() * 2 * everyMs, load)
    const front = world.fronts[random.between(0, fronts - 1)]
    if (!isBusy || front === undefined || world.nowMs < front.stalledUntilMs) return
    const forMs = random.next() * lastsMs
    freeAtMs = Math.max(freeAtMs, world.nowMs + LOAD_PATIENCE_MS + forMs)
    void ask(world.fronts.indexOf(front), forMs, LOAD_PATIENCE_MS)
    if (random.next() < stallRate) world.stall(front, random.next() * 3_000)
  }
  load()
  await world.run(random.next() * pick(50, 1_000, 10_000))
  const isAtRest = random.next() < 0.5
  if (isAtRest) {
    isBusy = false
    await world.run(lastsMs + REST_MS)
  }
  for (let kills = pick(1, 1, 2, 3); kills > 0; kills--) {
    const awayMs = pick(50, 1_000, 3_000, 15_000)
    const isRested = isAtRest && !isBusy && awayMs > 8_000
    world.restartAuthority(awayMs)
    if (isRested) {
      await world.run(6_000)
      // The new control process of an earlier kill may be there by now: its answers are as late as all messages.
      const isDue = isAlone() && world.nowMs >= freeAtMs
      const due = fronts * Math.floor(PLACES / fronts)
      const sum = await askAll([...world.fronts.keys()], 500, due)
      if (isDue && isAlone()) had.push([sum, due])
      await world.run(awayMs - 7_000)
    }
    await world.run(random.next() * (isRested ? 500 : awayMs + pick(10, 1_000, 4_000)))
    isBusy = random.next() < 0.8
  }
  slowestMs = 1
  await world.run(20_000)
  isBusy = false
  await world.run(lastsMs + 7_000)
  had.push([await askAll([random.between(0, fronts - 1)], 10_000, PLACES), PLACES])
  return had
}
