import type { AllowanceKind } from '../core/allowance.ts'
import { GatewayError } from '../core/errors.ts'
import type { Principal } from '../core/principal.ts'
import type { RateLimitState, Reservation } from '../core/request-context.ts'
import { secondOf } from './holding.ts'
import type { Holding, Refusal, Taken } from './holding.ts'
import type { LeaseBook } from './lease-book.ts'

/** Whose limit it is, as a refusal names it. */
type Owner = 'API key' | 'user' | 'enterprise'

interface Limit {
  readonly owner: Owner
  readonly holding: Holding
}

/** Every limit that a caller is under, the cheapest to refuse by first. */
interface Chain {
  readonly principal: Principal
  readonly places: readonly Limit[]
  readonly requests: readonly Limit[]
  readonly tokens: readonly Limit[]
  /** How long its requests take, smoothed: tells when a place will be free. */
  meanDurationMs: number
  lastUsedMs: number
}

/** A chain unused for this long is made anew when it is needed. */
const IDLE_MS = 120_000
const DURATION_SMOOTHING = 0.1

/**
 * Limits of keys, their users and their enterprises: requests and tokens per minute, requests at the same time. Taken from
 * what this front has leased, in memory; only when that is used up is the authority asked.
 */
export class Admissions {
  readonly #book: LeaseBook
  readonly #chains = new Map<string, Chain>()
  #sweptMs = 0

  constructor(book: LeaseBook) {
    this.#book = book
  }

