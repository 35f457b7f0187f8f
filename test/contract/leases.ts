import { describe, expect, it } from 'vitest'
import { GatewayError } from '../../src/shared/core/errors.ts'
import type { Principal } from '../../src/shared/core/principal.ts'
import { Admissions } from '../../src/front/limits/admissions.ts'
import { LeasedSlots } from '../../src/front/limits/leased-slots.ts'
import { entryKey } from '../support/entry-key.ts'
import fc from '../support/fast-check.ts'
import type { LeaseWorld } from '../support/lease-world.ts'
import { mostInAWindow } from '../support/most-in-a-window.ts'
import { SeededRandom } from '../support/seeded-random.ts'

/** Of all machines together. */
export const FRONTS = 4
const AMPLE = 1_000_000_000

export function principal(limits: Partial<Principal['limits']>): Principal {
  return {
    generation: 0,
    key: entryKey({ id: 'key-1' }),
    limits: { requestsPerMinute: AMPLE, tokensPerMinute: AMPLE, concurrency: AMPLE, ...limits },
    userLimits: null,
    enterpriseLimits: null,
    models: null,
    capture: null,
  }
}

interface Load {
  readonly seed: number
  readonly limit: number
  /** Mean milliseconds between two requests, all fronts together. */
  readonly everyMs: number
  readonly seconds: number
  /** How unevenly the fronts are loaded: 0 evenly, 1 nearly all at one. */
  readonly skew: number
  readonly faults?: boolean
}

/** A world of that many fronts ({@link FRONTS} unless told) whose authorities serve. */
export type MakeWorld = (random: () => number, fronts?: number) => Promise<LeaseWorld>

/** Requests at random moments at random fronts; what was admitted when. */
async function requests(
  make: MakeWorld,
  load: Load,
): Promise<{ admitted: Array<readonly [number, number]>; asked: number }> {
  const random = new SeededRandom(load.seed)
  const world = await make(() => random.next())
  const caller = principal({ requestsPerMinute: load.limit })
  const limits = new Map(world.fronts.map(({ book }) => [book, new Admissions(book)]))
  const admitted: Array<readonly [number, number]> = []
  let asked = 0
  const one = (): void => {
    world.after(-Math.log(1 - random.next()) * load.everyMs, one)
    const front = world.fronts[random.next() < load.skew ? 0 : random.between(0, FRONTS - 1)]
    if (front === undefined) return
    asked += 1
    const { book } = front
    const own = limits.get(book) ?? new Admissions(book)
    limits.set(book, own)
    const admissions = async (): Promise<void> => {
      const admission = await own.admit(caller, world.nowMs)
      admitted.push([world.nowMs, 1])
      admission.settle(0, world.nowMs)
    }
    admissions().catch((cause: unknown) => {
      if (!(cause instanceof GatewayError)) throw cause
    })
  }
  world.after(100, one)
  if (load.faults === true) {
    const fault = (): void => {
      world.after(10_000 + random.next() * 20_000, fault)
      const front = world.fronts[random.between(0, FRONTS - 1)]
      if (front !== undefined) world.crash(front)
    }
    world.after(5_000, fault)
  }
  await world.run(load.seconds * 1000)
  return { admitted, asked }
}

const loads = fc.record({
  seed: fc.nat(),
  limit: fc.integer({ min: 1, max: 3_000 }),
  everyMs: fc.integer({ min: 5, max: 200 }),
  seconds: fc.constant(150),
  skew: fc.double({ min: 0, max: 1, noNaN: true }),
})

export interface LeasesContract {
  readonly make: MakeWorld
  /** Which part of the runs to make, where each takes longer. */
  readonly share: number
  /** Declares the properties that take longest; default: as the others. */
  readonly itLast?: (name: string, test: () => Promise<void>, timeoutMs: number) => void
}

