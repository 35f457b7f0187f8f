import { Deadline } from '../../shared/runtime/deadlines.ts'
import type { AttemptOutcome, Headroom } from '../../shared/core/deployment.ts'
import type { KeyHealthEvent } from '../../shared/core/key-health-event.ts'
import { CircuitBreaker } from './circuit-breaker.ts'
import type { Backoff } from './circuit-breaker.ts'
import { ConcurrencyLimit } from './concurrency-limit.ts'
import { hashText } from './hash.ts'
import { Latency } from './latency.ts'

const FAILING: Backoff = { firstMs: 5_000, mostMs: 300_000 }
/** A refused key is probed again, seldom: somebody may pay the account or give the permission. */
const UNAUTHORISED: Backoff = { firstMs: 60_000, mostMs: 1_800_000 }
/** For rate-limit answers without a waiting time. */
const RATE_LIMITED: Backoff = { firstMs: 1_000, mostMs: 60_000 }
/** The longest cool-down that a header may ask for: a daily quota. */
const MAX_COOLING_MS = 86_400_000
const SHRINK_EPISODE_MS = 1_000
/** A key's score gets worse when less than this share of its limits is left. */
const SCARCE = 0.2
const SCARCEST = 0.02

const FAULTS = { failed: 'its calls fail', unreachable: 'its provider cannot be reached' } as const

/** The learned state of a provider as a whole; survives snapshots. */
export class ProviderState {
  readonly id: string
  readonly breaker = new CircuitBreaker()
  readonly keys = new Set<KeyState>()

  constructor(id: string) {
    this.id = id
  }

  /** Learns whether the provider can be reached, from calls of all its keys. Returns true when the breaker has changed. */
  learn(outcome: AttemptOutcome['kind'], isProbe: boolean, nowMs: number): boolean {
    if (outcome === 'unreachable') {
      if (!isProbe) return this.breaker.fail(nowMs, FAILING)
      this.breaker.open(nowMs, FAILING)
      return true
    }
    if (!isProbe) return false
    if (outcome === 'abandoned') this.breaker.abandonProbe()
    else this.breaker.close()
    return true
  }
}

export type Announce = (kind: KeyHealthEvent['kind'], untilMs: number, reason: string) => void

/** The learned state of an upstream key; survives snapshots. */
export class KeyState {
  readonly id: string
  readonly hash: number
  provider: ProviderState
  /** The credential of the latest snapshot. */
  credential: string
  enabled = true
  readonly breaker = new CircuitBreaker()
  readonly concurrency = new ConcurrencyLimit()
  readonly latency = new Latency()
  /** Expires when the key may be used again. Watched only while a request waits for the key. */
  readonly wake: Deadline
  inFlight = 0
  /** Requests in the queue that this key could serve. */
  waiting = 0
  #coolingUntilMs = 0
  #spentUntilMs = 0
  #headroom: Headroom | null = null
  #rateLimitsInARow = 0
  #unauthorised = false

  constructor(id: string, credential: string, provider: ProviderState, onWake: (key: KeyState) => void) {
    this.id = id
    this.hash = hashText(id)
    this.credential = credential
    this.provider = provider
    this.wake = new Deadline(() => {
      onWake(this)
    })
  }

