import type { LeaseState, WindowCharges } from '../../shared/core/allowance.ts'
import { bucketOf, WINDOW_SECONDS } from '../../shared/core/allowance.ts'
import { LeasedAmount } from './leased-amount.ts'
import { REFUSAL_MS } from './leased-limit.ts'
import type { LeaseChannel, Reunion, Refusal } from './leased-limit.ts'
import { HALF_EVEN_MS, WindowUse } from './window-use.ts'

/** Leases of rate limits last longer than others, for when Redis goes away. */
const SHARED_BUSY_MS = 16_000
/** When a client should come back to a limit that admits nothing without its authority. */
const CLOSED_RETRY_MS = 1_000

/** A rate limit: requests or tokens in any 60 seconds. */
export class LeasedRate extends LeasedAmount<WindowUse> {
  readonly kind = 'rate'

  constructor(id: string, limit: number, channel: LeaseChannel) {
    super(id, limit, channel, new WindowUse())
  }

  override lost(nowMs: number): void {
    this.use.lost(nowMs, this.free)
    super.lost(nowMs)
  }

  override expire(): void {
    this.use.expired(this.free)
    this.available = 0
  }

  /** An authority that remembers has booked the lease as used when the connection broke, unless it keeps leases. */
  override resume({ remembers, keepsLeases, awayMs }: Reunion, nowMs: number): LeaseState {
    if (remembers && !keepsLeases) this.available = 0
    if (awayMs >= HALF_EVEN_MS) this.use.keepEven(nowMs)
    // The next message reports what was consumed since.
    const unreported = remembers && keepsLeases ? this.use.consumed : 0
    const used = this.use.resume(remembers, nowMs, keepsLeases)
    return { allowance: this.id, kind: this.kind, limit: this.limit, held: this.held + unreported, used }
  }

  /** The use of the last minute; none when there was none. */
  windowCharges(nowMs: number): WindowCharges[] {
    const used = this.use.charges(nowMs)
    return used.length === 0 ? [] : [{ allowance: this.id, limit: this.limit, used }]
  }

  protected override get busyMs(): number {
    return this.channel.isShared ? SHARED_BUSY_MS : super.busyMs
  }

  protected override takeAlone(need: number, nowMs: number): 'taken' | Refusal {
    if (this.takeIfLeased(need, nowMs)) return 'taken'
    if (this.channel.authorityAnswers) return { retryAtMs: nowMs + REFUSAL_MS }
    const mode = this.channel.degradedModeOf(this.id)
    if (mode === 'closed') return { retryAtMs: nowMs + CLOSED_RETRY_MS }
    const retryAtMs =
      mode === 'open' ? 0 : this.channel.isShared ? this.#takePart(need, nowMs) : this.#takeShare(need, nowMs)
    if (retryAtMs > 0) return { retryAtMs }
    this.use.takeUnasked(need)
    this.correct(bucketOf(nowMs), need)
    return 'taken'
  }

  /** Without Redis. Returns 0, or when enough may be there. */
  #takePart(need: number, nowMs: number): number {
    const { processes, awaySinceMs, isAwayForAll } = this.channel
    const part = this.channel.mayTakeUnasked(this.id) ? Math.floor(this.limit / (2 * processes)) : 0
    const terms = { limit: this.limit, processes, part, free: this.free, awaySinceMs, mayReuse: isAwayForAll }
    return this.use.takeAlone(need, terms, nowMs)
  }

  /** Without the control process of this machine. Returns 0, or when enough may be there. */
  #takeShare(need: number, nowMs: number): number {
    const { processes } = this.channel
    // Nobody else takes of it: this process knows all that is used.
    if (processes === 1 && need <= this.remaining(nowMs)) return 0
    const seconds = this.use.secondsUntil(need, this.limit / processes, nowMs)
    if (seconds > 0) return nowMs + Math.min(seconds, WINDOW_SECONDS + 1) * 1000
    return this.use.unaskedAtMs(need, { limit: this.limit, parts: processes }, nowMs)
  }
}
