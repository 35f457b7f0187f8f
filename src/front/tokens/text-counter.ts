/** A longer text is sampled. This much takes a worker about a second at worst. */
const MAX_COUNTED_UNITS = 524_288
const PIECE_UNITS = 4_096

/**
 * Counts the tokens of many texts with bounded work. `totalUnits` is the length of all texts together in UTF-16 units. Beyond
 * `MAX_COUNTED_UNITS` it counts pieces spread evenly over the texts, and extrapolates to the others.
 */
export class TextCounter {
  readonly #countTokens: (text: string) => number
  readonly #share: number
  #credit = PIECE_UNITS
  #countedUnits = 0
  #countedTokens = 0

  constructor(countTokens: (text: string) => number, totalUnits: number) {
    this.#countTokens = countTokens
    this.#share = Math.min(1, MAX_COUNTED_UNITS / Math.max(1, totalUnits))
  }

  count(text: string): number {
    if (text.length <= PIECE_UNITS || this.#share === 1) return this.#countPiece(text)
    let tokens = 0
    for (let start = 0; start < text.length; start += PIECE_UNITS) {
      tokens += this.#countPiece(text.slice(start, start + PIECE_UNITS))
    }
    return tokens
  }

  #countPiece(piece: string): number {
    if (this.#share < 1) {
      this.#credit += piece.length * this.#share
      if (this.#credit < piece.length) return (piece.length * this.#countedTokens) / Math.max(1, this.#countedUnits)
      this.#credit -= piece.length
    }
    const tokens = this.#countTokens(piece)
    this.#countedUnits += piece.length
    this.#countedTokens += tokens
    return tokens
  }
}
