import { describe, expect, it } from 'vitest'
import { modelLimitsOf, NO_BUDGET, NO_TENANTS } from '../../../src/shared/core/budget.ts'
import type { ModelBudget, Tenants } from '../../../src/shared/core/budget.ts'
import { GatewayError } from '../../../src/shared/core/errors.ts'
import { ModelNames } from '../../../src/shared/core/model-names.ts'
import type { Principal } from '../../../src/shared/core/principal.ts'
import { Admissions } from '../../../src/front/limits/admissions.ts'
import { entryKey } from '../../support/entry-key.ts'
import fc from '../../support/fast-check.ts'
import { LeaseWorld } from '../../support/lease-world.ts'
import { SeededRandom } from '../../support/seeded-random.ts'

const AMPLE = 1_000_000_000
const FRONTS = 3
/** Refusals are repeated, and reservations of refused requests given back, within this time. */
const RETURNED_MS = 500
const MODELS = ['small', 'large-1', 'large-2', 'best'] as const
const NAMES = {
  aliases: [['best', 'large-1']] as const,
  groups: [
    { id: 'large', models: ['large-*'] },
    { id: 'mixed', models: ['small', 'best'] },
  ],
}
/** By name: the models that it covers. An alias is the model behind it. */
const COVERED: Readonly<Record<string, readonly string[]>> = {
  small: ['small'],
  best: ['large-1', 'best'],
  'large-1': ['large-1', 'best'],
  large: ['large-1', 'large-2', 'best'],
  mixed: ['small', 'large-1', 'best'],
  '*': MODELS,
}

interface Entry {
  readonly owner: 'enterprise' | 'department' | 'key'
  readonly id: string
  readonly models: readonly string[]
  readonly limit: number
}

const covers = ({ models }: Pick<Entry, 'models'>, model: string): boolean =>
  models.some((name) => COVERED[name]?.includes(model) === true)

/** Two keys of a department of an enterprise. */
const KEYS = ['key-0', 'key-1'] as const
const paysFor = ({ owner, id }: Entry, key: string): boolean => owner !== 'key' || id === key

function tenantsOf(entries: readonly Entry[]): Tenants {
  const budgets = new Map<string, ModelBudget[]>()
  for (const { owner, id, models, limit } of entries) {
    const own = budgets.get(`${owner}:${id}`) ?? []
    budgets.set(`${owner}:${id}`, [...own, { models, moneyMicro: limit, tokens: null }])
  }
  return {
    ...NO_TENANTS,
    departments: new Map([['dep', { parentId: null, budget: NO_BUDGET }]]),
    modelBudgets: budgets,
    modelNames: new ModelNames(NAMES),
  }
}

function principalOf(id: string, tenants: Tenants): Principal {
  const key = entryKey({ id, enterpriseId: 'acme', departmentId: 'dep', timeZone: 'UTC' })
  return {
    generation: 0,
    key: { ...key, modelBudgets: modelLimitsOf({ ...key, keyId: id }, tenants) },
    limits: { requestsPerMinute: AMPLE, tokensPerMinute: AMPLE, concurrency: AMPLE },
    userLimits: null,
    enterpriseLimits: null,
    models: null,
    capture: null,
  }
}

interface Request {
  readonly key: string
  readonly model: string
  state: 'undecided' | 'admitted' | 'refused'
  /** Its reservation; once it has ended, its cost. */
  amount: number
  refusedMs: number
}

interface Need {
  readonly key: string
  readonly model: string
  readonly worst: number
  readonly cost: number
  readonly lastsMs: number
}

class World {
  readonly leases: LeaseWorld
  readonly requests: Request[] = []
  readonly #random: SeededRandom
  readonly #entries: readonly Entry[]
  readonly #admissions: readonly Admissions[]
  readonly #callers: ReadonlyMap<string, Principal>

