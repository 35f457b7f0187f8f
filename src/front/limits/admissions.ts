import { budgetAllowance, budgetName, modelBudgetName } from '../../shared/core/budget.ts'
import type { BudgetLimit } from '../../shared/core/budget.ts'
import type { GatewayError } from '../../shared/core/errors.ts'
import { monthAt } from '../../shared/core/month.ts'
import { ModelNames, NO_MODEL_NAMES } from '../../shared/core/model-names.ts'
import type { Principal } from '../../shared/core/principal.ts'
import type { RateLimitState, Reservation } from '../../shared/core/request-context.ts'
import type { Snapshot } from '../../shared/core/snapshot.ts'
import { bucketOf } from '../../shared/core/allowance.ts'
import type { AllowanceKind } from '../../shared/core/allowance.ts'
import type { Refusal, Taken } from './leased-limit.ts'
import type { LeasedRate } from './leased-rate.ts'
import type { LeaseBook } from './lease-book.ts'
import { Limit } from './limit.ts'
import type { LimitTerms } from './limit.ts'
import { budgetRefusal, limitRefusal } from './refusals.ts'

/** Every limit that a caller is under, the cheapest to refuse by first. */
interface Chain {
  readonly principal: Principal
  readonly concurrency: ReadonlyArray<Limit<'concurrency'>>
  readonly requests: ReadonlyArray<Limit<'rate'>>
  readonly tokens: ReadonlyArray<Limit<'rate'>>
  /** Of one month. */
  readonly budgets: ReadonlyArray<Limit<'budget'>>
  /** Likewise; a request is under those that are for its model. */
  readonly modelBudgets: ReadonlyArray<Limit<'budget'>>
  /** When another month begins, Unix milliseconds; Infinity where there are no budgets. */
  readonly untilMs: number
  /** How long its requests take, smoothed: tells when a slot will be free. */
  meanDurationMs: number
  lastUsedMs: number
}

/** Beside the limits of the caller: the parts that all admissions share. */
interface AdmissionTerms {
  readonly book: LeaseBook
  readonly names: ModelNames
}

type AmountLimit = Limit<'rate'> | Limit<'budget'>

/** A chain unused for this long is made anew when it is needed. */
const IDLE_MS = 120_000
const DURATION_SMOOTHING = 0.1

/**
 * Limits of keys, their members, departments, users and enterprises: requests and tokens per minute, requests at the same time, and the budgets
 * that a key is under. Taken from what this front has leased, in memory; only when that is used up is the authority asked.
 */
export class Admissions {
  readonly #book: LeaseBook
  readonly #chains = new Map<string, Chain>()
  #sweptMs = 0
  /** Of the newest principal so far. */
  #generation = 0
  #terms: AdmissionTerms

  constructor(book: LeaseBook) {
    this.#book = book
    this.#terms = { book, names: NO_MODEL_NAMES }
  }

  update({ names }: Pick<Snapshot, 'names'>): void {
    this.#terms = { book: this.#book, names: names === undefined ? NO_MODEL_NAMES : new ModelNames(names) }
  }

