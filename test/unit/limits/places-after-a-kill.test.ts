import { expect, it } from 'vitest'
import { GatewayError } from '../../../src/shared/core/errors.ts'
import { Admissions } from '../../../src/front/limits/admissions.ts'
import { LeasedSlots } from '../../../src/front/limits/leased-slots.ts'
import { principal } from '../../contract/leases.ts'
import fc from '../../support/fast-check.ts'
import { LeaseWorld } from '../../support/lease-world.ts'
import { SeededRandom } from '../../support/seeded-random.ts'

const PLACES = 5

interface Story {
  readonly seed: number
  readonly fronts: number
  /** The slowest message, milliseconds. */
  readonly slowMs: number
  readonly killAtMs: number
  readonly awayMs: number
  readonly kills: number
  /** The longest request. */
  readonly lastsMs: number
  readonly everyMs: number
}

const stories = fc.record<Story>({
  seed: fc.nat(),
  fronts: fc.integer({ min: 1, max: 4 }),
  slowMs: fc.constantFrom(1, 50, 500, 2_000),
  killAtMs: fc.integer({ min: 0, max: 5_000 }),
  awayMs: fc.integer({ min: 100, max: 6_000 }),
  kills: fc.integer({ min: 1, max: 3 }),
  lastsMs: fc.constantFrom(100, 1_000, 8_000),
  everyMs: fc.integer({ min: 5, max: 500 }),
})

/** Messages are slow until the kills are over: what is left then is to be seen soon. */
function worldOf({ seed, fronts, slowMs }: Story): { world: LeaseWorld; random: SeededRandom; calm: () => void } {
  const random = new SeededRandom(seed)
  let slowest = slowMs
  const world = new LeaseWorld({
    fronts,
    greetMs: 3_000,
    random: () => random.next(),
    delayMs: () => 0.05 + random.next() * (random.next() < 0.2 ? slowest : Math.min(slowest, 5)),
  })
  return { world, random, calm: () => (slowest = 1) }
}

it('leaves a caller all its places once the control process is back, whenever it was killed', async () => {
  await fc.assert(
    fc.asyncProperty(stories, async (story) => {
      const { world, random, calm } = worldOf(story)
      const caller = principal({ concurrency: PLACES })
      const limits = world.fronts.map(({ book }) => new Admissions(book))
      const admit = async (front: number, lastsMs: number): Promise<boolean> => {
        try {
          const admission = await limits[front]?.admit(caller, world.nowMs)
          world.after(lastsMs, () => admission?.settle(0, world.nowMs))
          return true
        } catch (cause) {
          if (cause instanceof GatewayError) return false
          throw cause
        }
      }
      let isBusy = true
      const one = (): void => {
        if (!isBusy) return
        world.after(random.next() * 2 * story.everyMs, one)
        void admit(random.between(0, story.fronts - 1), random.next() * story.lastsMs)
      }
      one()
      await world.run(story.killAtMs)
      for (let kill = 0; kill < story.kills; kill++) {
        world.restartAuthority(story.awayMs)
        await world.run(story.awayMs + random.next() * 1_000)
      }
      isBusy = false
      calm()
      await world.run(story.lastsMs + 5_000)
      const front = random.between(0, story.fronts - 1)
      let had = 0
      for (let i = 0; i < PLACES + 1; i++) void admit(front, 10_000).then((isIn) => (had += Number(isIn)))
      await world.run(500)
      expect(had).toBe(PLACES)
    }),
    { numRuns: 200 },
  )
}, 60_000)

it('leaves an upstream key all its slots once the control process is back, whenever it was killed', async () => {
  await fc.assert(
    fc.asyncProperty(stories, async (story) => {
      const { world, random, calm } = worldOf(story)
      const supplies = world.fronts.map(({ book }) => new LeasedSlots(book))
      const waiting = supplies.map(() => 0)
      const held: Array<() => void> = []
      let running = 0
      let isBusy = true
      const serve = (front: number): void => {
        const supply = supplies[front]
        if (supply === undefined) return
        while ((waiting[front] ?? 0) > 0 && supply.take('key')) {
          waiting[front] = (waiting[front] ?? 0) - 1
          running += 1
          const end = (): void => {
            running -= 1
            supply.give('key')
            serve(front)
          }
          if (isBusy) world.after(random.next() * story.lastsMs, end)
          else held.push(end)
        }
        if ((waiting[front] ?? 0) > 0) supply.want('key')
        else supply.unwant('key')
      }
      for (const [front, supply] of supplies.entries()) {
        supply.onSupply(() => {
          serve(front)
        })
        supply.declare([{ id: 'key', slots: PLACES }])
      }
      const one = (): void => {
        if (!isBusy) return
        world.after(random.next() * 2 * story.everyMs, one)
        const front = random.between(0, story.fronts - 1)
        if ((waiting[front] ?? 0) < 3) waiting[front] = (waiting[front] ?? 0) + 1
        serve(front)
      }
      one()
      await world.run(story.killAtMs)
      for (let kill = 0; kill < story.kills; kill++) {
        world.restartAuthority(story.awayMs)
        await world.run(story.awayMs + random.next() * 1_000)
      }
      calm()
      await world.run(5_000)
      isBusy = false
      waiting.fill(0)
      for (const front of supplies.keys()) serve(front)
      await world.run(story.lastsMs + 1_000)
      expect(running).toBe(0)
      const front = random.between(0, story.fronts - 1)
      waiting[front] = PLACES + 1
      serve(front)
      await world.run(500)
      expect(running).toBe(PLACES)
    }),
    { numRuns: 200 },
  )
}, 60_000)
