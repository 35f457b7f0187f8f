import { GatewayError } from '../core/errors.ts'
import type { Principal } from '../core/principal.ts'
import type { RateLimitState, Reservation } from '../core/request-context.ts'
import { SlidingWindow } from './sliding-window.ts'

/** What one key has used: its last minute and its requests under way. */
interface KeyUse {
  readonly requests: SlidingWindow
  readonly tokens: SlidingWindow
  inFlight: number
  lastUsedMs: number
  /** How long its requests take, smoothed: tells when a place will be free. */
  meanDurationMs: number
}

/** A key unused for this long is forgotten: its windows are empty by then. */
const IDLE_MS = 120_000
const DURATION_SMOOTHING = 0.1

/** Limits per entry key, held in this process: requests and tokens per minute, requests at the same time. */
export class KeyLimits {
  readonly #uses = new Map<string, KeyUse>()
  #sweptMs = 0

  /**
   * Lets a request of `principal` in. Throws CONCURRENCY_EXCEEDED or RPM_EXCEEDED with the seconds until it would fit.
   * What it returns must be closed once, whatever becomes of the request.
   */
  admit(principal: Principal, nowMs: number): KeyAdmission {
    const use = this.#useOf(principal.key.id, nowMs)
    const { limits } = principal
    if (use.inFlight >= limits.concurrency) {
      throw new GatewayError('CONCURRENCY_EXCEEDED', {
        message: `This API key may run ${limits.concurrency} requests at the same time. Try again when one has finished.`,
        // Places become free one by one: with n under way, one does every nth of a request's time.
        retryAfterSeconds: Math.max(1, use.meanDurationMs / limits.concurrency / 1000),
      })
    }
    if (use.requests.take(1, limits.requestsPerMinute, nowMs) === null) {
      const seconds = use.requests.secondsUntil(1, limits.requestsPerMinute, nowMs)
      throw refusal('RPM_EXCEEDED', `${limits.requestsPerMinute} requests`, seconds)
    }
    use.inFlight += 1
    return new KeyAdmission(principal, use, nowMs)
  }

  /** The state of a key's windows, for the headers of refusals made before or instead of an admission. */
  state(principal: Principal, nowMs: number): RateLimitState {
    return stateOf(principal, this.#useOf(principal.key.id, nowMs), nowMs)
  }

  inFlight(keyId: string): number {
    return this.#uses.get(keyId)?.inFlight ?? 0
  }

  #useOf(keyId: string, nowMs: number): KeyUse {
    this.#sweep(nowMs)
    let use = this.#uses.get(keyId)
    if (use === undefined) {
      use = {
        requests: new SlidingWindow(),
        tokens: new SlidingWindow(),
        inFlight: 0,
        lastUsedMs: nowMs,
        meanDurationMs: 0,
      }
      this.#uses.set(keyId, use)
    }
    use.lastUsedMs = nowMs
    return use
  }

  #sweep(nowMs: number): void {
    if (nowMs - this.#sweptMs < IDLE_MS) return
    this.#sweptMs = nowMs
    for (const [keyId, use] of this.#uses) {
      if (use.inFlight === 0 && nowMs - use.lastUsedMs > IDLE_MS) this.#uses.delete(keyId)
    }
  }
}

/** A request that was let in: may reserve tokens, and is closed once. */
export class KeyAdmission implements Reservation {
  readonly #principal: Principal
  readonly #use: KeyUse
  readonly #admittedMs: number
  #reserved = 0
  #second: number | null = null
  #open = true

  constructor(principal: Principal, use: KeyUse, admittedMs: number) {
    this.#principal = principal
    this.#use = use
    this.#admittedMs = admittedMs
  }

  /** Holds `tokens` until the truth is known. Throws TPM_EXCEEDED. More than a whole minute's limit is held as just that. */
  reserve(tokens: number, nowMs: number): void {
    const limit = this.#principal.limits.tokensPerMinute
    const amount = Math.min(tokens, limit)
    this.#second = this.#use.tokens.take(amount, limit, nowMs)
    if (this.#second === null) {
      throw refusal('TPM_EXCEEDED', `${limit} tokens`, this.#use.tokens.secondsUntil(amount, limit, nowMs))
    }
    this.#reserved = amount
  }

  settle(actualTokens: number, nowMs: number): void {
    if (!this.#open) return
    this.#open = false
    this.#use.inFlight -= 1
    this.#use.meanDurationMs += (nowMs - this.#admittedMs - this.#use.meanDurationMs) * DURATION_SMOOTHING
    if (this.#second !== null) this.#use.tokens.correct(this.#second, actualTokens - this.#reserved, nowMs)
  }

  state(nowMs: number): RateLimitState {
    return stateOf(this.#principal, this.#use, nowMs)
  }
}

function stateOf(principal: Principal, use: KeyUse, nowMs: number): RateLimitState {
  const { limits } = principal
  return {
    limitRequests: limits.requestsPerMinute,
    remainingRequests: Math.max(0, limits.requestsPerMinute - use.requests.used(nowMs)),
    resetRequestsSeconds: use.requests.secondsUntilEmpty(nowMs),
    limitTokens: limits.tokensPerMinute,
    remainingTokens: Math.max(0, limits.tokensPerMinute - use.tokens.used(nowMs)),
    resetTokensSeconds: use.tokens.secondsUntilEmpty(nowMs),
  }
}

function refusal(code: 'RPM_EXCEEDED' | 'TPM_EXCEEDED', limit: string, seconds: number): GatewayError {
  const wait = Math.max(1, Math.ceil(Number.isFinite(seconds) ? seconds : 60))
  return new GatewayError(code, {
    message: `This API key may use ${limit} per minute. Try again in ${wait} s.`,
    retryAfterSeconds: wait,
  })
}
