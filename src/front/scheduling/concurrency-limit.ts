const DECREASE = 0.7

/**
 * The number of concurrent calls that a key accepts, as learned. A rate-limited call cuts it; each round of answers raises it
 * by one. The limit ends when it reaches the slots that this process holds.
 */
export class ConcurrencyLimit {
  #limit = Infinity
  #shrunkAtMs = -Infinity

  /** Whole calls; Infinity: no limit has been learned. */
  get limit(): number {
    return this.#limit === Infinity ? Infinity : Math.floor(this.#limit)
  }

  /** Cuts the limit. Returns false for a call that began before the last cut: the cut already accounts for it. */
  shrink(inFlight: number, startedAtMs: number, nowMs: number): boolean {
    if (startedAtMs <= this.#shrunkAtMs) return false
    this.#shrunkAtMs = nowMs
    this.#limit = Math.max(1, Math.min(this.#limit, inFlight) * DECREASE)
    return true
  }

  /** A call succeeded. @param held slots of the key that this process holds */
  grow(held: number): void {
    if (this.#limit === Infinity) return
    this.#limit += 1 / this.#limit
    if (this.#limit >= held) this.#limit = Infinity
  }
}
