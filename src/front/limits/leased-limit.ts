import type {
  AllowanceKind,
  AllowanceState,
  LeaseAsk,
  LeaseGrant,
  LeaseState,
  DegradedMode,
} from '../../shared/core/allowance.ts'
import { bucketOf, WINDOW_SECONDS } from '../../shared/core/allowance.ts'
import type { Clock } from '../../shared/runtime/clock.ts'

/** The line from a leased limit to the authority. It also tells what the process knows about the authority. */
export interface LeaseChannel {
  readonly clock: Clock
  /** Processes that share the limits. Each has its share when the authority cannot be asked. */
  readonly processes: number
  readonly connected: boolean
  /** Requests block on the authority until this time (Unix ms); after it, the local share decides. */
  readonly fallbackAtMs: number
  /** The authority is one over several machines. */
  readonly isShared: boolean
  /** The authority answers other processes: they hold, or will soon hold, whatever it does not grant here. */
  readonly authorityAnswers: boolean
  /** The authority is back and collects what processes hold. Shares apply as during the outage until it grants or refuses. */
  readonly isSettling: boolean
  /** When the authority went away, Unix milliseconds; null while it is there. */
  readonly awaySinceMs: number | null
  /** The authority is away for all machines, not for this one alone. */
  readonly isAwayForAll: boolean
  /** The process may take the part that Redis sets aside for outages: the allowance is not crowded. */
  mayTakeUnasked(allowance: string): boolean
  /** What the process does without an authority when its leases are used up. */
  degradedModeOf(allowance: string): DegradedMode
  ask(limit: LeasedLimit, ask: LeaseAsk): void
  cancel(limit: LeasedLimit): void
  giveBack(limit: LeasedLimit, amount: number): void
  /** The limit has charges to report. */
  hasCharges(limit: LeasedLimit): void
  /** Requests wait at the limit: it needs ticks. */
  hasWaiters(limit: LeasedLimit): void
}

/** How an authority that is back knows what it leased before. */
export interface Reunion {
  readonly remembers: boolean
  /** The authority has booked no lease as used meanwhile: leases of rate limits are still good. */
  readonly keepsLeases: boolean
  readonly awayMs: number
}

/** Why a request gets nothing, and when it may, Unix milliseconds. */
export interface Refusal {
  readonly retryAtMs: number
  /** Nobody could tell whether anything is left. */
  readonly isUnknown?: boolean
}

/** The sliding-window bucket that the use counts in. */
export interface Taken {
  readonly bucket: number
}

interface Waiter {
  readonly need: number
  readonly sinceMs: number
  deadlineMs: number
  readonly resolve: (result: Taken | Refusal) => void
}

/** A refusal holds for this long: other processes may give something back sooner than it said. */
export const REFUSAL_MS = 100
/** How long a request blocks on an authority over several machines that answers others: no local share can replace its answer. */
const ANSWERING_BLOCK_MS = 10_000
/** The authority has slower work beside its answers, and half a lease is left when the process asks for the next one. */
const BUSY_MS = 1_000
/** Half a lease lasts until a control process that ended is back. Other processes get what they need of it: it is reclaimed. */
const SHARED_BUSY_MS = 4_000
/** One ask is for at least this many needs, and half of them stay leased during a rest. */
const SHARED_SLICE = 8
/** After this many busy periods without an ask, the burn rate is unknown. */
const QUIET_PERIODS = 5
const MAX_PREFETCH = 65_536
/** The book forgets a limit that rested for this long. */
export const FORGET_MS = 2 * WINDOW_SECONDS * 1000

/**
 * One process's lease on one limit. Requests take from the lease in memory; the process asks the authority only when the lease is
 * used up. The README of this folder draws the states. {@link LeasedRate}, {@link LeasedConcurrency} and {@link LeasedBudget} say how
 * each kind counts and what it does without an authority.
 */
