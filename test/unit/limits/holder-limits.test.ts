import { describe, expect, it } from 'vitest'
import { holderLimitsOf, NO_BUDGET, NO_TENANTS } from '../../../src/shared/core/budget.ts'
import type { Tenants } from '../../../src/shared/core/budget.ts'
import { GatewayError } from '../../../src/shared/core/errors.ts'
import type { Principal } from '../../../src/shared/core/principal.ts'
import { NO_LIMITS } from '../../../src/shared/core/snapshot.ts'
import type { KeyLimits } from '../../../src/shared/core/snapshot.ts'
import { Admissions } from '../../../src/front/limits/admissions.ts'
import { entryKey } from '../../support/entry-key.ts'
import fc from '../../support/fast-check.ts'
import { LeaseWorld } from '../../support/lease-world.ts'
import { mostSurelyInAWindow } from '../../support/most-in-a-window.ts'
import { SeededRandom } from '../../support/seeded-random.ts'
import { dose } from '../../support/dose.ts'

const AMPLE = 1_000_000_000
const FRONTS = 3
const MOST_TOKENS = 50
/** A few messages of 5 ms, and a tick. */
const MOST_WAIT_MS = 200

/** A tree: both teams are below `all`. Each team has two keys, one of them of a member. */
function tenants(of: Partial<Record<'all' | 'team-0' | 'team-1' | 'ann', Partial<KeyLimits>>>): Tenants {
  const holder = (limits: Partial<KeyLimits> | undefined) => ({
    budget: NO_BUDGET,
    ...(limits === undefined ? {} : { limits: { ...NO_LIMITS, ...limits } }),
  })
  return {
    ...NO_TENANTS,
    departments: new Map([
      ['all', { parentId: null, ...holder(of.all) }],
      ['team-0', { parentId: 'all', ...holder(of['team-0']) }],
      ['team-1', { parentId: 'all', ...holder(of['team-1']) }],
    ]),
    members: new Map([['ann', { departmentId: 'team-0', ...holder(of.ann) }]]),
  }
}

function callers(tree: Tenants): Principal[] {
  const keys = [
    { id: 'ann-1', memberId: 'ann' },
    { id: 'ann-2', memberId: 'ann' },
    { id: 'team-0', departmentId: 'team-0' },
    { id: 'team-1', departmentId: 'team-1' },
  ]
  return keys.map((members) => {
    const key = entryKey({ ...members, enterpriseId: 'acme' })
    return {
      generation: 0,
      key: { ...key, holderLimits: holderLimitsOf({ ...key, keyId: key.id }, tree) },
      limits: { requestsPerMinute: AMPLE, tokensPerMinute: AMPLE, concurrency: AMPLE },
      userLimits: null,
      enterpriseLimits: null,
      models: null,
      capture: null,
    }
  })
}

interface Admitted {
  readonly caller: string
  /** The request was let in, and its tokens were reserved, between these times. */
  readonly fromMs: number
  readonly toMs: number
  untilMs: number
  readonly tokens: number
}

interface Refused {
  readonly caller: string
  readonly atMs: number
  readonly code: string
  readonly message: string
  readonly tokens: number
  /** The one that the message names. */
  readonly holder: Holder
  /** Of all keys of the holder, with this request: requests and tokens that counted in the last minute, requests that ran. */
  readonly used: { readonly requests: number; readonly tokens: number; readonly running: number }
}

interface History {
  readonly admitted: Admitted[]
  readonly refused: Refused[]
  /** The longest time, in milliseconds, for which a request waited for the decision. */
  longestWaitMs: number
}

const OF = {
  ann: ['ann-1', 'ann-2'],
  'team-0': ['ann-1', 'ann-2', 'team-0'],
  'team-1': ['team-1'],
  all: ['ann-1', 'ann-2', 'team-0', 'team-1'],
} as const
type Holder = keyof typeof OF
const HOLDERS = Object.keys(OF) as Holder[]

const isOf = (holder: Holder, caller: string): boolean => (OF[holder] as readonly string[]).includes(caller)

const RUNS = dose('SLUICE_TEST_HOLDER_RUNS', { short: 1, long: 20 })

/** A charge leaves the window after 60 seconds, and up to a bucket and the way of a message later. */
const COUNTED_MS = 60_500
/** A slot that became free is given back within a tick, and a front repeats a refusal for 100 ms. */
const RETURNED_MS = 200

