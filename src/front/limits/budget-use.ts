import type { AllowanceState, LeaseState } from '../../shared/core/allowance.ts'

/** What this process used of a budget: in all, and what of it the authority has not been told yet. */
export class BudgetUse {
  /** Of this process and no other, since it began. */
  #total = 0
  #knowsTotal = false
  #consumed = 0
  #correction = 0
  /** Reported, and not yet in what the authority says. */
  #unacknowledged = 0
  #said: AllowanceState | null = null

  get hasCharges(): boolean {
    return this.#consumed !== 0 || this.#correction !== 0
  }

  charge(_bucket: number, consumed: number, correction: number): void {
    this.#total += consumed + correction
    this.#consumed += consumed
    this.#correction += correction
  }

  /** Takes back what was consumed; false when it has been reported already. */
  undo(_bucket: number, consumed: number): boolean {
    if (this.#consumed < consumed) return false
    this.#consumed -= consumed
    this.#total -= consumed
    return true
  }

  /** Used by everybody, as far as is known here. */
  known(): number {
    return (this.#said?.used ?? 0) + this.#unacknowledged + this.#consumed + this.#correction
  }

  secondsUntilEmpty(): number {
    return 0
  }

  learn(state: AllowanceState & { readonly charged?: number }): void {
    this.#said = state
    if (this.#knowsTotal || state.charged === undefined) return
    this.#knowsTotal = true
    this.#total += state.charged
  }

  /** The charges since the last report, which is now made. */
  report(): Array<readonly [bucket: number, consumed: number, correction: number]> {
    if (!this.hasCharges) return []
    const [consumed, correction] = [this.#consumed, this.#correction]
    this.#unacknowledged += consumed + correction
    this.#consumed = 0
    this.#correction = 0
    return [[0, consumed, correction]]
  }

  acknowledged(amount: number, state: AllowanceState | null): void {
    this.#unacknowledged -= amount
    if (state !== null) this.#said = state
  }

  lost(): void {
    this.#unacknowledged = 0
  }

  /** The total says it all, whatever was under way; nothing is said before it is known. */
  resume(): LeaseState['used'] {
    this.#consumed = 0
    this.#correction = 0
    return this.#knowsTotal ? [[0, this.#total]] : []
  }
}