  /**
   * Lets a request of `principal` in. Throws, or rejects with, CONCURRENCY_EXCEEDED or RPM_EXCEEDED with the seconds until it
   * would fit. What it returns must be settled once, whatever becomes of the request.
   */
  admit(principal: Principal, nowMs: number): Admission | Promise<Admission> {
    const chain = this.#chainOf(principal, nowMs)
    const limits = [...chain.concurrency, ...chain.requests]
    for (let at = 0; at < limits.length; at++) {
      const limit = limits[at] as Limit
      const taken = limit.lease.take(1, nowMs)
      if (taken === 'taken') continue
      if (taken === 'ask') return this.#admitAsking(chain, limits, at, nowMs)
      for (const { lease } of limits.slice(0, at)) lease.undo(1, bucketOf(nowMs))
      throw limitRefusal(limit, chain.meanDurationMs, taken, nowMs)
    }
    return new Admission(chain, nowMs, this.#terms)
  }

  /** The tightest of the caller's windows, for the headers of every answer. */
  state(principal: Principal, nowMs: number): RateLimitState {
    return stateOf(this.#chainOf(principal, nowMs), nowMs)
  }

  async #admitAsking(chain: Chain, limits: readonly Limit[], from: number, nowMs: number): Promise<Admission> {
    // All are asked for in one message: what comes next will be there when it is needed.
    for (const { lease } of [...limits.slice(from), ...chain.tokens, ...chain.budgets]) lease.askFor(1)
    const taken: Taken[] = limits.slice(0, from).map(() => ({ bucket: bucketOf(nowMs) }))
    for (const limit of limits.slice(from)) {
      const result = await limit.lease.obtain(1, this.#book.clock.now())
      if ('bucket' in result) {
        taken.push(result)
        continue
      }
      for (const [at, { bucket }] of taken.entries()) limits[at]?.lease.undo(1, bucket)
      throw limitRefusal(limit, chain.meanDurationMs, result, this.#book.clock.now())
    }
    return new Admission(chain, nowMs, this.#terms, taken)
  }

  #chainOf(principal: Principal, nowMs: number): Chain {
    this.#sweep(nowMs)
    let chain = this.#chains.get(principal.key.id)
    // A request that began before a change has the principal of before it.
    const latest =
      chain !== undefined && chain.principal.generation > principal.generation ? chain.principal : principal
    if (chain?.principal !== latest || nowMs >= chain.untilMs) {
      chain = this.#makeChain(latest, chain?.meanDurationMs ?? 0, nowMs)
      this.#chains.set(latest.key.id, chain)
    }
    chain.lastUsedMs = nowMs
    return chain
  }

  #makeChain(principal: Principal, meanDurationMs: number, nowMs: number): Chain {
    const { key, limits, userLimits, enterpriseLimits, generation } = principal
    this.#generation = Math.max(this.#generation, generation)
    const groups = [
      { owner: 'API key', id: key.id, limits },
      ...(key.holderLimits ?? []),
      { owner: 'user', id: key.userId, limits: userLimits },
      { owner: 'enterprise', id: key.enterpriseId, limits: enterpriseLimits },
    ] as const
    const of = <K extends AllowanceKind>(
      kind: K,
      measure: LimitTerms<K>['measure'],
      field: 'concurrency' | 'requestsPerMinute' | 'tokensPerMinute',
    ): Array<Limit<K>> =>
      groups.flatMap(({ owner, id, limits: of }) => {
        const limit = of?.[field] ?? null
        if (id === null || limit === null) return []
        const allowance = `${owner === 'API key' ? 'key' : owner}:${id}:${field}`
        return [this.#limit({ owner, ...holderOf(owner, id), measure, allowance, kind, limit }, principal)]
      })
    return {
      principal,
      concurrency: of('concurrency', 'requests', 'concurrency'),
      requests: of('rate', 'requests', 'requestsPerMinute'),
      tokens: of('rate', 'tokens', 'tokensPerMinute'),
      ...this.#budgetsOf(principal, nowMs),
      meanDurationMs,
      lastUsedMs: 0,
    }
  }

  #limit<K extends AllowanceKind>(terms: LimitTerms<K>, { generation }: Principal): Limit<K> {
    return new Limit(this.#book, terms, generation >= this.#generation)
  }

  #budgetsOf(principal: Principal, nowMs: number): Pick<Chain, 'budgets' | 'modelBudgets' | 'untilMs'> {
    const { budgets = [], modelBudgets = [], timeZone = 'UTC' } = principal.key
    if (budgets.length + modelBudgets.length === 0) return { budgets: [], modelBudgets: [], untilMs: Infinity }
    const month = monthAt(timeZone, nowMs)
    const limitOf = (terms: BudgetLimit, name: string): Limit<'budget'> => {
      const allowance = budgetAllowance(terms.measure, name)
      return this.#limit({ ...terms, ...holderOf(terms.owner, terms.id), allowance, kind: 'budget' }, principal)
    }
    return {
      budgets: budgets.map((one) => limitOf(one, budgetName(one.owner, one.id, month.name))),
      modelBudgets: modelBudgets.map((one) => limitOf(one, modelBudgetName(one.models, one.owner, one.id, month.name))),
      untilMs: month.endMs,
    }
  }

  #sweep(nowMs: number): void {
    if (nowMs - this.#sweptMs < IDLE_MS) return
    this.#sweptMs = nowMs
    for (const [id, chain] of this.#chains) if (nowMs - chain.lastUsedMs > IDLE_MS) this.#chains.delete(id)
  }
}

/** A request that was let in: may reserve what it needs, and is settled once. */
export class Admission implements Reservation {
  readonly #chain: Chain
  readonly #terms: AdmissionTerms
  readonly #admittedMs: number
  /** For each limit that admitted the request; null: all at the time of the admission. */
  readonly #taken: readonly Taken[] | null
  /** Those of the caller, and from the reservation on those for its model. */
  #budgets: ReadonlyArray<Limit<'budget'>>
  #reserved: Array<{ readonly limit: AmountLimit; readonly bucket: number; readonly amount: number }> = []
  #open = true

  constructor(chain: Chain, admittedMs: number, terms: AdmissionTerms, taken: readonly Taken[] | null = null) {
    this.#chain = chain
    this.#admittedMs = admittedMs
    this.#taken = taken
    this.#terms = terms
    this.#budgets = chain.budgets
  }

  get countsMoney(): boolean {
    return this.#chain.budgets.length + this.#chain.modelBudgets.length > 0
  }

  /** Of tokens per minute more than the whole limit is held as just that; a budget has to cover all. */
  reserve(tokens: number, nowMs: number, costMicro = 0, model: string | null = null): Promise<void> | undefined {
    const { tokens: windows, budgets, modelBudgets } = this.#chain
    if (model !== null && modelBudgets.length > 0) {
      const { names } = this.#terms
      this.#budgets = [...budgets, ...modelBudgets.filter(({ models }) => names.cover(models ?? [], model))]
    }
    const count = windows.length + this.#budgets.length
    for (let at = 0; at < count; at++) {
      const limit = this.#limitAt(at)
      const amount = amountOf(limit, tokens, costMicro)
      const taken = limit.lease.take(amount, nowMs)
      if (taken === 'ask') return this.#reserveAsking(tokens, costMicro, at)
      if (taken !== 'taken') throw this.#refused(limit, taken, nowMs, amount)
      this.#reserved.push({ limit, bucket: bucketOf(nowMs), amount })
    }
    return undefined
  }

  settle(actualTokens: number, nowMs: number, costMicro = 0): void {
    if (!this.#open) return
    this.#open = false
    const chain = this.#chain
    for (const { lease } of chain.concurrency) lease.give(false)
    chain.meanDurationMs += (nowMs - this.#admittedMs - chain.meanDurationMs) * DURATION_SMOOTHING
    for (const { limit, bucket, amount } of this.#reserved) {
      limit.lease.correct(bucket, (limit.measure === 'tokens' ? actualTokens : costMicro) - amount)
    }
  }

  withdraw(): void {
    if (!this.#open) return
    this.#open = false
    for (const { limit, bucket, amount } of this.#reserved) limit.lease.undo(amount, bucket)
    const { concurrency, requests } = this.#chain
    for (const [at, { lease }] of [...concurrency, ...requests].entries()) {
      lease.undo(1, this.#taken?.[at]?.bucket ?? bucketOf(this.#admittedMs))
    }
  }

  async #reserveAsking(tokens: number, costMicro: number, from: number): Promise<void> {
    const count = this.#chain.tokens.length + this.#budgets.length
    // All are asked for in one message.
    for (let at = from; at < count; at++) {
      const limit = this.#limitAt(at)
      limit.lease.askFor(amountOf(limit, tokens, costMicro))
    }
    for (let at = from; at < count; at++) {
      const limit = this.#limitAt(at)
      const amount = amountOf(limit, tokens, costMicro)
      const result = await limit.lease.obtain(amount, this.#terms.book.clock.now())
      if (!('bucket' in result)) throw this.#refused(limit, result, this.#terms.book.clock.now(), amount)
      this.#reserved.push({ limit, bucket: result.bucket, amount })
    }
  }

  #limitAt(at: number): AmountLimit {
    const { tokens } = this.#chain
    return (at < tokens.length ? tokens[at] : this.#budgets[at - tokens.length]) as AmountLimit
  }

  /** Gives back at once what is reserved: the next request may need it. */
  #refused(limit: Limit, refusal: Refusal, nowMs: number, amount: number): GatewayError {
    for (const one of this.#reserved) one.limit.lease.undo(one.amount, one.bucket)
    this.#reserved = []
    return limit.lease.kind === 'budget'
      ? budgetRefusal(limit, refusal, { amount, renewedMs: this.#chain.untilMs, nowMs })
      : limitRefusal(limit, this.#chain.meanDurationMs, refusal, nowMs, amount)
  }
}

/** A key can be under several departments: a refusal tells which one. */
function holderOf(owner: Limit['owner'], id: string): { readonly holderId?: string } {
  return owner === 'member' || owner === 'department' ? { holderId: id } : {}
}

function amountOf({ lease, measure }: AmountLimit, tokens: number, costMicro: number): number {
  const amount = measure === 'tokens' ? tokens : costMicro
  return lease.kind === 'budget' ? amount : Math.min(amount, lease.limit)
}

function stateOf({ requests, tokens }: Chain, nowMs: number): RateLimitState {
  const request = tightest(requests, nowMs)
  const token = tightest(tokens, nowMs)
  return {
    limitRequests: request?.limit ?? 0,
    remainingRequests: request?.remaining(nowMs) ?? 0,
    resetRequestsSeconds: request?.secondsUntilEmpty(nowMs) ?? 0,
    limitTokens: token?.limit ?? 0,
    remainingTokens: token?.remaining(nowMs) ?? 0,
    resetTokensSeconds: token?.secondsUntilEmpty(nowMs) ?? 0,
  }
}

function tightest(limits: ReadonlyArray<Limit<'rate'>>, nowMs: number): LeasedRate | undefined {
  const [first, ...others] = limits.map(({ lease }) => lease)
  if (first === undefined) return undefined
  return others.reduce((best, one) => (one.remaining(nowMs) < best.remaining(nowMs) ? one : best), first)
}
