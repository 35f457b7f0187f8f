export interface RetryBudgetOptions {
  /** Retries at a time that are always allowed. */
  readonly least: number
  /** And as many as this share of the requests under way, 0 to 1. */
  readonly share: number
}

/** Bounds the retries under way: when all upstreams fail, retrying everything would multiply the load on them. */
export class RetryBudget {
  readonly #options: RetryBudgetOptions
  #active = 0
  #retries = 0

  constructor(options: RetryBudgetOptions) {
    this.#options = options
  }

  begin(): void {
    this.#active += 1
  }

  end(): void {
    this.#active -= 1
  }

  /** False when there are too many already; else `giveBack` when the retry is over. */
  take(): boolean {
    if (this.#retries >= Math.max(this.#options.least, this.#options.share * this.#active)) return false
    this.#retries += 1
    return true
  }

  giveBack(): void {
    this.#retries -= 1
  }
}
