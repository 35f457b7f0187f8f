import { BUCKET_MS } from '../../shared/core/allowance.ts'
import { CLOCK_SLACK_MS } from './redis-scripts.ts'

/** Clocks of machines drift apart by less than this per second. */
const DRIFT_MS_PER_SECOND = 0.2
const SECOND_MS = 1_000

/** How far the clock of Redis is ahead of this machine's, never told too small: a charge is booked late rather than early. */
export class ClockOffset {
  #mostMs: number | null = null
  #observedMs = 0
  #shift = 0

  /** A call was sent and its answer received at these times of this machine; in between Redis looked at its clock. */
  observe(sentMs: number, receivedMs: number, redisMs: number): void {
    const least = redisMs - receivedMs
    const most = redisMs - sentMs + 1
    const known = this.#mostMs
    if (known === null || least > known) this.#mostMs = most
    else {
      const drift = (Math.max(0, receivedMs - this.#observedMs) / SECOND_MS) * DRIFT_MS_PER_SECOND
      this.#mostMs = Math.min(most, known + drift)
    }
    this.#observedMs = receivedMs
    this.#adjust(this.#mostMs)
  }

  /** The bucket of Redis under which a charge made in a bucket of this machine is booked. */
  toRedisBucket(bucket: number): number {
    return bucket + this.#shift
  }

  toLocalMs(redisMs: number): number {
    return redisMs - (this.#mostMs ?? 0)
  }

  /** Steady, so that corrections meet the bucket they belong to: moves only when it would be too early, or a bucket too late. */
  #adjust(mostMs: number): void {
    const earliest = this.#shift * BUCKET_MS + CLOCK_SLACK_MS
    if (mostMs > earliest || mostMs < earliest - BUCKET_MS - CLOCK_SLACK_MS) {
      this.#shift = Math.ceil((mostMs - CLOCK_SLACK_MS) / BUCKET_MS)
    }
  }
}
