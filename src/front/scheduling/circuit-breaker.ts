/** `due`: open for long enough, one call may find out whether it works again; `probing`: that call is under way. */
export type BreakerState = 'closed' | 'open' | 'due' | 'probing'

/** How long a breaker stays open the first time, and at most: it doubles with each probe that fails. */
export interface Backoff {
  readonly firstMs: number
  readonly mostMs: number
}

const FAILURES_TO_OPEN = 5

/**
 * ```
 *            failures                 time                    beginProbe
 *  closed ───────────────► open ───────────────► due ───────────────────► probing
 *     ▲                      ▲                    ▲    abandoned           │   │
 *     │                      │                    └────────────────────────┤   │
 *     │                      └──────────────── fails, twice as long ───────┘   │
 *     └──────────────────────────────── succeeds ──────────────────────────────┘
 * ```
 * While it is not closed, only the probe counts: calls that began before say how it was, not how it is.
 */
export class CircuitBreaker {
  #failures = 0
  #closed = true
  #probing = false
  #openings = 0
  #openUntilMs = 0

  get closed(): boolean {
    return this.#closed
  }

  /** Unix milliseconds; 0 when closed. */
  get openUntilMs(): number {
    return this.#openUntilMs
  }

  state(nowMs: number): BreakerState {
    if (this.#closed) return 'closed'
    if (this.#probing) return 'probing'
    return nowMs < this.#openUntilMs ? 'open' : 'due'
  }

  beginProbe(): void {
    this.#probing = true
  }

  /** The probe said nothing. */
  abandonProbe(): void {
    this.#probing = false
  }

  /** One failure more; opens after five in a row. True when it has opened now. */
  fail(nowMs: number, backoff: Backoff): boolean {
    this.#failures += 1
    if (!this.#closed || this.#failures < FAILURES_TO_OPEN) return false
    this.open(nowMs, backoff)
    return true
  }

  open(nowMs: number, { firstMs, mostMs }: Backoff): void {
    this.openUntil(nowMs + Math.min(mostMs, firstMs * 2 ** this.#openings))
    this.#openings += 1
  }

  openUntil(untilMs: number): void {
    this.#closed = false
    this.#probing = false
    this.#openUntilMs = untilMs
  }

  /** A call that began while closed went well. */
  succeed(): void {
    if (this.#closed) this.#failures = 0
  }

  close(): void {
    this.#closed = true
    this.#probing = false
    this.#failures = 0
    this.#openings = 0
    this.#openUntilMs = 0
  }
}