  /**
   * Lets a request of `principal` in. Throws, or rejects with, CONCURRENCY_EXCEEDED or RPM_EXCEEDED with the seconds until it
   * would fit. What it returns must be settled once, whatever becomes of the request.
   */
  admit(principal: Principal, nowMs: number): Admission | Promise<Admission> {
    const chain = this.#chainOf(principal, nowMs)
    const limits = [...chain.places, ...chain.requests]
    for (let at = 0; at < limits.length; at++) {
      const limit = limits[at] as Limit
      const taken = limit.holding.take(1, nowMs)
      if (taken === 'taken') continue
      if (taken === 'ask') return this.#admitAsking(chain, limits, at, nowMs)
      for (const { holding } of limits.slice(0, at)) holding.undo(1, secondOf(nowMs))
      throw refusalOf(limit, chain, taken, nowMs)
    }
    return new Admission(chain, nowMs, this.#book)
  }

  /** The tightest of the caller's windows, for the headers of every answer. */
  state(principal: Principal, nowMs: number): RateLimitState {
    return stateOf(this.#chainOf(principal, nowMs), nowMs)
  }

  async #admitAsking(chain: Chain, limits: readonly Limit[], from: number, nowMs: number): Promise<Admission> {
    // All are asked for in one message: what comes next will be there when it is needed.
    for (const { holding } of [...limits.slice(from), ...chain.tokens]) holding.askFor(1)
    const taken: Taken[] = limits.slice(0, from).map(() => ({ second: secondOf(nowMs) }))
    for (const limit of limits.slice(from)) {
      const result = await limit.holding.obtain(1, this.#book.clock.now())
      if ('second' in result) {
        taken.push(result)
        continue
      }
      for (const [at, { second }] of taken.entries()) limits[at]?.holding.undo(1, second)
      throw refusalOf(limit, chain, result, this.#book.clock.now())
    }
    return new Admission(chain, nowMs, this.#book)
  }

  #chainOf(principal: Principal, nowMs: number): Chain {
    this.#sweep(nowMs)
    let chain = this.#chains.get(principal.key.id)
    if (chain?.principal !== principal) {
      chain = this.#makeChain(principal, chain?.meanDurationMs ?? 0)
      this.#chains.set(principal.key.id, chain)
    }
    chain.lastUsedMs = nowMs
    return chain
  }

  #makeChain(principal: Principal, meanDurationMs: number): Chain {
    const { key, limits, userLimits, enterpriseLimits } = principal
    const groups = [
      { owner: 'API key', id: key.id, limits },
      { owner: 'user', id: key.userId, limits: userLimits },
      { owner: 'enterprise', id: key.enterpriseId, limits: enterpriseLimits },
    ] as const
    const of = (field: 'concurrency' | 'requestsPerMinute' | 'tokensPerMinute', kind: AllowanceKind): Limit[] =>
      groups.flatMap(({ owner, id, limits: of }) => {
        const limit = of?.[field] ?? null
        if (id === null || limit === null) return []
        const name = owner === 'API key' ? 'key' : owner
        return [{ owner, holding: this.#book.holding(`${name}:${id}:${field}`, kind, limit) }]
      })
    return {
      principal,
      places: of('concurrency', 'places'),
      requests: of('requestsPerMinute', 'window'),
      tokens: of('tokensPerMinute', 'window'),
      meanDurationMs,
      lastUsedMs: 0,
    }
  }

  #sweep(nowMs: number): void {
    if (nowMs - this.#sweptMs < IDLE_MS) return
    this.#sweptMs = nowMs
    for (const [id, chain] of this.#chains) if (nowMs - chain.lastUsedMs > IDLE_MS) this.#chains.delete(id)
  }
}

/** A request that was let in: may reserve tokens, and is settled once. */
export class Admission implements Reservation {
  readonly #chain: Chain
  readonly #book: LeaseBook
  readonly #admittedMs: number
  #reserved: Array<{ readonly limit: Limit; readonly second: number; readonly amount: number }> = []
  #open = true

  constructor(chain: Chain, admittedMs: number, book: LeaseBook) {
    this.#chain = chain
    this.#admittedMs = admittedMs
    this.#book = book
  }

  /**
   * Holds `tokens` under every limit until the truth is known. Throws, or rejects with, TPM_EXCEEDED. More than a whole minute's
   * limit is held as just that.
   */
  reserve(tokens: number, nowMs: number): void | Promise<void> {
    const limits = this.#chain.tokens
    for (let at = 0; at < limits.length; at++) {
      const limit = limits[at] as Limit
      const amount = Math.min(tokens, limit.holding.limit)
      const taken = limit.holding.take(amount, nowMs)
      if (taken === 'ask') return this.#reserveAsking(tokens, at)
      if (taken !== 'taken') throw refusalOf(limit, this.#chain, taken, nowMs, amount)
      this.#reserved.push({ limit, second: secondOf(nowMs), amount })
    }
  }

  settle(actualTokens: number, nowMs: number): void {
    if (!this.#open) return
    this.#open = false
    const chain = this.#chain
    for (const { holding } of chain.places) holding.give(false)
    chain.meanDurationMs += (nowMs - this.#admittedMs - chain.meanDurationMs) * DURATION_SMOOTHING
    for (const { limit, second, amount } of this.#reserved) limit.holding.correct(second, actualTokens - amount)
  }

  async #reserveAsking(tokens: number, from: number): Promise<void> {
    const limits = this.#chain.tokens
    for (let at = from; at < limits.length; at++) {
      const limit = limits[at] as Limit
      const amount = Math.min(tokens, limit.holding.limit)
      const result = await limit.holding.obtain(amount, this.#book.clock.now())
      if (!('second' in result)) throw refusalOf(limit, this.#chain, result, this.#book.clock.now(), amount)
      this.#reserved.push({ limit, second: result.second, amount })
    }
  }
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

function tightest(limits: readonly Limit[], nowMs: number): Holding | undefined {
  const [first, ...others] = limits.map(({ holding }) => holding)
  if (first === undefined) return undefined
  return others.reduce((best, one) => (one.remaining(nowMs) < best.remaining(nowMs) ? one : best), first)
}

/** Names whose limit it was and when to come back. */
function refusalOf({ owner, holding }: Limit, chain: Chain, refusal: Refusal, nowMs: number, amount = 1): GatewayError {
  const whose = `This ${owner}`
  if (holding.kind === 'places') {
    return new GatewayError('CONCURRENCY_EXCEEDED', {
      message: `${whose} may run ${holding.limit} requests at the same time. Try again when one has finished.`,
      // Places become free one by one: with n under way, one does every nth of a request's time.
      retryAfterSeconds: Math.max(1, chain.meanDurationMs / holding.limit / 1000),
    })
  }
  const isTokens = holding.id.endsWith('tokensPerMinute')
  const wait = Math.max(1, Math.ceil((refusal.retryAtMs - nowMs) / 1000))
  const needs = isTokens && amount > 1 ? `, and this request may need ${Math.ceil(amount)}` : ''
  return new GatewayError(isTokens ? 'TPM_EXCEEDED' : 'RPM_EXCEEDED', {
    message: `${whose} may use ${holding.limit} ${isTokens ? 'tokens' : 'requests'} per minute${needs}. Try again in ${wait} s.`,
    retryAfterSeconds: wait,
  })
}
