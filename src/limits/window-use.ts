import type { AllowanceState, HoldingState } from '../core/allowance.ts'
import { SlidingWindow } from '../core/sliding-window.ts'

/** What this process used of a window: all of the last minute, and what of it the authority has not been told yet. */
export class WindowUse {
  readonly #window = new SlidingWindow()
  /** Since the last report, by second: what was drawn from leases, and corrections. */
  readonly #charges = new Map<number, [drawn: number, correction: number]>()
  /** Reported, and not yet in what the authority says. */
  #unacknowledged = 0
  #said: AllowanceState | null = null

  get hasCharges(): boolean {
    return this.#charges.size > 0
  }

  charge(second: number, drawn: number, correction: number, nowMs: number): void {
    this.#window.correct(second, drawn + correction, nowMs)
    const charge = this.#charges.get(second)
    if (charge === undefined) this.#charges.set(second, [drawn, correction])
    else {
      charge[0] += drawn
      charge[1] += correction
    }
  }

  /** Takes back what was drawn; false when it has been reported already. */
  undo(second: number, drawn: number, nowMs: number): boolean {
    const charge = this.#charges.get(second)
    if (charge === undefined || charge[0] < drawn) return false
    charge[0] -= drawn
    this.#window.correct(second, -drawn, nowMs)
    return true
  }

  /** Used by everybody, as far as is known here. */
  known(nowMs: number): number {
    let unreported = 0
    for (const [drawn, correction] of this.#charges.values()) unreported += drawn + correction
    return Math.max(this.#window.used(nowMs), (this.#said?.used ?? 0) + this.#unacknowledged + unreported)
  }

  secondsUntilEmpty(nowMs: number): number {
    return Math.max(0, this.#window.secondsUntilEmpty(nowMs), ((this.#said?.emptyAtMs ?? 0) - nowMs) / 1000)
  }

  /** Until `amount` fits under a limit of what this process alone used. */
  secondsUntil(amount: number, limit: number, nowMs: number): number {
    return this.#window.secondsUntil(amount, limit, nowMs)
  }

  learn(state: AllowanceState): void {
    this.#said = state
  }

  /** The charges since the last report, which is now made. */
  report(): Array<readonly [second: number, drawn: number, correction: number]> {
    const charges = [...this.#charges].map(([second, [drawn, correction]]) => {
      this.#unacknowledged += drawn + correction
      return [second, drawn, correction] as const
    })
    this.#charges.clear()
    return charges
  }

  acknowledged(amount: number, state: AllowanceState | null): void {
    this.#unacknowledged -= amount
    if (state !== null) this.#said = state
  }

  /** The authority is away: what was under way to it will not be acknowledged. */
  lost(): void {
    this.#unacknowledged = 0
  }

  /**
   * What an authority must be told anew. One that remembers has booked, when the connection broke, all that was leased as used:
   * to it the draws are no news.
   */
  resume(remembers: boolean, nowMs: number): HoldingState['used'] {
    if (!remembers) {
      this.#charges.clear()
      return this.#window.charges(nowMs)
    }
    for (const charge of this.#charges.values()) charge[0] = 0
    return []
  }
}
