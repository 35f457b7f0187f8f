/** `due`: the open time is over and one call may probe; `probing`: that call is in flight. */
export type BreakerState = 'closed' | 'open' | 'due' | 'probing'

/** The open time of a breaker: the first, and the longest. It doubles with each failed probe. */
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
 * While the breaker is not closed, only the probe counts: other calls began before it opened.
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

  /** The probe ended without a result. */
  abandonProbe(): void {
    this.#probing = false
  }

  /** Counts a failure, and opens after five in a row. Returns true when this call opened the breaker. */
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

  /** A call succeeded. Has no effect unless the breaker is closed. */
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