export abstract class LeasedLimit {
  abstract readonly kind: AllowanceKind
  readonly id: string
  limit: number
  lastUsedMs: number
  /** The book has dropped this lease: grants do not reach it, and another lease may have its name. */
  isForgotten = false
  protected readonly channel: LeaseChannel
  /** Leased and not used. Below 0 for concurrency slots that the local share admitted during an outage. */
  protected available = 0
  #asking = false
  #askedMs = 0
  /** How many times `need` one ask is for. */
  #prefetch = 1
  /** The need of the requests that asked last. */
  #need = 1
  #waiters: Waiter[] = []
  #refusal: (Refusal & { readonly need: number; readonly untilMs: number }) | null = null

  constructor(id: string, limit: number, channel: LeaseChannel) {
    this.id = id
    this.limit = limit
    this.channel = channel
    this.lastUsedMs = channel.clock.now()
  }

  /** Keeps its idle lease until another process needs it. */
  get isPermanent(): boolean {
    return false
  }

  get free(): number {
    return Math.max(0, this.available)
  }

  /** Leased, slots in use included. */
  get held(): number {
    return this.available
  }

  get asking(): boolean {
    return this.#asking
  }

  /** Takes `need` if the lease has it, returns a refusal that still holds, or returns 'ask': only the authority can decide. */
  take(need: number, nowMs: number): 'taken' | 'ask' | Refusal {
    this.lastUsedMs = nowMs
    const hasWaiters = this.#waiters.length > 0
    if (!hasWaiters && this.available >= need) {
      this.#takeLeased(need, nowMs)
      return 'taken'
    }
    const refusal = this.#refusal
    if (refusal !== null && nowMs < refusal.untilMs && need >= refusal.need) return refusal
    return this.takeBeyond(need, nowMs, hasWaiters)
  }

  /**
   * As {@link take}, but asks the authority. If no answer comes in time, {@link takeAlone} decides. The time is a second, or until
   * a control process that restarts should be back; ten seconds while the authority answers others; half a minute for a budget.
   */
  obtain(need: number, nowMs: number): Promise<Taken | Refusal> {
    const taken = this.take(need, nowMs)
    if (taken === 'taken') return Promise.resolve({ bucket: bucketOf(nowMs) })
    if (taken !== 'ask') return Promise.resolve(taken)
    return new Promise((resolve) => {
      const deadlineMs = Math.max(nowMs + this.blockMs, this.channel.fallbackAtMs)
      this.#waiters.push({ need, sinceMs: nowMs, deadlineMs, resolve })
      this.channel.hasWaiters(this)
      this.askFor(need)
    })
  }

