import { BUCKET_MS, bucketOf, WINDOW_BUCKETS } from '../core/allowance.ts'

/**
 * One bucket more than the window has: a charge made at the end of its bucket is still held when the same moment of that bucket comes
 * round, so that no real 60-bucket window ever sees more than the limit. It costs 0.4 % of what an exact limiter would admit.
 */
const BUCKETS = WINDOW_BUCKETS + 1

/** What was used in the last minute, in buckets of a quarter of a second. Amounts may be corrected later, in the bucket they were taken from. */
export class SlidingWindow {
  readonly #amounts = new Float64Array(BUCKETS)
  #bucket = 0
  #used = 0

  /** The amount used in the window that ends now. */
  used(nowMs: number): number {
    this.#advance(nowMs)
    return this.#used
  }

  /** Takes `amount` and answers the bucket it was booked under, or null when it does not fit under `limit`. */
  take(amount: number, limit: number, nowMs: number): number | null {
    this.#advance(nowMs)
    if (this.#used + amount > limit) return null
    this.#add(this.#bucket, amount)
    return this.#bucket
  }

  /** Books `delta` more (or less) under a bucket; nothing when that bucket has left the window. A bucket to come moves it on. */
  correct(bucket: number, delta: number, nowMs: number): void {
    this.#advance(Math.max(nowMs, bucket * BUCKET_MS))
    if (bucket > this.#bucket - BUCKETS) this.#add(bucket, delta)
  }

  /** Seconds until `amount` fits under `limit`; 0 when it fits now, Infinity when it never will. */
  secondsUntil(amount: number, limit: number, nowMs: number): number {
    this.#advance(nowMs)
    if (amount > limit) return Infinity
    let used = this.#used
    for (let age = BUCKETS - 1; age >= 0 && used + amount > limit; age--) {
      used -= this.#amounts[(this.#bucket - age + BUCKETS) % BUCKETS] ?? 0
      if (used + amount <= limit) return this.#secondsUntilGone(this.#bucket - age, nowMs)
    }
    return 0
  }

  /** Seconds until nothing is left in the window. */
  secondsUntilEmpty(nowMs: number): number {
    this.#advance(nowMs)
    for (let age = 0; age < BUCKETS; age++) {
      if ((this.#amounts[(this.#bucket - age + BUCKETS) % BUCKETS] ?? 0) > 0) {
        return this.#secondsUntilGone(this.#bucket - age, nowMs)
      }
    }
    return 0
  }

  /** The buckets in the window that hold something, oldest first. */
  charges(nowMs: number): Array<readonly [bucket: number, amount: number]> {
    this.#advance(nowMs)
    const charges: Array<readonly [number, number]> = []
    for (let age = BUCKETS - 1; age >= 0; age--) {
      const bucket = this.#bucket - age
      const amount = bucket < 0 ? 0 : (this.#amounts[bucket % BUCKETS] ?? 0)
      if (amount > 0) charges.push([bucket, amount])
    }
    return charges
  }

  #secondsUntilGone(bucket: number, nowMs: number): number {
    return ((bucket + BUCKETS) * BUCKET_MS - nowMs) / 1000
  }

  #add(bucket: number, amount: number): void {
    const index = bucket % BUCKETS
    const before = this.#amounts[index] ?? 0
    const after = Math.max(0, before + amount)
    this.#amounts[index] = after
    this.#used += after - before
  }

  /** A clock that went back leaves the window where it was. */
  #advance(nowMs: number): void {
    const bucket = bucketOf(nowMs)
    if (bucket <= this.#bucket) return
    const steps = Math.min(bucket - this.#bucket, BUCKETS)
    for (let i = 0; i < steps; i++) {
      const index = (bucket - i) % BUCKETS
      this.#used -= this.#amounts[index] ?? 0
      this.#amounts[index] = 0
    }
    if (steps === BUCKETS) this.#used = 0
    this.#bucket = bucket
  }
}
