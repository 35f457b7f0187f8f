import type { AllowanceState, LeaseGrant } from '../../shared/core/allowance.ts'
import { bucketOf } from '../../shared/core/allowance.ts'
import { LeasedLimit } from './leased-limit.ts'
import type { LeaseChannel } from './leased-limit.ts'

/** A process's own use of a limit, and the part of it that the authority has yet to hear of. */
interface AmountUse {
  readonly hasCharges: boolean
  charge(bucket: number, consumed: number, correction: number, nowMs: number): void
  /** False if the use has been reported already. */
  undo(bucket: number, consumed: number, nowMs: number): boolean
  /** Used by all processes, as far as this one knows. */
  known(nowMs: number): number
  secondsUntilEmpty(nowMs: number): number
  learn(state: AllowanceState, nowMs: number): void
  report(): Array<readonly [bucket: number, consumed: number, correction: number]>
  acknowledged(amount: number, state: AllowanceState | null, nowMs: number): void
}

/** A leased limit on an amount that requests use up, reported to the authority as charges. */
export abstract class LeasedAmount<Use extends AmountUse> extends LeasedLimit {
  protected readonly use: Use

  constructor(id: string, limit: number, channel: LeaseChannel, use: Use) {
    super(id, limit, channel)
    this.use = use
  }

  undo(need: number, bucket: number): void {
    if (this.use.undo(bucket, need, this.channel.clock.now())) this.available += need
    else this.correct(bucket, -need)
  }

  /** Books more (or less) than was taken, in the bucket in which it was taken. */
  correct(bucket: number, delta: number): void {
    if (delta !== 0) this.charge(bucket, 0, delta)
  }

  /** Left for all processes, as far as this one knows. */
  remaining(nowMs: number): number {
    return Math.max(0, this.limit - this.use.known(nowMs))
  }

  /** Seconds until the window has forgotten all use. */
  secondsUntilEmpty(nowMs: number): number {
    return this.use.secondsUntilEmpty(nowMs)
  }

  override takeCharges(): ReturnType<LeasedLimit['takeCharges']> {
    return this.use.report().map(([bucket, consumed, correction]) => [this.id, bucket, consumed, correction] as const)
  }

  override acknowledged(amount: number, state: AllowanceState | null): void {
    this.use.acknowledged(amount, state, this.channel.clock.now())
  }

  override isIdle(nowMs: number): boolean {
    return super.isIdle(nowMs) && !this.use.hasCharges
  }

  protected override consume(need: number, nowMs: number): void {
    this.charge(bucketOf(nowMs), need, 0)
  }

  protected override learn(grant: LeaseGrant, nowMs: number): void {
    this.use.learn(grant, nowMs)
  }

  protected charge(bucket: number, consumed: number, correction: number): void {
    this.use.charge(bucket, consumed, correction, this.channel.clock.now())
    this.channel.hasCharges(this)
  }
}
