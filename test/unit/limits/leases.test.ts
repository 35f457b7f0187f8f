import { expect, it } from 'vitest'
import { Admissions } from '../../../src/front/limits/admissions.ts'
import { LeaseBook } from '../../../src/front/limits/lease-book.ts'
import type { LeaseGrant } from '../../../src/shared/core/allowance.ts'
import { FRONTS, leasesContract, principal } from '../../contract/leases.ts'
import { dose } from '../../support/dose.ts'
import { LeaseWorld } from '../../support/lease-world.ts'
import { mostInAWindow } from '../../support/most-in-a-window.ts'
import { SeededRandom } from '../../support/seeded-random.ts'

const RUNS = dose('SLUICE_TEST_LEASE_RUNS', { short: 1, long: 10 })

leasesContract({
  make: (random, fronts = FRONTS) => Promise.resolve(new LeaseWorld({ fronts, random })),
  share: RUNS / 10,
})

it('goes on by shares while the authority is away, and knows afterwards what was used', async () => {
  const random = new SeededRandom(11)
  const world = new LeaseWorld({ fronts: FRONTS, random: () => random.next() })
  const caller = principal({ requestsPerMinute: 400 })
  const limits = world.fronts.map(({ book }) => new Admissions(book))
  const admitted: Array<readonly [number, number]> = []
  const ask = async (front: number): Promise<boolean> => {
    try {
      const admission = await limits[front]?.admit(caller, world.nowMs)
      admission?.settle(0, world.nowMs)
      admitted.push([world.nowMs, 1])
      return true
    } catch {
      return false
    }
  }
  const flood = (): void => {
    world.after(2, flood)
    void ask(random.between(0, FRONTS - 1))
  }
  await world.run(100)
  world.restartAuthority(3_000)
  await world.run(100)
  world.after(0, flood)
  await world.run(2_000)
  // Leases were gone or small: what was admitted came of the shares.
  expect(admitted.length).toBeGreaterThan(300)
  await world.run(50_000)
  expect(mostInAWindow(admitted)).toBeLessThanOrEqual(400)
  await world.run(70_000)
  expect(mostInAWindow(admitted)).toBeLessThanOrEqual(400)
})

it('keeps to a limit that is used up fast when the authority goes away meanwhile', async () => {
  for (let lostAfterMs = 25; lostAfterMs <= 1_500; lostAfterMs += 25) {
    const random = new SeededRandom(lostAfterMs)
    const world = new LeaseWorld({ fronts: FRONTS, random: () => random.next() })
    const caller = principal({ requestsPerMinute: 400 })
    const limits = world.fronts.map(({ book }) => new Admissions(book))
    const admitted: Array<readonly [number, number]> = []
    const ask = async (front: number): Promise<void> => {
      try {
        const admission = await limits[front]?.admit(caller, world.nowMs)
        admission?.settle(0, world.nowMs)
        admitted.push([world.nowMs, 1])
      } catch {
        // Refused.
      }
    }
    const flood = (): void => {
      world.after(random.between(1, 3), flood)
      // One of them is asked seldom.
      void ask(random.next() < 0.02 ? 0 : random.between(1, FRONTS - 1))
    }
    world.after(0, flood)
    await world.run(lostAfterMs)
    world.restartAuthority(3_000)
    await world.run(6_000)
    expect([lostAfterMs, mostInAWindow(admitted) <= 400 ? 'held' : mostInAWindow(admitted)]).toEqual([
      lostAfterMs,
      'held',
    ])
  }
})

/** One place and one request are granted; of a second request nothing is heard, of other things `everyMs`. `isBack`: the authority was away between. */
async function unanswered(
  everyMs: number,
  { isBack = false, forMs = 1_200 } = {},
): Promise<'admitted' | 'refused' | 'waits'> {
  let nowMs = 1_700_000_000_000
  const book = new LeaseBook({
    clock: { now: () => nowMs, monotonicUs: () => nowMs * 1000 },
    processes: FRONTS,
    writer: 'front-0',
    leaseKeepMs: 20_000,
    send: () => true,
    soon: (flush) => {
      flush()
    },
  })
  const hear = (...grants: LeaseGrant[]): void => {
    book.receive({ type: 'lease-reply', sequence: null, states: [], grants, reclaims: [], reclaimsOver: [] })
  }
  const granted = (allowance: string, left: number): LeaseGrant => ({
    allowance,
    amount: 1,
    used: 1,
    left,
    emptyAtMs: nowMs + 60_000,
    retryAtMs: 0,
  })
  book.greeted({ type: 'lease-epoch', epoch: 'one' })
  const limits = new Admissions(book)
  const caller = principal({ requestsPerMinute: 400, concurrency: 40 })
  const first = limits.admit(caller, nowMs)
  hear(granted('key:key-1:concurrency', 39), granted('key:key-1:requestsPerMinute', 399))
  ;(await first).settle(0, nowMs)

  if (isBack) {
    book.lost()
    book.greeted({ type: 'lease-epoch', epoch: 'one' })
  }
  const second = Promise.resolve(limits.admit(caller, nowMs)).then(
    () => 'admitted' as const,
    () => 'refused' as const,
  )
  for (let ms = 50; ms <= forMs; ms += 50) {
    nowMs += 50
    if (ms % everyMs === 0) hear()
    book.tick()
  }
  const waits = new Promise<'waits'>((resolve) => setImmediate(resolve, 'waits'))
  return Promise.race([second, waits])
}

it('takes nothing by itself while an authority over several machines speaks and does not grant it', async () => {
  expect(await unanswered(200, { forMs: 9_000 })).toBe('waits')
  expect(await unanswered(200, { forMs: 10_200 })).toBe('refused')
})

it('takes of its share while an authority that is there again hears what is held', async () => {
  expect(await unanswered(200, { isBack: true })).toBe('admitted')
})

it('takes of its share when the authority is silent', async () => {
  expect(await unanswered(Infinity)).toBe('admitted')
})
