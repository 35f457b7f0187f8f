import { Deadline } from '../../shared/runtime/deadlines.ts'
import type { AttemptOutcome, Headroom } from '../../shared/core/deployment.ts'
import type { KeyHealthEvent } from '../../shared/core/key-health-event.ts'
import { CircuitBreaker } from './circuit-breaker.ts'
import type { Backoff } from './circuit-breaker.ts'
import { ConcurrencyLimit } from './concurrency-limit.ts'
import { hashText } from './hash.ts'
import { Latency } from './latency.ts'

const FAILING: Backoff = { firstMs: 5_000, mostMs: 300_000 }
/** A key that was refused is asked again seldom, but is: accounts are paid, permissions given. */
const UNAUTHORISED: Backoff = { firstMs: 60_000, mostMs: 1_800_000 }
/** For providers that say "too much" and not for how long. */
const RATE_LIMITED: Backoff = { firstMs: 1_000, mostMs: 60_000 }
/** What a header may ask for at most: a day's quota. */
const MAX_COOLING_MS = 86_400_000
const SHRINK_EPISODE_MS = 1_000
/** Below this share of its limits a key's score gets worse. */
const SCARCE = 0.2
const SCARCEST = 0.02

const FAULTS = { failed: 'its calls fail', unreachable: 'its provider cannot be reached' } as const

/** What is known of a provider as a whole; survives snapshots. */
export class ProviderState {
  readonly id: string
  readonly breaker = new CircuitBreaker()
  readonly keys = new Set<KeyState>()

  constructor(id: string) {
    this.id = id
  }

  /** Whether a connection came about; a provider that cannot be reached is found out over all of its keys. True when the breaker has changed. */
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

/** What is known of an upstream key beyond its configuration; survives snapshots. */
export class KeyState {
  readonly id: string
  readonly hash: number
  provider: ProviderState
  /** Of the latest snapshot. */
  credential: string
  enabled = true
  readonly breaker = new CircuitBreaker()
  readonly concurrency = new ConcurrencyLimit()
  readonly latency = new Latency()
  /** Expires when the key may be used again, if somebody waits for it. */
  readonly wake: Deadline
  inFlight = 0
  /** Requests in the queue that it could serve. */
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

  /** Until when the provider's word keeps us away, Unix milliseconds; not in the future when it does not. */
  get coolingUntilMs(): number {
    return Math.max(this.#coolingUntilMs, this.#spentUntilMs)
  }

  /** Its breaker is open because its credential was refused. */
  get unauthorised(): boolean {
    return this.#unauthorised && !this.breaker.closed
  }

  /** The key has another credential: what was learned of the old one says nothing. */
  renew(credential: string): void {
    this.credential = credential
    this.#coolingUntilMs = 0
    this.#spentUntilMs = 0
    this.#headroom = null
    this.#unauthorised = false
    this.breaker.close()
  }

  /** From 1, worse the less the provider says is left. */
  scarcity(nowMs: number): number {
    const headroom = this.#headroom
    if (headroom === null || headroom.resetAtMs <= nowMs || headroom.left >= SCARCE) return 1
    return SCARCE / Math.max(SCARCEST, headroom.left)
  }

  learnHeadroom(headroom: Headroom, nowMs: number, announce: Announce): void {
    this.#headroom = headroom
    const untilMs = headroom.left > 0 ? 0 : Math.min(headroom.resetAtMs, nowMs + MAX_COOLING_MS)
    if (untilMs > nowMs && untilMs > this.#spentUntilMs) announce('cooling', untilMs, 'nothing left of its limits')
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

  /** The probe has shown that the key works, or that it does not. */
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
        announce(
          'breaker-open',
          this.breaker.openUntilMs,
          `${FAULTS[outcome.kind]}, also the one that tried whether it works again`,
        )
    }
  }

  /** What another front process has learned. */
  hear({ kind, untilMs }: KeyHealthEvent, nowMs: number): void {
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
        return
      case 'shrink':
        // One cut per episode, however many fronts tell of it.
        this.concurrency.shrink(this.inFlight, nowMs - SHRINK_EPISODE_MS, nowMs)
    }
  }

  #learnRateLimit(retryAfterSeconds: number | null, nowMs: number, startedAtMs: number, announce: Announce): void {
    // Of several calls that were one too many at the same time, the first one counts.
    if (this.concurrency.shrink(this.inFlight, startedAtMs, nowMs)) {
      this.#rateLimitsInARow += 1
      announce('shrink', nowMs, `${this.inFlight} at a time were too many`)
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
