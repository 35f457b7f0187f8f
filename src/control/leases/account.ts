import { bucketOf } from '../../shared/core/allowance.ts'
import type { AllowanceKind, AllowanceState, LeaseAsk, LeaseGrant } from '../../shared/core/allowance.ts'
import { SlidingWindow } from '../../shared/runtime/sliding-window.ts'
import { BudgetCount } from './budget-count.ts'

/** Held leases move by decimals of a token: what is this close to the limit is at the limit. */
const TOLERANCE = 1e-6
/** A budget that is forgotten must be read from the database again. */
const BUDGET_IDLE_MS = 24 * 3_600_000

export interface PendingAsk extends LeaseAsk {
  readonly holder: string
  /** The others have been asked for what they do not need. */
  reclaimed: boolean
}

/** One allowance as the authority sees it: what was used when, who holds what, who waits. */
export class Account {
  readonly id: string
  readonly kind: AllowanceKind
  limit: number
  /** When it was last asked for, told of or charged. */
  touchedMs = 0
  readonly held = new Map<string, number>()
  /** In the order of asking; at most one of each holder. */
  pending: PendingAsk[] = []
  /** Holders that have been told to hand back what is free, and have not done so yet. */
  readonly reclaims = new Set<string>()
  /** Holders that know that others wait, and how many slots each may keep, until they hear that nobody waits any more. */
  readonly told = new Map<string, number>()
  /** Concurrency: holders that may believe that fewer slots are free than there are. They decide by it while the authority is away. */
  readonly outdated = new Set<string>()
  /** Null for other kinds. */
  readonly budget: BudgetCount | null
  readonly #window: SlidingWindow | null
  #heldTotal = 0

  constructor(id: string, kind: AllowanceKind, limit: number) {
    this.id = id
    this.kind = kind
    this.limit = limit
    this.budget = kind === 'budget' ? new BudgetCount() : null
    this.#window = kind === 'rate' ? new SlidingWindow() : null
  }

  left(nowMs: number): number {
    return this.limit - this.#heldTotal - this.#used(nowMs) + TOLERANCE
  }

  hold(holder: string, amount: number): void {
    const before = this.held.get(holder) ?? 0
    // A holder can give no more back than it holds.
    const after = Math.max(0, before + amount)
    this.#heldTotal += after - before
    if (after > 0) this.held.set(holder, after)
    else this.held.delete(holder)
  }

  charge(writer: string, bucket: number, amount: number, nowMs: number): void {
    this.touchedMs = nowMs
    this.budget?.charge(writer, amount)
    this.#window?.correct(bucket, amount, nowMs)
  }

  /**
   * The slots of a holder are free again. Leases of other kinds count as used; of a budget until the journal of the holder
   * is closed, which it may be already: then the writer is null.
   */
  forget(holder: string, writer: string | null, nowMs: number): void {
    const amount = this.held.get(holder) ?? 0
    this.hold(holder, -amount)
    if (amount > 0 && (this.budget === null || writer !== null)) {
      this.charge(writer ?? '', bucketOf(nowMs), amount, nowMs)
    }
    this.reclaims.delete(holder)
    this.told.delete(holder)
    this.outdated.delete(holder)
    this.pending = this.pending.filter((ask) => ask.holder !== holder)
  }

  state(nowMs: number): AllowanceState {
    const window = this.#window
    return {
      allowance: this.id,
      used: this.#used(nowMs),
      left: Math.max(0, this.left(nowMs)),
      emptyAtMs: window === null ? nowMs : nowMs + window.secondsUntilEmpty(nowMs) * 1000,
    }
  }

  granted(writer: string, amount: number, nowMs: number): LeaseGrant {
    this.touchedMs = nowMs
    const grant = { ...this.state(nowMs), amount, retryAtMs: 0 }
    return this.budget === null ? grant : { ...grant, charged: this.budget.toldBy(writer) }
  }

  refused(need: number, nowMs: number): LeaseGrant {
    const seconds = this.#window?.secondsUntil(need, this.limit, nowMs) ?? 0
    return { ...this.state(nowMs), amount: 0, retryAtMs: Number.isFinite(seconds) ? nowMs + seconds * 1000 : nowMs }
  }

  isIdle(nowMs: number): boolean {
    if (this.held.size > 0 || this.pending.length > 0) return false
    return this.budget === null ? this.#used(nowMs) === 0 : nowMs - this.touchedMs > BUDGET_IDLE_MS
  }

  #used(nowMs: number): number {
    return this.#window?.used(nowMs) ?? this.budget?.used ?? 0
  }
}
