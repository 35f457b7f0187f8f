const MAX_SECONDS = 30
/** Share of what is served that may be attempts of those who were refused. */
const RETRY_SHARE = 0.25

/**
 * How long the refused are asked to stay away: so long that their attempts, spread over that time, are a quarter of what is
 * served. Those who wait are as many as were refused per second, times the seconds they were told.
 */
export class RetryAfter {
  #seconds = 1
  #told = 0

  get seconds(): number {
    return this.#seconds
  }

  /** For the next one that is refused: those refused together do not come back together. */
  next(): number {
    this.#told += 1
    return Math.min(MAX_SECONDS, this.#seconds + (this.#told % (this.#seconds + 1)))
  }

  /** Once a second, with what happened in it. @param meanSeconds how long a request takes */
  update(served: number, refused: number, meanSeconds: number): void {
    const waiting = refused * this.#seconds
    const wanted = Math.max(waiting / Math.max(1, served * RETRY_SHARE), refused > 0 ? meanSeconds : 0)
    this.#seconds = Math.min(MAX_SECONDS, Math.max(1, Math.ceil(Math.min(wanted, this.#seconds * 2))))
  }
}