  constructor(seed: number, entries: readonly Entry[]) {
    this.#random = new SeededRandom(seed)
    this.#entries = entries
    this.leases = new LeaseWorld({ fronts: FRONTS, random: () => this.#random.next() })
    this.#admissions = this.leases.fronts.map(({ book }) => new Admissions(book))
    for (const admissions of this.#admissions) admissions.update({ names: NAMES })
    const tenants = tenantsOf(entries)
    this.#callers = new Map(KEYS.map((id) => [id, principalOf(id, tenants)]))
  }

  between(min: number, max: number): number {
    return this.#random.between(min, max)
  }

  one<T>(values: readonly T[]): T {
    return values[this.between(0, values.length - 1)] as T
  }

  /** Reserved by running requests, and spent by ended ones. */
  used(entry: Entry, isCounted = ({ state }: Request): boolean => state === 'admitted'): number {
    return this.requests
      .filter((one) => paysFor(entry, one.key) && covers(entry, one.model) && isCounted(one))
      .reduce((sum, { amount }) => sum + amount, 0)
  }

  /** The entries that pay for a request. */
  payers({ key, model }: Pick<Need, 'key' | 'model'>): Entry[] {
    return this.#entries.filter((entry) => paysFor(entry, key) && covers(entry, model))
  }

  /** Sends a request to a random front. Resolves to whether it was let in. */
  async ask({ key, model, worst, cost, lastsMs }: Need): Promise<boolean> {
    const { leases } = this
    const admissions = this.one(this.#admissions)
    const request: Request = { key, model, state: 'undecided', amount: worst, refusedMs: 0 }
    this.requests.push(request)
    const admission = await admissions.admit(this.#callers.get(key) as Principal, leases.nowMs)
    try {
      await admission.reserve(1, leases.nowMs, worst, model)
    } catch (cause) {
      admission.settle(0, leases.nowMs, 0)
      request.state = 'refused'
      request.refusedMs = leases.nowMs
      this.#checkRefusal(GatewayError.from(cause), request)
      return false
    }
    request.state = 'admitted'
    for (const entry of this.#entries) expect(this.used(entry)).toBeLessThanOrEqual(entry.limit)
    leases.after(lastsMs, () => {
      admission.settle(1, leases.nowMs, cost)
      request.amount = cost
    })
    return true
  }

  /** A refusal names a budget that pays for the request and does not cover it. */
  #checkRefusal({ code, message }: GatewayError, request: Request): void {
    expect(code).toBe('BUDGET_EXHAUSTED')
    const sinceMs = this.leases.nowMs - RETURNED_MS
    const spent = this.payers(request).filter(
      (entry) => this.used(entry, ({ state, refusedMs }) => state !== 'refused' || refusedMs > sinceMs) > entry.limit,
    )
    expect(spent.map(named).filter((name) => message.includes(name))).not.toEqual([])
  }
}

/** As a refusal names it. */
function named({ owner, models, limit }: Entry): string {
  const whose = { enterprise: 'enterprise', department: 'department (dep)', key: 'API key' }[owner]
  return `${limit} micro-units a month of this ${whose} for ${models.join(', ')} does not cover`
}

const owners = fc.constantFrom<Pick<Entry, 'owner' | 'id'>>(
  { owner: 'enterprise', id: 'acme' },
  { owner: 'department', id: 'dep' },
  { owner: 'key', id: 'key-0' },
  { owner: 'key', id: 'key-1' },
)
const entries: fc.Arbitrary<Entry[]> = fc.uniqueArray(
  fc
    .tuple(
      owners,
      fc.uniqueArray(fc.constantFrom(...Object.keys(COVERED)), { minLength: 1, maxLength: 3 }),
      fc.integer({ min: 1, max: 2_000 }),
    )
    .map(([owner, models, limit]) => ({ ...owner, models, limit })),
  { minLength: 1, maxLength: 6, selector: ({ id, models }) => `${id} ${models.toSorted().join(' ')}` },
)

describe('budgets for models and groups of models, over keys and fronts', () => {
  it('are never exceeded, refuse only what they do not cover, and are used up to the last unit', async () => {
    await fc.assert(
      fc.asyncProperty(fc.nat(), entries, fc.integer({ min: 20, max: 200 }), async (seed, all, everyMs) => {
        const world = new World(seed, all)
        const { leases } = world
        const faults: unknown[] = []
        const ask = (need: Need): Promise<boolean | null> =>
          world.ask(need).catch((cause: unknown) => {
            faults.push(cause)
            return null
          })
        const endMs = leases.nowMs + 30_000
        const next = (): void => {
          if (leases.nowMs > endMs) return
          leases.after(world.between(1, 2 * everyMs), next)
          const worst = world.between(1, 100)
          const cost = world.between(0, worst)
          void ask({ key: world.one(KEYS), model: world.one(MODELS), worst, cost, lastsMs: world.between(5, 3_000) })
        }
        leases.after(100, next)
        await leases.run(40_000)
        for (const model of MODELS) {
          for (const key of KEYS) {
            const payers = world.payers({ key, model })
            const rest = Math.min(...payers.map((entry) => entry.limit - world.used(entry)))
            const needs: ReadonlyArray<readonly [worst: number, isLetIn: boolean]> =
              payers.length === 0
                ? [[AMPLE, true]]
                : rest === 0
                  ? [[1, false]]
                  : [
                      [rest, true],
                      [1, false],
                    ]
            for (const [worst, isLetIn] of needs) {
              const asked = ask({ key, model, worst, cost: worst, lastsMs: 5 })
              await leases.run(3_000)
              expect([key, model, worst, await asked]).toEqual([key, model, worst, isLetIn])
            }
          }
        }
        expect(faults).toEqual([])
      }),
      { numRuns: 10 },
    )
  }, 120_000)
})