/** Requests at random moments of random callers at random fronts. */
async function historyOf(seed: number, principals: readonly Principal[], everyMs: number): Promise<History> {
  const random = new SeededRandom(seed)
  const world = new LeaseWorld({ fronts: FRONTS, random: () => random.next() })
  const admissions = world.fronts.map(({ book }) => new Admissions(book))
  const history: History = { admitted: [], refused: [], longestWaitMs: 0 }
  const pending = new Set<{ readonly caller: string; readonly tokens: number }>()
  const usedOf = (holder: Holder): Refused['used'] => {
    const own = history.admitted.filter(({ caller }) => isOf(holder, caller))
    const counted = own.filter(({ toMs }) => toMs > world.nowMs - COUNTED_MS)
    const undecided = [...pending].filter(({ caller }) => isOf(holder, caller))
    const running = own.filter(({ untilMs }) => untilMs > world.nowMs - RETURNED_MS)
    // A refused request gives back its share of other limits, except its place among the requests of the minute.
    const refused = history.refused.filter(({ caller }) => isOf(holder, caller))
    const returned = refused.filter(({ atMs }) => atMs > world.nowMs - RETURNED_MS)
    const late = refused.filter(({ code, atMs }) => code === 'TPM_EXCEEDED' && atMs > world.nowMs - COUNTED_MS)
    const tokensOf = (sum: number, one: { readonly tokens: number }): number => sum + one.tokens
    return {
      requests: counted.length + undecided.length + new Set([...returned, ...late]).size,
      tokens: [...counted, ...undecided, ...returned].reduce(tokensOf, 0),
      running: running.length + undecided.length + returned.length,
    }
  }
  const one = (): void => {
    world.after(-Math.log(1 - random.next()) * everyMs, one)
    const caller = principals[random.between(0, principals.length - 1)] as Principal
    const own = admissions[random.between(0, FRONTS - 1)] as Admissions
    const request = { caller: caller.key.id, tokens: random.between(1, MOST_TOKENS) }
    const lastsMs = random.between(5, 3_000)
    const fromMs = world.nowMs
    const ask = async (): Promise<void> => {
      pending.add(request)
      const admission = await own.admit(caller, world.nowMs)
      try {
        await admission.reserve(request.tokens, world.nowMs)
      } catch (cause) {
        admission.settle(0, world.nowMs)
        throw cause
      }
      const entry: Admitted = { ...request, fromMs, toMs: world.nowMs, untilMs: Infinity }
      history.admitted.push(entry)
      world.after(lastsMs, () => {
        entry.untilMs = world.nowMs
        admission.settle(request.tokens, world.nowMs)
      })
    }
    void ask()
      .catch((cause: unknown) => {
        if (!(cause instanceof GatewayError)) throw cause
        const { code, message } = cause
        const holder = HOLDERS.find((id) => message.includes(`(${id})`))
        if (holder === undefined) throw new Error(`nobody has the limit of ${message}`)
        history.refused.push({ ...request, atMs: world.nowMs, code, message, holder, used: usedOf(holder) })
      })
      .finally(() => {
        pending.delete(request)
        history.longestWaitMs = Math.max(history.longestWaitMs, world.nowMs - fromMs)
      })
  }
  world.after(100, one)
  await world.run(100_000)
  return history
}

const mostOf = (all: readonly Admitted[], holder: Holder, amount: (one: Admitted) => number): number =>
  mostSurelyInAWindow(
    all
      .filter(({ caller }) => isOf(holder, caller))
      .map((one) => ({ fromMs: one.fromMs, toMs: one.toMs, amount: amount(one) })),
  )

function mostAtOnce(all: readonly Admitted[], holder: Holder): number {
  const moves = all
    .filter(({ caller }) => isOf(holder, caller))
    .flatMap(({ toMs, untilMs }) => [
      { ms: toMs, by: 1 },
      { ms: untilMs, by: -1 },
    ])
    // Requests that end at a moment are over before others begin at it.
    .sort((a, b) => a.ms - b.ms || a.by - b.by)
  let now = 0
  let most = 0
  for (const { by } of moves) most = Math.max(most, (now += by))
  return most
}

const limit = fc.integer({ min: 1, max: 200 })
const TREES = fc.record({ all: limit, team0: limit, ann: limit, places: fc.integer({ min: 1, max: 20 }) })
const EVERY_MS = fc.integer({ min: 40, max: 300 })

