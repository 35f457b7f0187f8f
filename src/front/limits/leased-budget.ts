import type { LeaseState } from '../../shared/core/allowance.ts'
import { BudgetUse } from './budget-use.ts'
import { LeasedAmount } from './leased-amount.ts'
import type { LeaseChannel, Reunion, Refusal } from './leased-limit.ts'

/** As long as a control process may take to restart: no process decides about a budget by itself. */
const BLOCK_MS = 30_000
/** A busy budget is leased this many prefetches ahead: the lease should last while a control process restarts. */
const PREFETCHED_SLICES = 16
const FORGET_MS = 24 * 3_600_000

/** A budget: spend that never comes back. The database knows the truth. */
export class LeasedBudget extends LeasedAmount<BudgetUse> {
  readonly kind = 'budget'

  constructor(id: string, limit: number, channel: LeaseChannel) {
    super(id, limit, channel, new BudgetUse())
  }

  override lost(nowMs: number): void {
    this.use.lost()
    super.lost(nowMs)
  }

  /** A lease of a budget counts as used until this process says what it used. */
  override expire(): void {}

  /** What the process tells replaces whatever the authority remembers. */
  override resume(_reunion: Reunion, _nowMs: number): LeaseState {
    return { allowance: this.id, kind: this.kind, limit: this.limit, held: this.held, used: this.use.resume() }
  }

  protected override get forgetMs(): number {
    return FORGET_MS
  }

  protected override get blockMs(): number {
    return BLOCK_MS
  }

  protected override get fallsBack(): boolean {
    return false
  }

  protected override sliceOf(prefetch: number): number {
    return prefetch > 1 ? prefetch * PREFETCHED_SLICES : prefetch
  }

  protected override takeBeyond(): 'ask' {
    return 'ask'
  }

  protected override takeAlone(need: number, nowMs: number): 'taken' | Refusal {
    return this.takeIfLeased(need, nowMs) ? 'taken' : { retryAtMs: nowMs + 1000, isUnknown: true }
  }
}
