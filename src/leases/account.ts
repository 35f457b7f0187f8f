import type { AllowanceKind, AllowanceState, LeaseAsk, LeaseGrant } from '../core/allowance.ts'
import { SlidingWindow } from '../core/sliding-window.ts'

/** Held leases move by decimals of a token: what is this close to the limit is at the limit. */
const TOLERANCE = 1e-6

export interface PendingAsk extends LeaseAsk {
  readonly holder: string
  /** The others have been asked for what they do not need. */
  recalled: boolean
}

/** One allowance as the authority sees it: what was used when, who holds what, who waits. */
export class Account {
  readonly id: string
  readonly kind: AllowanceKind
  limit: number
  readonly held = new Map<string, number>()
  /** In the order of asking; at most one of each holder. */
  pending: PendingAsk[] = []
  /** Holders that have been told to hand back what is free, and have not done so yet. */
  readonly recalls = new Set<string>()
  /** Holders that know that others wait, and how many places they may keep; until they are told that nobody does any more. */
  readonly told = new Map<string, number>()
  readonly #window: SlidingWindow | null
  #heldTotal = 0

  constructor(id: string, kind: AllowanceKind, limit: number) {
    this.id = id
    this.kind = kind
    this.limit = limit
    this.#window = kind === 'window' ? new SlidingWindow() : null
  }

  left(nowMs: number): number {
    return this.limit - this.#heldTotal - (this.#window?.used(nowMs) ?? 0) + TOLERANCE
  }

  hold(holder: string, amount: number): void {
    const before = this.held.get(holder) ?? 0
    // A holder can give no more back than it holds.
    const after = Math.max(0, before + amount)
    this.#heldTotal += after - before
    if (after > 0) this.held.set(holder, after)
    else this.held.delete(holder)
  }

  charge(second: number, amount: number, nowMs: number): void {
    this.#window?.correct(second, amount, nowMs)
  }

  /** What a holder still had is as good as used for a window, and free again for places. */
  forget(holder: string, nowMs: number): void {
    const amount = this.held.get(holder) ?? 0
    this.hold(holder, -amount)
    if (amount > 0) this.charge(Math.floor(nowMs / 1000), amount, nowMs)
    this.recalls.delete(holder)
    this.told.delete(holder)
    this.pending = this.pending.filter((ask) => ask.holder !== holder)
  }

  state(nowMs: number): AllowanceState {
    const window = this.#window
    return {
      allowance: this.id,
      used: window?.used(nowMs) ?? 0,
      emptyAtMs: window === null ? nowMs : nowMs + window.secondsUntilEmpty(nowMs) * 1000,
    }
  }

  granted(amount: number, nowMs: number): LeaseGrant {
    return { ...this.state(nowMs), amount, retryAtMs: 0 }
  }

  refused(need: number, nowMs: number): LeaseGrant {
    const seconds = this.#window?.secondsUntil(need, this.limit, nowMs) ?? 0
    return { ...this.state(nowMs), amount: 0, retryAtMs: Number.isFinite(seconds) ? nowMs + seconds * 1000 : nowMs }
  }

  isIdle(nowMs: number): boolean {
    return this.held.size === 0 && this.pending.length === 0 && (this.#window?.used(nowMs) ?? 0) === 0
  }
}