/** What holds for limits and slots over several fronts, whoever hands out the leases. */
export function leasesContract({ make, share, itLast = it }: LeasesContract): void {
  describe('limits over several fronts', () => {
    itLast(
      'never admits more than the limit in any 60 seconds, and nearly all of it',
      async () => {
        await fc.assert(
          fc.asyncProperty(loads, async (load) => {
            const { admitted, asked } = await requests(make, load)
            expect(mostInAWindow(admitted)).toBeLessThanOrEqual(load.limit)
            const minutes = load.seconds / 61
            expect(admitted.length).toBeGreaterThanOrEqual(Math.min(asked, Math.floor(minutes) * load.limit) * 0.97)
          }),
          { numRuns: Math.ceil(25 * share) },
        )
      },
      120_000,
    )

    itLast(
      'never admits more than the limit when fronts crash with leases in hand',
      async () => {
        await fc.assert(
          fc.asyncProperty(loads, async (load) => {
            const { admitted } = await requests(make, { ...load, faults: true })
            expect(mostInAWindow(admitted)).toBeLessThanOrEqual(load.limit)
          }),
          { numRuns: Math.ceil(15 * share) },
        )
      },
      120_000,
    )

    it('admits the whole limit to a single front while the others idle', async () => {
      const { admitted } = await requests(make, { seed: 7, limit: 1_000, everyMs: 5, seconds: 50, skew: 1 })
      expect(admitted).toHaveLength(1_000)
    })

    itLast(
      'books the tokens that were used in place of those that were reserved',
      async () => {
        await fc.assert(
          fc.asyncProperty(fc.nat(), fc.integer({ min: 1_000, max: 50_000 }), async (seed, limit) => {
            const random = new SeededRandom(seed)
            const world = await make(() => random.next())
            const caller = principal({ tokensPerMinute: limit })
            const limits = world.fronts.map(({ book }) => new Admissions(book))
            const charges: Array<readonly [number, number]> = []
            let asked = 0
            const one = (): void => {
              world.after(random.next() * 60, one)
              const reserved = random.between(1, 500)
              const used = random.between(0, reserved)
              asked += used
              const run = async (): Promise<void> => {
                const admission = await limits[random.between(0, FRONTS - 1)]?.admit(caller, world.nowMs)
                if (admission === undefined) return
                try {
                  await admission.reserve(reserved, world.nowMs)
                  charges.push([world.nowMs, used])
                  world.after(random.next() * 3_000, () => {
                    admission.settle(used, world.nowMs)
                  })
                } catch (cause) {
                  admission.settle(0, world.nowMs)
                  expect(cause).toMatchObject({ code: 'TPM_EXCEEDED' })
                }
              }
              void run()
            }
            world.after(50, one)
            await world.run(125_000)
            expect(mostInAWindow(charges)).toBeLessThanOrEqual(limit)
            const total = charges.reduce((sum, [, amount]) => sum + amount, 0)
            // Requests under way are held at their reservations: some of the limit is always in the air.
            expect(total).toBeGreaterThanOrEqual(Math.min(asked, 2 * (limit - 30 * 500)) * 0.95)
          }),
          { numRuns: Math.ceil(15 * share) },
        )
      },
      120_000,
    )

    it('never lets more run at the same time than there are places', async () => {
      await fc.assert(
        fc.asyncProperty(fc.nat(), fc.integer({ min: 1, max: 40 }), async (seed, places) => {
          const random = new SeededRandom(seed)
          const world = await make(() => random.next())
          const caller = principal({ concurrency: places })
          const limits = world.fronts.map(({ book }) => new Admissions(book))
          let running = 0
          let most = 0
          let open = 0
          const one = (): void => {
            world.after(random.next() * 10, one)
            const run = async (): Promise<void> => {
              const admission = await limits[random.between(0, FRONTS - 1)]?.admit(caller, world.nowMs)
              if (admission === undefined) return
              running += 1
              open += 1
              most = Math.max(most, running)
              world.after(random.next() * 500, () => {
                running -= 1
                admission.settle(0, world.nowMs)
              })
            }
            run().catch((cause: unknown) => {
              expect(cause).toMatchObject({ code: 'CONCURRENCY_EXCEEDED' })
            })
          }
          world.after(50, one)
          await world.run(20_000)
          expect(most).toBe(places)
          expect(open).toBeGreaterThan(places * 20)
        }),
        { numRuns: Math.ceil(15 * share) },
      )
    }, 120_000)
  })

  describe('slots over several fronts', () => {
    itLast(
      'are there again for a front that lent all of its own, however long ago',
      async () => {
        const random = new SeededRandom(3)
        const world = await make(() => random.next(), 2)
        const [mine, other] = world.fronts.map(({ book }) => new LeasedSlots(book))
        if (mine === undefined || other === undefined) throw new Error('two fronts')
        for (const supply of [mine, other]) supply.declare([{ id: 'key', slots: 2 }])
        await world.run(100)
        expect(other.take('key')).toBe(true)
        other.want('key')
        await world.run(100)
        expect(other.take('key')).toBe(true)
        other.unwant('key')
        expect(mine.held('key')).toBe(0)
        await world.run(300_000)
        other.give('key')
        mine.want('key')
        await world.run(100)
        expect(mine.take('key')).toBe(true)
      },
      120_000,
    )

    it('are never used twice, and wander to the fronts that need them', async () => {
      await fc.assert(
        fc.asyncProperty(fc.nat(), fc.integer({ min: 1, max: 12 }), async (seed, slots) => {
          const random = new SeededRandom(seed)
          const world = await make(() => random.next())
          const supplies = world.fronts.map(({ book }) => new LeasedSlots(book))
          const queues = supplies.map(() => 0)
          const served = supplies.map(() => 0)
          let running = 0
          let most = 0
          const serve = (front: number): void => {
            const supply = supplies[front]
            if (supply === undefined) return
            while ((queues[front] ?? 0) > 0 && supply.take('key')) {
              queues[front] = (queues[front] ?? 0) - 1
              served[front] = (served[front] ?? 0) + 1
              running += 1
              most = Math.max(most, running)
              world.after(20 + random.next() * 100, () => {
                running -= 1
                supply.give('key')
                serve(front)
              })
            }
            if ((queues[front] ?? 0) > 0) supply.want('key')
            else supply.unwant('key')
          }
          for (const [front, supply] of supplies.entries()) {
            supply.declare([{ id: 'key', slots }])
            supply.onSupply(() => {
              serve(front)
            })
          }
          const arrive = (): void => {
            world.after(random.next() * 20, arrive)
            // The fourth front has next to nothing to do.
            const front = random.next() < 0.01 ? 3 : random.between(0, 2)
            queues[front] = (queues[front] ?? 0) + 1
            serve(front)
          }
          world.after(50, arrive)
          await world.run(30_000)
          expect(most).toBe(slots)
          // Nobody starves, and the idle front's slots are used.
          expect(Math.min(...served.slice(0, 3))).toBeGreaterThan(0.15 * Math.max(...served))
          expect(served.reduce((sum, n) => sum + n, 0)).toBeGreaterThan(Math.min(2_900, ((slots * 30_000) / 90) * 0.8))
          expect(served[3]).toBeGreaterThan(5)
        }),
        { numRuns: Math.ceil(20 * share) },
      )
    }, 120_000)

    it('are as many as the key has now, soon after it was given more or fewer', async () => {
      await fc.assert(
        fc.asyncProperty(
          fc.nat(),
          fc.array(fc.integer({ min: 1, max: 12 }), { minLength: 2, maxLength: 5 }),
          async (seed, limits) => {
            const random = new SeededRandom(seed)
            const world = await make(() => random.next())
            const supplies = world.fronts.map(({ book }) => new LeasedSlots(book))
            let running = 0
            let most = 0
            const serve = (supply: LeasedSlots): void => {
              // There is always somebody who waits.
              while (supply.take('key')) {
                running += 1
                most = Math.max(most, running)
                world.after(20 + random.next() * 100, () => {
                  running -= 1
                  supply.give('key')
                  serve(supply)
                })
              }
              supply.want('key')
            }
            for (const supply of supplies) {
              supply.onSupply(() => {
                serve(supply)
              })
            }
            for (const slots of limits) {
              // Fronts hear of it one after the other.
              for (const supply of supplies) {
                world.after(random.next() * 200, () => {
                  supply.declare([{ id: 'key', slots }])
                  serve(supply)
                })
              }
              await world.run(3_000)
              most = running
              await world.run(5_000)
              expect(most).toBe(slots)
            }
          },
        ),
        { numRuns: Math.ceil(20 * share) },
      )
    }, 120_000)
  })
}
