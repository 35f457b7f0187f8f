import { CELL_MS, cellOf, WINDOW_CELLS } from '../core/allowance.ts'

/**
 * One cell more than the window has: a charge made at the end of its cell is still held when the same moment of that cell comes
 * round, so that no real 60-cell window ever sees more than the limit. It costs 0.4 % of what an exact limiter would admit.
 */
const CELLS = WINDOW_CELLS + 1

/** What was used in the last minute, in cells of a quarter of a cell. Amounts may be corrected later, in the cell they were taken from. */
export class SlidingWindow {
  readonly #amounts = new Float64Array(CELLS)
  #cell = 0
  #used = 0

  /** The amount used in the window that ends now. */
  used(nowMs: number): number {
    this.#advance(nowMs)
    return this.#used
  }

  /** Takes `amount` and answers the cell it was booked under, or null when it does not fit under `limit`. */
  take(amount: number, limit: number, nowMs: number): number | null {
    this.#advance(nowMs)
    if (this.#used + amount > limit) return null
    this.#add(this.#cell, amount)
    return this.#cell
  }

  /** Books `delta` more (or less) under a cell; nothing when that cell has left the window. A cell to come moves it on. */
  correct(cell: number, delta: number, nowMs: number): void {
    this.#advance(Math.max(nowMs, cell * CELL_MS))
    if (cell > this.#cell - CELLS) this.#add(cell, delta)
  }

  /** Seconds until `amount` fits under `limit`; 0 when it fits now, Infinity when it never will. */
  secondsUntil(amount: number, limit: number, nowMs: number): number {
    this.#advance(nowMs)
    if (amount > limit) return Infinity
    let used = this.#used
    for (let age = CELLS - 1; age >= 0 && used + amount > limit; age--) {
      used -= this.#amounts[(this.#cell - age + CELLS) % CELLS] ?? 0
      if (used + amount <= limit) return this.#secondsUntilGone(this.#cell - age, nowMs)
    }
    return 0
  }

  /** Seconds until nothing is left in the window. */
  secondsUntilEmpty(nowMs: number): number {
    this.#advance(nowMs)
    for (let age = 0; age < CELLS; age++) {
      if ((this.#amounts[(this.#cell - age + CELLS) % CELLS] ?? 0) > 0) {
        return this.#secondsUntilGone(this.#cell - age, nowMs)
      }
    }
    return 0
  }

  /** The cells in the window that hold something, oldest first. */
  charges(nowMs: number): Array<readonly [cell: number, amount: number]> {
    this.#advance(nowMs)
    const charges: Array<readonly [number, number]> = []
    for (let age = CELLS - 1; age >= 0; age--) {
      const cell = this.#cell - age
      const amount = cell < 0 ? 0 : (this.#amounts[cell % CELLS] ?? 0)
      if (amount > 0) charges.push([cell, amount])
    }
    return charges
  }

  #secondsUntilGone(cell: number, nowMs: number): number {
    return ((cell + CELLS) * CELL_MS - nowMs) / 1000
  }

  #add(cell: number, amount: number): void {
    const index = cell % CELLS
    const before = this.#amounts[index] ?? 0
    const after = Math.max(0, before + amount)
    this.#amounts[index] = after
    this.#used += after - before
  }

  /** A clock that went back leaves the window where it was. */
  #advance(nowMs: number): void {
    const cell = cellOf(nowMs)
    if (cell <= this.#cell) return
    const steps = Math.min(cell - this.#cell, CELLS)
    for (let i = 0; i < steps; i++) {
      const index = (cell - i) % CELLS
      this.#used -= this.#amounts[index] ?? 0
      this.#amounts[index] = 0
    }
    if (steps === CELLS) this.#used = 0
    this.#cell = cell
  }
}
