import type { LeaseGrant, LeaseState } from '../../shared/core/allowance.ts'
import { LeasedLimit } from './leased-limit.ts'
import type { Reunion, Refusal } from './leased-limit.ts'
import { OUTDATED_MS, SHARES_MS } from './window-use.ts'

/** Slots become free one by one. */
const REFUSAL_MS = 20

/** A concurrency limit: slots that requests take and give back. */
export class LeasedConcurrency extends LeasedLimit {
  readonly kind = 'concurrency'
  /** Slots of an upstream key: each process keeps its even part. */
  permanent = false
  #inUse = 0
  /** Slots that this process may hold while others wait. */
  #keep: number | null = null
  #contended = false
  /** The most that this process may hold since the limit fell; null once it holds no more. */
  #ceiling: number | null = null
  /** Slots that no process held when the authority answered last. */
  #leftSaid: { left: number; readonly atMs: number } | null = null
  #heldBeforeOutage = 0
  /** Slots taken of the part that Redis sets aside, reported since. The part is whole again once as many were given back. */
  #borrowed = 0

  override get isPermanent(): boolean {
    return this.permanent
  }

  get inUse(): number {
    return this.#inUse
  }

  override get held(): number {
    return this.available + this.#inUse
  }

  /** The local share admitted requests that the authority does not know of. */
  get owesSlots(): boolean {
    return this.available < 0
  }

  /** Gives a slot back. It stays leased here unless other processes need it more. */
  give(isWantedHere: boolean): void {
    this.#inUse -= 1
    this.available += 1
    this.forgetRefusal()
    this.lastUsedMs = this.channel.clock.now()
    this.serveWaiters(this.lastUsedMs)
    if (this.available <= 0 || !this.channel.connected) return
    const tooMany = this.held > Math.min(this.#keep ?? Infinity, this.#ceiling ?? Infinity, this.limit)
    if (tooMany || (this.#contended && !isWantedHere)) this.giveBack(1)
    else if (!this.#contended) this.#keep = null
    if (this.#ceiling !== null && this.held <= this.#ceiling) this.#ceiling = null
  }

  override undo(): void {
    this.give(false)
  }

  /** The limit fell: the process gives back what it holds beyond `ceiling`, now or when slots become free. */
  shrinkTo(ceiling: number): void {
    this.returnFree()
    this.#ceiling = this.held > ceiling ? ceiling : null
  }

  override granted(grant: LeaseGrant, nowMs: number): void {
    // The authority knows what is left, whoever has had more than a share of it.
    if (grant.amount > 0) this.#ceiling = null
    super.granted(grant, nowMs)
  }

  /** All slots are free again. */
  slotsLeft(left: number, nowMs: number): void {
    this.#leftSaid = { left, atMs: nowMs }
  }

  override reclaimed(keep: number): void {
    this.#keep = keep
    this.#contended = true
    this.returnFree()
  }

  override reclaimOver(): void {
    this.#contended = false
    this.#keep = null
  }

  override lost(nowMs: number): void {
    this.reclaimOver()
    this.#heldBeforeOutage = this.held
    super.lost(nowMs)
  }

  /** The process takes no slots beyond its share again once they are free. */
  keepToShare(): void {
    if (this.isPermanent) this.available = Math.min(this.available, this.#share() - this.#inUse)
  }

  override expire(): void {
    const left = this.#share() - this.#inUse
    this.available = this.isSharedCaller ? Math.min(this.available, left) : left
    this.#leftSaid = null
  }

  override resume(_reunion: Reunion): LeaseState {
    if (this.channel.isShared) this.#borrowed += Math.max(0, -this.available)
    this.available = Math.max(0, this.available)
    return { allowance: this.id, kind: this.kind, limit: this.limit, held: this.held, used: [] }
  }

  override isIdle(nowMs: number): boolean {
    return this.#inUse === 0 && super.isIdle(nowMs)
  }

  protected override prefetches(): boolean {
    return this.isSharedCaller
  }

  protected override consume(): void {
    this.#inUse += 1
  }

  protected override learn({ left }: LeaseGrant, nowMs: number): void {
    this.slotsLeft(left, nowMs)
  }

  protected override giveBack(amount: number): void {
    super.giveBack(amount)
    if (this.#leftSaid !== null) this.#leftSaid.left += amount
    if (this.held <= this.#heldBeforeOutage) this.#borrowed = 0
  }

  protected override refusedUntilMs(_retryAtMs: number, nowMs: number): number {
    return nowMs + REFUSAL_MS
  }

  protected override takeAlone(_need: number, nowMs: number): 'taken' | Refusal {
    if (this.available <= 0 && (this.channel.authorityAnswers || !this.#mayTakeUnleased(nowMs)))
      return { retryAtMs: nowMs }
    this.available -= 1
    this.#inUse += 1
    return 'taken'
  }

  #mayTakeUnleased(nowMs: number): boolean {
    return this.channel.isShared ? this.#isSetAside(nowMs) : this.#isLeft(nowMs)
  }

  /** Of the slots that were left when the authority answered last, this process may have one part, and never more than its share. */
  #isLeft(nowMs: number): boolean {
    if (this.#inUse + 1 > this.#share()) return false
    const said = this.#leftSaid
    if (said === null || nowMs - said.atMs > OUTDATED_MS || this.channel.degradedModeOf(this.id) !== 'shares')
      return true
    return 1 - this.available <= said.left / this.channel.processes
  }

  /** Redis sets a part aside for this process, for outages. */
  #isSetAside(nowMs: number): boolean {
    const mode = this.channel.degradedModeOf(this.id)
    if (mode !== 'shares') return mode === 'open'
    const { awaySinceMs, processes } = this.channel
    if (awaySinceMs !== null && nowMs - awaySinceMs >= SHARES_MS) return this.#inUse < this.#share()
    const hasPart = !this.isPermanent && this.channel.mayTakeUnasked(this.id)
    return 1 - this.available + this.#borrowed <= (hasPart ? Math.floor(this.limit / (2 * processes)) : 0)
  }

  /** How many slots this process may use while nobody can be asked. */
  #share(): number {
    const mode = this.channel.degradedModeOf(this.id)
    if (mode !== 'shares') return mode === 'open' ? this.limit : 0
    const share = Math.floor(this.limit / this.channel.processes)
    if (this.channel.isShared) return share
    // A caller is never shut out by its own limit; an upstream key must never see more than it allows.
    return this.isPermanent ? share : Math.max(1, share)
  }
}
