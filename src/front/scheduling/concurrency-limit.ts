const DECREASE = 0.7

/**
 * How many calls at a time a key has shown to take: cut when it says that it is too much, then one more per round of
 * answers until what is held of the key is allowed again.
 */
export class ConcurrencyLimit {
  #limit = Infinity
  #shrunkAtMs = -Infinity

  /** Whole calls; Infinity: nothing is known against the key. */
  get limit(): number {
    return this.#limit === Infinity ? Infinity : Math.floor(this.#limit)
  }

  /** False for a call that began before the last cut: it was one too many of then, not of now. */
  shrink(inFlight: number, startedAtMs: number, nowMs: number): boolean {
    if (startedAtMs <= this.#shrunkAtMs) return false
    this.#shrunkAtMs = nowMs
    this.#limit = Math.max(1, Math.min(this.#limit, inFlight) * DECREASE)
    return true
  }

  /** A call went well. */
  grow(held: number): void {
    if (this.#limit === Infinity) return
    this.#limit += 1 / this.#limit
    if (this.#limit >= held) this.#limit = Infinity
  }
}
