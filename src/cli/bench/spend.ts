/** Dollars per token. */
export interface Price {
  readonly prompt: number
  readonly completion: number
}

/** Counts what the requests cost, by the tokens that the answers report. */
export class Spend {
  readonly #price: Price | null
  #dollars = 0

  /** @param price null: not known; a price of 0 is known */
  constructor(price: Price | null) {
    this.#price = price
  }

  add(promptTokens: number, completionTokens: number): void {
    if (this.#price === null) return
    this.#dollars += promptTokens * this.#price.prompt + completionTokens * this.#price.completion
  }

  /** Null: the price is not known. */
  get dollars(): number | null {
    return this.#price === null ? null : this.#dollars
  }
}
