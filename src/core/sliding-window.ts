import { WINDOW_SECONDS } from './allowance.ts'

/**
 * One bucket more than the window has seconds: a charge made at the end of its second is still held when the same moment
 * of that second comes round, so that no real 60-second window ever sees more than the limit. It costs 1 % of what an exact
 * limiter would admit.
 */
const BUCKETS = WINDOW_SECONDS + 1

/** What was used in the last minute, in sub-buckets of a second. Amounts may be corrected later, in the bucket they were taken from. */
export class SlidingWindow {
  readonly #amounts = new Float64Array(BUCKETS)
  #second = 0
  #used = 0

  /** The amount used in the window that ends now. */
  used(nowMs: number): number {
    this.#advance(nowMs)
    return this.#used
  }

  /** Takes `amount` and answers the second it was booked under, or null when it does not fit under `limit`. */
  take(amount: number, limit: number, nowMs: number): number | null {
    this.#advance(nowMs)
    if (this.#used + amount > limit) return null
    this.#add(this.#second, amount)
    return this.#second
  }

  /** Books `delta` more (or less) under a second; nothing when that second has left the window. A second to come moves it on. */
  correct(second: number, delta: number, nowMs: number): void {
    this.#advance(Math.max(nowMs, second * 1000))
    if (second > this.#second - BUCKETS) this.#add(second, delta)
  }

  /** Seconds until `amount` fits under `limit`; 0 when it fits now, Infinity when it never will. */
  secondsUntil(amount: number, limit: number, nowMs: number): number {
    this.#advance(nowMs)
    if (amount > limit) return Infinity
    let used = this.#used
    for (let age = BUCKETS - 1; age >= 0 && used + amount > limit; age--) {
      used -= this.#amounts[(this.#second - age + BUCKETS) % BUCKETS] ?? 0
      if (used + amount <= limit) return this.#second - age + BUCKETS - nowMs / 1000
    }
    return 0
  }

  /** Seconds until nothing is left in the window. */
  secondsUntilEmpty(nowMs: number): number {
    this.#advance(nowMs)
    for (let age = 0; age < BUCKETS; age++) {
      if ((this.#amounts[(this.#second - age + BUCKETS) % BUCKETS] ?? 0) > 0) {
        return this.#second - age + BUCKETS - nowMs / 1000
      }
    }
    return 0
  }

  /** The seconds in the window that hold something, oldest first. */
  charges(nowMs: number): Array<readonly [second: number, amount: number]> {
    this.#advance(nowMs)
    const charges: Array<readonly [number, number]> = []
    for (let age = BUCKETS - 1; age >= 0; age--) {
      const second = this.#second - age
      const amount = second < 0 ? 0 : (this.#amounts[second % BUCKETS] ?? 0)
      if (amount > 0) charges.push([second, amount])
    }
    return charges
  }

  #add(second: number, amount: number): void {
    const index = second % BUCKETS
    const before = this.#amounts[index] ?? 0
    const after = Math.max(0, before + amount)
    this.#amounts[index] = after
    this.#used += after - before
  }

  /** A clock that went back leaves the window where it was. */
  #advance(nowMs: number): void {
    const second = Math.floor(nowMs / 1000)
    if (second <= this.#second) return
    const steps = Math.min(second - this.#second, BUCKETS)
    for (let i = 0; i < steps; i++) {
      const index = (second - i) % BUCKETS
      this.#used -= this.#amounts[index] ?? 0
      this.#amounts[index] = 0
    }
    if (steps === BUCKETS) this.#used = 0
    this.#second = second
  }
}
