const MAX_KINDS = 20

/** Counts problems by their text, in bounded memory. */
export class Problems {
  readonly #counts = new Map<string, number>()
  #others = 0

  add(text: string): void {
    const count = this.#counts.get(text)
    if (count !== undefined) this.#counts.set(text, count + 1)
    else if (this.#counts.size < MAX_KINDS) this.#counts.set(text, 1)
    else this.#others += 1
  }

  /** The most frequent ones first. */
  get lines(): string[] {
    const lines = [...this.#counts]
      .sort(([, a], [, b]) => b - a)
      .map(([text, count]) => (count === 1 ? text : `${text} (${count} times)`))
    return this.#others === 0 ? lines : [...lines, `${this.#others} further problems`]
  }
}
