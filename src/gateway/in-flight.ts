import type { Clock } from '../core/clock.ts'

/** Weight of the newest request in the average duration. */
const NEWEST = 0.05
const MAX_WAIT_SECONDS = 60

/** Bounds the AI requests that a front has under way. */
export class InFlightLimit {
  readonly #max: number
  readonly #clock: Clock
  #count = 0
  #averageUs = 0

  constructor(max: number, clock: Clock) {
    this.#max = max
    this.#clock = clock
  }

  get count(): number {
    return this.#count
  }

  /** Runs `work` in a place; null, without running it, when all are taken. */
  run(work: () => Promise<void>): Promise<void> | null {
    if (this.#count >= this.#max) return null
    this.#count += 1
    const startUs = this.#clock.monotonicUs()
    return work().finally(() => {
      this.#count -= 1
      this.#averageUs += (this.#clock.monotonicUs() - startUs - this.#averageUs) * NEWEST
    })
  }

  /** As long as a request takes at the moment: by then those that are under way have given their places up. */
  get retryAfterSeconds(): number {
    return Math.min(MAX_WAIT_SECONDS, Math.max(1, Math.ceil(this.#averageUs / 1_000_000)))
  }
}
