export interface RetryBudgetOptions {
  /** This many concurrent retries are always allowed. */
  readonly least: number
  /** Retries may also be this share of the requests in flight, 0 to 1. */
  readonly share: number
}

/** Bounds concurrent retries: when all upstreams fail, retrying every request would multiply their load. */
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

  /** Takes one retry, which `giveBack` returns. False when the budget is used up. */
  take(): boolean {
    if (this.#retries >= Math.max(this.#options.least, this.#options.share * this.#active)) return false
    this.#retries += 1
    return true
  }

  giveBack(): void {
    this.#retries -= 1
  }
}