  /** The end of the cool-down that the provider asked for, Unix milliseconds; in the past when there is none. */
  get coolingUntilMs(): number {
    return Math.max(this.#coolingUntilMs, this.#spentUntilMs)
  }

  /** Whether the breaker is open because the provider refused the credential. */
  get unauthorised(): boolean {
    return this.#unauthorised && !this.breaker.closed
  }

  /** Takes a new credential, and forgets the state of the old one. */
  renew(credential: string): void {
    this.credential = credential
    this.#coolingUntilMs = 0
    this.#spentUntilMs = 0
    this.#headroom = null
    this.#unauthorised = false
    this.breaker.close()
  }

  /** 1 or more: higher, the less the provider reports as left. */
  scarcity(nowMs: number): number {
    const headroom = this.#headroom
    if (headroom === null || headroom.resetAtMs <= nowMs || headroom.left >= SCARCE) return 1
    return SCARCE / Math.max(SCARCEST, headroom.left)
  }

  learnHeadroom(headroom: Headroom, nowMs: number, announce: Announce): void {
    this.#headroom = headroom
    const untilMs = headroom.left > 0 ? 0 : Math.min(headroom.resetAtMs, nowMs + MAX_COOLING_MS)
    if (untilMs > nowMs && untilMs > this.#spentUntilMs)
      announce('cooling', untilMs, 'the provider reports that nothing is left of a limit')
    this.#spentUntilMs = untilMs
  }

  /** @param startedAtMs when the call began */
  learn(
    outcome: AttemptOutcome,
    { nowMs, startedAtMs, held, announce }: { nowMs: number; startedAtMs: number; held: number; announce: Announce },
  ): void {
    switch (outcome.kind) {
      case 'ok':
        this.#rateLimitsInARow = 0
        this.breaker.succeed()
        this.concurrency.grow(held)
        return
      case 'refused':
        this.breaker.succeed()
        return
      case 'abandoned':
        return
      case 'rate-limited':
        this.#learnRateLimit(outcome.retryAfterSeconds, nowMs, startedAtMs, announce)
        return
      case 'unauthorised':
        if (this.breaker.closed) this.#open(nowMs, outcome.detail, announce)
        return
      case 'failed':
      case 'unreachable':
        if (this.breaker.fail(nowMs, FAILING)) announce('breaker-open', this.breaker.openUntilMs, FAULTS[outcome.kind])
    }
  }

  /** Closes or reopens the breaker by the outcome of the probe. */
  learnFromProbe(outcome: AttemptOutcome, nowMs: number, announce: Announce): void {
    switch (outcome.kind) {
      case 'abandoned':
        this.breaker.abandonProbe()
        return
      case 'ok':
      case 'refused':
      case 'rate-limited':
        this.#unauthorised = false
        this.breaker.close()
        announce('breaker-closed', nowMs, 'the probe was answered')
        return
      case 'unauthorised':
        this.#open(nowMs, outcome.detail, announce)
        return
      case 'failed':
      case 'unreachable':
        this.#unauthorised = false
        this.breaker.open(nowMs, FAILING)
        announce('breaker-open', this.breaker.openUntilMs, `${FAULTS[outcome.kind]}; the probe failed too`)
    }
  }

  /** Applies what another front process has learned. */
  hear({ kind, untilMs, checked }: KeyHealthEvent, nowMs: number): void {
    switch (kind) {
      case 'cooling':
        this.#coolingUntilMs = Math.max(this.#coolingUntilMs, Math.min(untilMs, nowMs + MAX_COOLING_MS))
        return
      case 'breaker-open':
      case 'disabled':
        if (untilMs <= this.breaker.openUntilMs) return
        this.#unauthorised = kind === 'disabled'
        this.breaker.openUntil(untilMs)
        return
      case 'breaker-closed':
        this.#unauthorised = false
        this.breaker.close()
        if (checked === true) this.provider.breaker.close()
        return
      case 'shrink':
        // One episode makes one cut, however many fronts announce it.
        this.concurrency.shrink(this.inFlight, nowMs - SHRINK_EPISODE_MS, nowMs)
    }
  }

  #learnRateLimit(retryAfterSeconds: number | null, nowMs: number, startedAtMs: number, announce: Announce): void {
    // Of several calls rate limited at the same time, only the first counts.
    if (this.concurrency.shrink(this.inFlight, startedAtMs, nowMs)) {
      this.#rateLimitsInARow += 1
      announce('shrink', nowMs, `the provider was rate limiting or overloaded with ${this.inFlight} calls in flight`)
    }
    const { firstMs, mostMs } = RATE_LIMITED
    const backoffMs = this.#spentUntilMs > nowMs ? 0 : Math.min(mostMs, firstMs * 2 ** (this.#rateLimitsInARow - 1))
    const waitMs = retryAfterSeconds === null ? backoffMs : Math.min(retryAfterSeconds * 1000, MAX_COOLING_MS)
    const untilMs = nowMs + waitMs
    if (untilMs <= this.#coolingUntilMs) return
    this.#coolingUntilMs = untilMs
    announce('cooling', untilMs, 'rate limited')
  }

  #open(nowMs: number, detail: string | undefined, announce: Announce): void {
    this.#unauthorised = true
    this.breaker.open(nowMs, UNAUTHORISED)
    const said = detail === undefined || detail === '' ? '' : ` (${detail})`
    announce('disabled', this.breaker.openUntilMs, `the provider refuses its credential${said}`)
  }
}
