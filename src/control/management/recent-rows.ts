import { randomBytes } from 'node:crypto'
import type { NewRows } from '../store/log-tail.ts'

/** The most rows that are kept for clients that come back. */
const MAX_ROWS = 4_000
const PLACE = /^([0-9a-f]{16})-(\d{1,15})$/

/**
 * The rows of the last reads of the log, for streams that could not take them at once and for clients that come back. A place counts
 * reads, not rows: a client learns nothing about the requests of others from it.
 */
export class RecentRows {
  readonly #name = randomBytes(8).toString('hex')
  readonly #reads: Array<NewRows & { readonly place: number }> = []
  #rows = 0
  #place = 0
  /** All reads after this one are kept. */
  #completeFrom = 0

  /** The place after the last read. */
  get place(): number {
    return this.#place
  }

  add(read: NewRows): void {
    this.#place += 1
    if (read.rows.length === 0 && read.omitted === 0) return
    this.#reads.push({ ...read, place: this.#place })
    this.#rows += read.rows.length
    while (this.#rows > MAX_ROWS) {
      const oldest = this.#reads.shift()
      if (oldest === undefined) return
      this.#rows -= oldest.rows.length
      this.#completeFrom = oldest.place
    }
  }

  /** Returns the reads after a place, the oldest first, and whether some of them are not kept any more. */
  after(place: number): { readonly reads: readonly NewRows[]; readonly isComplete: boolean } {
    return { reads: this.#reads.filter((read) => read.place > place), isComplete: place >= this.#completeFrom }
  }

  /** Names a place for clients. */
  idOf(place: number): string {
    return `${this.#name}-${place}`
  }

  /** Returns the place that `idOf` named. Null when another process named it, or when rows after it are not kept any more. */
  placeOf(id: string): number | null {
    const [, name, digits] = PLACE.exec(id) ?? []
    const place = Number(digits)
    return name === this.#name && place >= this.#completeFrom && place <= this.#place ? place : null
  }
}
