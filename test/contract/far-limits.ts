import { expect, it } from 'vitest'
import { GatewayError } from '../../src/shared/core/errors.ts'
import type { BudgetLimit } from '../../src/shared/core/budget.ts'
import type { Principal } from '../../src/shared/core/principal.ts'
import { Admissions } from '../../src/front/limits/admissions.ts'
import { entryKey } from '../support/entry-key.ts'
import fc from '../support/fast-check.ts'
import type { LeaseWorld } from '../support/lease-world.ts'
import { SeededRandom } from '../support/seeded-random.ts'

const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS
/** Of requests and tokens per minute and of each budget: no pattern below comes near it. */
const FAR = 1_000_000_000
const PLACES = 600

interface Use {
  readonly key: number
  readonly front: number
  /** A poll takes a place and a request; a chat takes tokens and money besides. */
  readonly kind: 'poll' | 'chat'
  /** So many at once. */
  readonly burst: number
  readonly lastsMs: number
}

/** Somebody who does the same again and again, with rests. */
interface Habit extends Use {
  readonly restsMs: readonly number[]
}

export interface FarLimitsContract {
  /** A world whose authority serves. */
  readonly make: (random: () => number) => Promise<LeaseWorld>
  readonly longestRestMs: number
  readonly runs: number
  /** The longest that messages to the authority and back can take in this world, for one request. */
  readonly roundTripsMs: number
}

/** No request waits for, or is refused by, a limit that it is not near. */
export function farLimitsContract({ make, longestRestMs, runs, roundTripsMs }: FarLimitsContract): void {
  it('never feels a limit that is far away, whatever was used and for how long it rested', async () => {
    const upTo = (longestMs: number): fc.Arbitrary<number> =>
      fc.double({ min: 0, max: 1, noNaN: true }).map((part) => Math.floor(Math.expm1(part * Math.log1p(longestMs))))
    const rest = fc.oneof(
      upTo(longestRestMs),
      fc.integer({ min: 10_000, max: 100_000 }),
      fc.integer({ min: 100_000, max: Math.min(longestRestMs, 250_000) }),
      fc.integer({ min: Math.floor(longestRestMs * 0.49), max: longestRestMs }),
    )
    const habit = fc.record<Habit>({
      key: fc.nat({ max: CALLERS.length - 1 }),
      front: fc.nat({ max: 1 }),
      kind: fc.constantFrom('poll', 'chat', 'chat'),
      burst: fc.integer({ min: 1, max: 20 }),
      lastsMs: upTo(Math.min(longestRestMs, HOUR_MS)),
      restsMs: fc.array(rest, { minLength: 1, maxLength: 8 }),
    })
    await fc.assert(
      fc.asyncProperty(fc.nat(), fc.array(habit, { minLength: 1, maxLength: 5 }), async (seed, habits) => {
        const random = new SeededRandom(seed)
        const world = await make(() => random.next())
        expect(await felt(world, habits, roundTripsMs)).toEqual([])
      }),
      { numRuns: runs },
    )
  }, 1_200_000)

  it('does not feel its limits when a chat follows minutes of polls', async () => {
    const random = new SeededRandom(1)
    const world = await make(() => random.next())
    const use = { key: 0, front: 0, burst: 1, lastsMs: 5 }
    const polls: Habit = { ...use, kind: 'poll', restsMs: Array.from({ length: 12 }, () => 20_000) }
    const chats: Habit = { ...use, kind: 'chat', restsMs: [100, 100, 200_000, 100, 100] }
    expect(await felt(world, [chats, polls], roundTripsMs)).toEqual([])
  })

  it('does not feel its limits when one key rests for minutes while another is used', async () => {
    const random = new SeededRandom(1)
    const world = await make(() => random.next())
    const use = { front: 0, kind: 'chat', burst: 1, lastsMs: 5 } as const
    const busy: Habit = { ...use, key: 0, restsMs: Array.from({ length: 40 }, () => 7_000) }
    const resting: Habit = { ...use, key: 1, restsMs: [30_000, 150_000, 100, 5_000] }
    expect(await felt(world, [busy, resting], roundTripsMs)).toEqual([])
  })
}

/** What befell requests: refusals, and waits longer than messages take. */
async function felt(world: LeaseWorld, habits: readonly Habit[], roundTripsMs: number): Promise<string[]> {
  const complaints: string[] = []
  const limits = world.fronts.map(({ book }) => new Admissions(book))
  const request = async ({ key, front, kind, lastsMs }: Use): Promise<void> => {
    const admissions = limits[front] as Admissions
    const startMs = world.nowMs
    const complain = (what: string): void => {
      complaints.push(`${kind} of key ${key}: ${what} after ${Math.round(world.nowMs - startMs)} ms`)
    }
    try {
      const admission = await admissions.admit(CALLERS[key] as Principal, world.nowMs)
      if (kind === 'chat') await admission.reserve(1_000, world.nowMs, 500)
      if (world.nowMs - startMs > roundTripsMs) complain('admitted')
      world.after(lastsMs, () => {
        admission.settle(kind === 'chat' ? 800 : 0, world.nowMs, kind === 'chat' ? 300 : 0)
      })
    } catch (cause) {
      const { code, message } = GatewayError.from(cause)
      complain(`${code}: ${message}`)
    }
  }
  await world.run(100)
  const startMs = world.nowMs
  for (const { atMs, use } of timesOf(habits)) {
    await world.rest(Math.max(0, startMs + atMs - world.nowMs))
    for (let i = 0; i < use.burst; i++) {
      void request(use)
      await world.run(1)
    }
  }
  await world.run(2 * MINUTE_MS)
  return complaints
}

/** All that is done, in order of time. */
function timesOf(habits: readonly Habit[]): Array<{ readonly atMs: number; readonly use: Use }> {
  const times = habits.flatMap((use) => {
    let atMs = 0
    return [0, ...use.restsMs].map((restMs) => ({ atMs: (atMs += restMs), use }))
  })
  return times.sort((a, b) => a.atMs - b.atMs)
}

function caller(id: string, owner: { readonly userId?: string; readonly enterpriseId?: string } = {}): Principal {
  const { enterpriseId } = owner
  const limits = { requestsPerMinute: FAR, tokensPerMinute: FAR, concurrency: PLACES }
  const budgets: BudgetLimit[] = [{ owner: 'key', id, measure: 'money', limit: FAR }]
  if (enterpriseId !== undefined) {
    for (const owner of ['member', 'department'] as const) {
      budgets.push({ owner, id: `${owner} of ${enterpriseId}`, measure: 'money', limit: FAR })
    }
    budgets.push({ owner: 'enterprise', id: enterpriseId, measure: 'tokens', limit: FAR })
    budgets.push({ owner: 'wallet', id: enterpriseId, measure: 'money', limit: FAR })
  }
  return {
    generation: 0,
    key: entryKey({ id, ...owner, budgets }),
    limits,
    userLimits: owner.userId === undefined ? null : limits,
    enterpriseLimits: enterpriseId === undefined ? null : limits,
    models: null,
    capture: null,
  }
}

const CALLERS: readonly Principal[] = [
  caller('alone'),
  caller('of-user', { userId: 'user' }),
  caller('of-user-too', { userId: 'user' }),
  caller('of-enterprise', { userId: 'user', enterpriseId: 'enterprise' }),
  caller('of-enterprise-too', { enterpriseId: 'enterprise' }),
]
