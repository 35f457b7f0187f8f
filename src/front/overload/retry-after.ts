const MAX_SECONDS = 30
/** Repeated attempts of refused clients may be this share of the requests served. */
const RETRY_SHARE = 0.25

/**
 * Computes `Retry-After`. Refused clients stay away long enough that their attempts, spread over that time, are
 * `RETRY_SHARE` of the requests served. The number of waiting clients is estimated as the requests refused per second, times
 * the seconds that they were told.
 */
export class RetryAfter {
  #seconds = 1
  #refusals = 0

  get seconds(): number {
    return this.#seconds
  }

  /** The seconds for the next refused request. They vary, so that clients refused together do not come back together. */
  next(): number {
    this.#refusals += 1
    return Math.min(MAX_SECONDS, this.#seconds + (this.#refusals % (this.#seconds + 1)))
  }

  /** Call it once a second, with the counts of that second. @param meanSeconds the mean duration of a request */
  update(served: number, refused: number, meanSeconds: number): void {
    const waiting = refused * this.#seconds
    const wanted = Math.max(waiting / Math.max(1, served * RETRY_SHARE), refused > 0 ? meanSeconds : 0)
    this.#seconds = Math.min(MAX_SECONDS, Math.max(1, Math.ceil(Math.min(wanted, this.#seconds * 2))))
  }
}
