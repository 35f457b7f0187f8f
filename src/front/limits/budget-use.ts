import type { AllowanceState, HoldingState } from '../../shared/core/allowance.ts'

/** What this process used of a budget: in all, and what of it the authority has not been told yet. */
export class BudgetUse {
  /** Of this process and no other, since it began. */
  #total = 0
  #knowsTotal = false
  #drawn = 0
  #correction = 0
  /** Reported, and not yet in what the authority says. */
  #unacknowledged = 0
  #said: AllowanceState | null = null

  /** Told with the total. */
  readonly drawn = 0

  get hasCharges(): boolean {
    return this.#drawn !== 0 || this.#correction !== 0
  }

  charge(_cell: number, drawn: number, correction: number): void {
    this.#total += drawn + correction
    this.#drawn += drawn
    this.#correction += correction
  }

  /** Takes back what was drawn; false when it has been reported already. */
  undo(_cell: number, drawn: number): boolean {
    if (this.#drawn < drawn) return false
    this.#drawn -= drawn
    this.#total -= drawn
    return true
  }

  /** Used by everybody, as far as is known here. */
  known(): number {
    return (this.#said?.used ?? 0) + this.#unacknowledged + this.#drawn + this.#correction
  }

  secondsUntilEmpty(): number {
    return 0
  }

  secondsUntil(): number {
    return Infinity
  }

  learn(state: AllowanceState & { readonly charged?: number }): void {
    this.#said = state
    if (this.#knowsTotal || state.charged === undefined) return
    this.#knowsTotal = true
    this.#total += state.charged
  }

  /** The charges since the last report, which is now made. */
  report(): Array<readonly [cell: number, drawn: number, correction: number]> {
    if (!this.hasCharges) return []
    const [drawn, correction] = [this.#drawn, this.#correction]
    this.#unacknowledged += drawn + correction
    this.#drawn = 0
    this.#correction = 0
    return [[0, drawn, correction]]
  }

  acknowledged(amount: number, state: AllowanceState | null): void {
    this.#unacknowledged -= amount
    if (state !== null) this.#said = state
  }

  lost(): void {
    this.#unacknowledged = 0
  }

  /** The total says it all, whatever was under way; nothing is said before it is known. */
  resume(): HoldingState['used'] {
    this.#drawn = 0
    this.#correction = 0
    return this.#knowsTotal ? [[0, this.#total]] : []
  }
}