describe('limits of departments and members, over their keys and over fronts', () => {
  it('are never exceeded: requests per minute, tokens per minute, concurrency', async () => {
    await fc.assert(
      fc.asyncProperty(fc.nat(), TREES, EVERY_MS, async (seed, of, everyMs) => {
        const tree = tenants({
          all: { requestsPerMinute: of.all, concurrency: of.places },
          'team-0': { requestsPerMinute: of.team0, tokensPerMinute: of.team0 * 20 },
          ann: { requestsPerMinute: of.ann, concurrency: Math.ceil(of.places / 2) },
        })
        const { admitted } = await historyOf(seed, callers(tree), everyMs)
        const requests = (): number => 1
        // Of a request that needs more than the whole limit, the whole limit is held: nothing else runs in its minute.
        const tokens = (one: Admitted): number => Math.min(one.tokens, of.team0 * 20)
        expect(mostOf(admitted, 'all', requests)).toBeLessThanOrEqual(of.all)
        expect(mostOf(admitted, 'team-0', requests)).toBeLessThanOrEqual(of.team0)
        expect(mostOf(admitted, 'ann', requests)).toBeLessThanOrEqual(of.ann)
        expect(mostOf(admitted, 'team-0', tokens)).toBeLessThanOrEqual(of.team0 * 20)
        expect(mostAtOnce(admitted, 'all')).toBeLessThanOrEqual(of.places)
        expect(mostAtOnce(admitted, 'ann')).toBeLessThanOrEqual(Math.ceil(of.places / 2))
      }),
      { numRuns: RUNS },
    )
  }, 300_000)

  it('refuse only when they are used up, and let nobody wait', async () => {
    await fc.assert(
      fc.asyncProperty(fc.nat(), TREES, EVERY_MS, async (seed, of, everyMs) => {
        const limits: Partial<Record<Holder, Partial<KeyLimits>>> = {
          all: { requestsPerMinute: of.all, concurrency: of.places },
          'team-0': { tokensPerMinute: of.team0 * 20 },
          ann: { requestsPerMinute: of.ann },
        }
        const { refused, longestWaitMs } = await historyOf(seed, callers(tenants(limits)), everyMs)
        for (const { code, tokens, holder, used } of refused) {
          const { requestsPerMinute, tokensPerMinute, concurrency } = { ...NO_LIMITS, ...limits[holder] }
          if (code === 'RPM_EXCEEDED') expect(used.requests).toBeGreaterThan(requestsPerMinute ?? Infinity)
          if (code === 'CONCURRENCY_EXCEEDED') expect(used.running).toBeGreaterThan(concurrency ?? Infinity)
          if (code !== 'TPM_EXCEEDED') continue
          const free = (tokensPerMinute ?? Infinity) - (used.tokens - tokens)
          expect(free).toBeLessThan(Math.min(tokens, tokensPerMinute ?? Infinity))
        }
        expect(longestWaitMs).toBeLessThan(MOST_WAIT_MS)
      }),
      { numRuns: RUNS },
    )
  }, 300_000)

  it('are used up, also when the requests come to one front', async () => {
    const tree = tenants({ 'team-1': { requestsPerMinute: 40 } })
    const [last] = callers(tree).slice(-1)
    if (last === undefined) throw new Error('no caller')
    const { admitted } = await historyOf(1, [last], 100)
    const [first] = admitted
    expect(admitted.filter(({ toMs }) => toMs < (first?.toMs ?? 0) + 55_000)).toHaveLength(40)
  })

  it.each([
    ['requestsPerMinute', 'RPM_EXCEEDED', 'This department (all) may use 1 requests per minute'],
    ['tokensPerMinute', 'TPM_EXCEEDED', 'This department (all) may use 1 tokens per minute'],
    ['concurrency', 'CONCURRENCY_EXCEEDED', 'This department (all) may run 1 requests at the same time'],
  ] as const)('name the holder and the limit: %s', async (field, code, message) => {
    const random = new SeededRandom(1)
    const world = new LeaseWorld({ fronts: 1, random: () => random.next() })
    const [front] = world.fronts
    if (front === undefined) throw new Error('no front')
    const admissions = new Admissions(front.book)
    const [first, , , other] = callers(tenants({ all: { [field]: 1 } }))
    const ask = async (caller: Principal | undefined): Promise<GatewayError | null> => {
      try {
        const admission = await admissions.admit(caller as Principal, world.nowMs)
        await admission.reserve(1, world.nowMs)
        return null
      } catch (cause) {
        return GatewayError.from(cause)
      }
    }
    const outcomes = [ask(first)]
    await world.run(1_000)
    outcomes.push(ask(other))
    await world.run(1_000)
    const [admittedFirst, refused] = await Promise.all(outcomes)
    expect(admittedFirst).toBeNull()
    expect(refused?.code).toBe(code)
    expect(refused?.message).toContain(message)
  })

  it('are those of the key’s department and all above, and of its member', () => {
    const tree = tenants({ all: { requestsPerMinute: 1 }, 'team-0': { concurrency: 2 }, ann: { tokensPerMinute: 3 } })
    const of = (memberId: string | null, departmentId: string | null): string[] =>
      holderLimitsOf({ keyId: 'k', memberId, departmentId, enterpriseId: 'acme' }, tree).map(
        ({ owner, id }) => `${owner} ${id}`,
      )
    expect(of('ann', null)).toEqual(['member ann', 'department team-0', 'department all'])
    expect(of('ann', 'team-1')).toEqual(['member ann', 'department all'])
    expect(of(null, null)).toEqual([])
  })
})