  /** Asks for the need of a request, unless an ask is under way. */
  askFor(need: number): void {
    if (this.#asking || this.available >= need || !this.channel.connected) return
    const sinceMs = this.channel.clock.now() - this.#askedMs
    if (sinceMs < this.busyMs) this.#growPrefetch()
    else if (sinceMs > QUIET_PERIODS * this.busyMs) this.#prefetch = 1
    this.#need = Math.max(need, this.#waitingNeed())
    this.ask(need - this.free, this.#need * this.sliceOf(this.#prefetch), false)
  }

  /** Sends an ask; one is under way at a time. A `blocking` ask stands until it is met or cancelled. */
  ask(need: number, wanted: number, blocking: boolean): void {
    this.#asking = true
    this.#askedMs = this.channel.clock.now()
    const { id: allowance, kind, limit } = this
    this.channel.ask(this, { allowance, kind, limit, need, wanted, blocking } satisfies LeaseAsk)
  }

  cancelAsk(): void {
    if (!this.#asking) return
    this.#asking = false
    this.channel.cancel(this)
  }

  /** Reverses a `take`. */
  abstract undo(need: number, bucket: number): void

  granted(grant: LeaseGrant, nowMs: number): void {
    const wasAsked = this.#asking
    this.#asking = false
    this.learn(grant, nowMs)
    this.available += grant.amount
    // A smaller grant than wanted says that little is left: a larger ask is useless.
    if (wasAsked && grant.amount < this.#need * this.#prefetch) {
      this.#prefetch = Math.max(1, Math.floor(grant.amount / this.#need))
    }
    if (grant.amount > 0) this.#refusal = null
    this.serveWaiters(nowMs)
    if (grant.amount === 0 && grant.retryAtMs > 0) this.#refuseWaiters(grant.retryAtMs, nowMs)
    this.#askForFirst()
  }

  /** Other processes wait: gives back what is free. `keep` is the amount that this process may hold meanwhile. */
  reclaimed(_keep: number): void {
    this.returnFree()
  }

  /** No other process waits any more. */
  reclaimOver(): void {}

  returnFree(): void {
    if (this.available > 0) this.giveBack(this.available)
  }

  /** Gives back what a rest has left unused, except what the next request should find while a control process restarts. */
  returnIdle(nowMs: number): void {
    const isForgottenSoon = nowMs - this.lastUsedMs > FORGET_MS
    const spare = this.isSharedCaller && !isForgottenSoon ? (this.#need * SHARED_SLICE) / 2 : 0
    if (this.available > spare) this.giveBack(this.available - spare)
  }

  /** Decides for waiters past their deadline. Returns false when no waiter is left. */
  tick(nowMs: number): boolean {
    for (let first = this.#waiters[0]; first !== undefined && first.deadlineMs <= nowMs; first = this.#waiters[0]) {
      const blocks = this.fallsBack && this.channel.authorityAnswers && nowMs - first.sinceMs < ANSWERING_BLOCK_MS
      if (blocks) first.deadlineMs = nowMs + REFUSAL_MS
      else this.#decideAlone(first, nowMs)
    }
    return this.#waiters.length > 0
  }

  /** The authority is away. Leases stay: the next authority hears of them. */
  lost(nowMs: number): void {
    this.#asking = false
    this.#refusal = null
    if (!this.fallsBack) return
    for (const waiter of this.#waiters) waiter.deadlineMs = Math.max(nowMs, this.channel.fallbackAtMs)
    this.tick(nowMs)
  }

  /** The authority is back: asks for the requests that have waited. */
  resumed(): void {
    for (const waiter of this.#waiters) waiter.deadlineMs = Math.max(waiter.deadlineMs, this.channel.fallbackAtMs)
    this.#askForFirst()
  }

  /** The authority has been away for so long that other processes may hold this lease: only the share is left. */
  abstract expire(): void

  /** What an authority that is back must know of this lease. */
  abstract resume(reunion: Reunion, nowMs: number): LeaseState

  /** The charges since the last report; this call is the report. */
  takeCharges(): Array<readonly [allowance: string, bucket: number, consumed: number, correction: number]> {
    return []
  }

  acknowledged(_amount: number, _state: AllowanceState | null): void {}

  /** The process holds, has used and waits for nothing. */
  isIdle(nowMs: number): boolean {
    const rests = this.available === 0 && !this.#asking && this.#waiters.length === 0
    return rests && nowMs - this.lastUsedMs > this.forgetMs
  }

  protected get forgetMs(): number {
    return FORGET_MS
  }

  /** How long a request blocks on a silent authority before the process decides by its share. */
  protected get blockMs(): number {
    return 1_000
  }

  /** The process may decide by its share when the authority is away. */
  protected get fallsBack(): boolean {
    return true
  }

  /** A caller's limit that several machines share. Slots of upstream keys are shared in even parts all the time. */
  protected get isSharedCaller(): boolean {
    return this.channel.isShared && !this.isPermanent
  }

  /** How long a lease should last: until it does, each ask is for twice as much. */
  protected get busyMs(): number {
    return this.channel.isShared ? SHARED_BUSY_MS : BUSY_MS
  }

  /** How many needs one ask is for. */
  protected sliceOf(prefetch: number): number {
    return this.isSharedCaller ? Math.max(prefetch, SHARED_SLICE) : prefetch
  }

  /** The process asks again before the lease is used up, so that the next request does not wait. */
  protected prefetches(slice: number): boolean {
    return slice > 1
  }

  /** Counts the use of `need` that the lease had. */
  protected abstract consume(need: number, nowMs: number): void

  /** Takes what nobody was asked for: by the share of this process and the degraded mode. */
  protected abstract takeAlone(need: number, nowMs: number): 'taken' | Refusal

  protected abstract learn(grant: LeaseGrant, nowMs: number): void

  /** The lease does not have `need`. */
  protected takeBeyond(need: number, nowMs: number, hasWaiters: boolean): 'taken' | 'ask' | Refusal {
    if (this.channel.isSettling && !hasWaiters) return this.#takeMeanwhile(need, nowMs)
    return this.channel.connected || nowMs < this.channel.fallbackAtMs ? 'ask' : this.takeAlone(need, nowMs)
  }

  protected giveBack(amount: number): void {
    this.available -= amount
    this.channel.giveBack(this, amount)
  }

  /** Until when a refusal holds that says `retryAtMs`. */
  protected refusedUntilMs(retryAtMs: number, nowMs: number): number {
    return Math.min(retryAtMs, nowMs + REFUSAL_MS)
  }

  protected forgetRefusal(): void {
    this.#refusal = null
  }

  /** First come, first served. */
  protected serveWaiters(nowMs: number): void {
    for (let first = this.#waiters[0]; first !== undefined && this.available >= first.need; first = this.#waiters[0]) {
      this.#waiters.shift()
      this.#takeLeased(first.need, nowMs)
      first.resolve({ bucket: bucketOf(nowMs) })
    }
  }

  /** Takes `need` if the lease has it. */
  protected takeIfLeased(need: number, nowMs: number): boolean {
    if (this.available < need) return false
    this.#takeLeased(need, nowMs)
    return true
  }

  #takeLeased(need: number, nowMs: number): void {
    this.available -= need
    this.consume(need, nowMs)
    const slice = this.sliceOf(this.#prefetch)
    if (this.prefetches(slice) && this.available < (need * slice) / 2) this.#askAhead(need, nowMs)
  }

  #askAhead(need: number, nowMs: number): void {
    if (this.#asking || !this.channel.connected) return
    if (this.#refusal !== null && nowMs < this.#refusal.untilMs) return
    if (nowMs - this.#askedMs < this.busyMs) this.#growPrefetch()
    this.#need = need
    this.ask(0, need * this.sliceOf(this.#prefetch), false)
  }

  #growPrefetch(): void {
    this.#prefetch = Math.min(this.#prefetch * 2, MAX_PREFETCH)
  }

  #askForFirst(): void {
    const first = this.#waiters[0]
    if (first !== undefined) this.askFor(first.need)
  }

  #waitingNeed(): number {
    let sum = 0
    for (const { need } of this.#waiters) sum += need
    return sum
  }

  /** The refusal of the first waiter is one for all that need as much. */
  #refuseWaiters(retryAtMs: number, nowMs: number): void {
    const first = this.#waiters[0]
    if (first === undefined) return
    const { need } = first
    this.#refusal = { need, retryAtMs, untilMs: this.refusedUntilMs(retryAtMs, nowMs) }
    for (const waiter of this.#waiters) if (waiter.need >= need) waiter.resolve({ retryAtMs })
    this.#waiters = this.#waiters.filter((waiter) => waiter.need < need)
  }

  #decideAlone(waiter: Waiter, nowMs: number): void {
    this.#waiters.shift()
    const taken = this.takeAlone(waiter.need, nowMs)
    waiter.resolve(taken === 'taken' ? { bucket: bucketOf(nowMs) } : taken)
  }

  /** Takes from the share, if it has enough, and asks for the next request, so that the authority's grant is there in time. */
  #takeMeanwhile(need: number, nowMs: number): 'taken' | 'ask' {
    const taken = this.takeAlone(need, nowMs)
    if (taken !== 'taken') return 'ask'
    this.askFor(need)
    return taken
  }
}
