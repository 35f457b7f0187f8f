import type { AllowanceState, HoldingState } from '../core/allowance.ts'
import { WINDOW_SECONDS } from '../core/allowance.ts'
import { SlidingWindow } from '../core/sliding-window.ts'

/** Of a limit, left alone for what others may have leased when the authority was lost. */
const UNKNOWN_PART = 0.05
/** What others held when the authority spoke last is used up, or expired and out of the window, after this. */
export const OUTDATED_MS = (WINDOW_SECONDS + 22) * 1000

/** Others may use a limit so many times faster than it allows in the long run, as far as is reckoned with. */
const BURST = 2.5

/** How a process stands that has no authority. */
export interface AloneTerms {
  readonly limit: number
  /** Processes that share the limit. */
  readonly parts: number
  /** When the authority was lost, Unix milliseconds; null: there has been none since this process began. */
  readonly lostMs: number | null
  /** Since when requests come to this process, Unix milliseconds. */
  readonly servingSinceMs: number
}

/** What this process used of a window: all of the last minute, and what of it the authority has not been told yet. */
export class WindowUse {
  readonly #window = new SlidingWindow()
  /** Since the last report, by cell: what was drawn from leases, and corrections. */
  readonly #charges = new Map<number, [drawn: number, correction: number]>()
  /** Reported, and not yet in what the authority says. */
  #unacknowledged = 0
  #said: AllowanceState | null = null
  #saidMs = 0
  /** When the authority was lost, or first did not answer; null while it speaks. */
  #aloneSinceMs: number | null = null
  /** Used in the minute before that, and held at that moment. */
  #ownThen = 0

  get hasCharges(): boolean {
    return this.#charges.size > 0
  }

  charge(cell: number, drawn: number, correction: number, nowMs: number): void {
    this.#window.correct(cell, drawn + correction, nowMs)
    const charge = this.#charges.get(cell)
    if (charge === undefined) this.#charges.set(cell, [drawn, correction])
    else {
      charge[0] += drawn
      charge[1] += correction
    }
  }

  /** Takes back what was drawn; false when it has been reported already. */
  undo(cell: number, drawn: number, nowMs: number): boolean {
    const charge = this.#charges.get(cell)
    if (charge === undefined || charge[0] < drawn) return false
    charge[0] -= drawn
    this.#window.correct(cell, -drawn, nowMs)
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

  learn(state: AllowanceState, nowMs: number): void {
    this.#said = state
    this.#saidMs = nowMs
    this.#aloneSinceMs = null
  }

  /** The authority does not answer. @param held of its leases, and not used */
  goesAlone(held: number, nowMs: number): void {
    if (this.#aloneSinceMs !== null) return
    this.#aloneSinceMs = nowMs
    this.#ownThen = this.#window.used(nowMs) + held
  }

  /**
   * How much this process may use in any minute without an authority: as much as it had used and held when the authority was lost,
   * which is never more than the limit over all processes, and its part of what was spare then; in the end its share of the limit,
   * which is never passed. What others used before the loss has left the window by then.
   */
  mostAlone({ limit, parts, lostMs, servingSinceMs }: AloneTerms, nowMs: number): number {
    const share = limit / parts
    const aloneSinceMs = this.#aloneSinceMs ?? lostMs
    if (aloneSinceMs === null || nowMs >= aloneSinceMs + OUTDATED_MS) return share
    const silentMs = aloneSinceMs - (this.#said === null ? servingSinceMs : this.#saidMs)
    return Math.min(share, this.#ownThen + Math.max(0, this.#spare(limit, silentMs)) / parts)
  }

  /** What nobody had used or leased when the authority was lost, as far as it can be known after so long without news. */
  #spare(limit: number, silentMs: number): number {
    // Who asks nothing here for a whole window asks nothing of others either.
    if (silentMs >= WINDOW_SECONDS * 1000) return limit
    if (this.#said === null) return limit * UNKNOWN_PART
    return this.#said.left - limit * (UNKNOWN_PART + (BURST * silentMs) / (WINDOW_SECONDS * 1000))
  }

  /** The charges since the last report, which is now made. */
  report(): Array<readonly [cell: number, drawn: number, correction: number]> {
    const charges = [...this.#charges].map(([cell, [drawn, correction]]) => {
      this.#unacknowledged += drawn + correction
      return [cell, drawn, correction] as const
    })
    this.#charges.clear()
    return charges
  }

  acknowledged(amount: number, state: AllowanceState | null, nowMs: number): void {
    this.#unacknowledged -= amount
    if (state !== null) this.learn(state, nowMs)
  }

  /** The authority is away: what was under way to it will not be acknowledged. @param held of its leases, and not used */
  lost(held: number, nowMs: number): void {
    this.#unacknowledged = 0
    this.#aloneSinceMs = null
    this.goesAlone(held, nowMs)
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
