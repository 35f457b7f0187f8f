/** Compares a stream of bytes with the expected bytes, piece by piece, and keeps neither. */
export class ExpectedBytes {
  offset = 0
  readonly #next: () => Buffer | null
  #piece: Buffer = Buffer.alloc(0)
  #at = 0

  /** @param next returns the next expected piece; null at the end */
  constructor(next: () => Buffer | null) {
    this.#next = next
  }

  /** Throws at the first byte that differs. */
  take(bytes: Buffer): void {
    let from = 0
    while (from < bytes.length) {
      if (this.#at === this.#piece.length && !this.#advance()) {
        throw new Error(`${bytes.length - from} bytes too many behind byte ${this.offset}`)
      }
      const length = Math.min(bytes.length - from, this.#piece.length - this.#at)
      if (bytes.compare(this.#piece, this.#at, this.#at + length, from, from + length) !== 0) this.#fail(bytes, from)
      this.#at += length
      this.offset += length
      from += length
    }
  }

  /** Throws when expected bytes are missing. */
  end(): void {
    if (this.#at < this.#piece.length || this.#advance()) throw new Error(`bytes missing from byte ${this.offset} on`)
  }

  #advance(): boolean {
    const piece = this.#next()
    if (piece === null) return false
    this.#piece = piece
    this.#at = 0
    return piece.length > 0 || this.#advance()
  }

  #fail(bytes: Buffer, from: number): never {
    let n = 0
    while (bytes[from + n] === this.#piece[this.#at + n]) n++
    const got = bytes.toString('latin1', from + n, from + n + 60)
    const wanted = this.#piece.toString('latin1', this.#at + n, this.#at + n + 60)
    throw new Error(
      `${JSON.stringify(got)} instead of ${JSON.stringify(wanted)} at byte ${this.offset + n} of the body`,
    )
  }
}
