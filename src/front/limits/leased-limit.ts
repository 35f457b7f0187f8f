import type {
  AllowanceKind,
  AllowanceState,
  DegradedMode,
  HoldingState,
  LeaseAsk,
  LeaseGrant,
  WindowCharges,
} from '../../shared/core/allowance.ts'
import { cellOf, WINDOW_SECONDS } from '../../shared/core/allowance.ts'
import type { Clock } from '../../shared/runtime/clock.ts'
import { BudgetUse } from './budget-use.ts'
import { HALF_EVEN_MS, OUTDATED_MS, SHARES_MS, WindowUse } from './window-use.ts'

/** What a holding wants to be said to the authority; said with the next message. */
export interface LeaseChannel {
  readonly clock: Clock
  /** How many processes there are: each has its share when the authority cannot be asked. */
  readonly processes: number
  readonly connected: boolean
  /** Until then it is better to wait for the authority than to do without, Unix milliseconds. */
  readonly aloneAtMs: number
  /** The authority is one over several machines. */
  readonly isShared: boolean
  /** It speaks: what it does not grant is with others, or about to be. */
  readonly othersDecide: boolean
  /** An authority that was away for all is there again and hears what is held: until it grants, shares hold as they did before. */
  readonly goesOnAlone: boolean
  /** When the authority went away, Unix milliseconds; null while it is there. */
  readonly lostMs: number | null
  /** The authority is away for all machines, not for this one alone. */
  readonly isAwayForAll: boolean
  /** What is set aside at Redis for outages may be taken: the allowance is not crowded. */
  mayTakeUnasked(allowance: string): boolean
  /** What to do without an authority when leases are used up. */
  degradedOf(allowance: string): DegradedMode
  ask(holding: LeasedLimit, ask: LeaseAsk): void
  cancel(holding: LeasedLimit): void
  giveBack(holding: LeasedLimit, amount: number): void
  /** The holding has charges to tell. */
  dirty(holding: LeasedLimit): void
  /** Somebody waits at the holding: it wants to be ticked. */
  waiting(holding: LeasedLimit): void
}

/** How an authority that is there again knows what was leased before. */
export interface Reunion {
  readonly remembers: boolean
  /** It has booked nothing meanwhile: what is leased of a window is leased still. */
  readonly keepsLeases: boolean
  readonly awayMs: number
}

/** Why something was not to be had, and when it may be, Unix milliseconds. */
export interface Refusal {
  readonly retryAtMs: number
  /** Nobody could say whether it is to be had. */
  readonly isUnknown?: boolean
}

/** What was taken of a window counts in this cell. */
export interface Taken {
  readonly cell: number
}

interface Waiter {
  readonly need: number
  readonly sinceMs: number
  deadlineMs: number
  readonly resolve: (result: Taken | Refusal) => void
}

/** A refusal is believed for this long: what others give back may make it untrue sooner than it said. */
const BELIEVED_MS = 100
/** Places come back by themselves, one by one. */
const PLACES_BELIEVED_MS = 20
/** How long the authority may take to answer before the process decides by its own share. */
const PATIENCE_MS = 1_000
/** The same while an authority over several machines speaks: no share of this process's can stand for what it has yet to say. */
const SPEAKING_PATIENCE_MS = 10_000
/** The same for budgets, of which no process decides by itself: as long as a control process may take to start anew. */
const BUDGET_PATIENCE_MS = 30_000
/**
 * A slice should last this long: until it does, each ask is for twice as much. The authority has slower work to do beside its
 * answers, and half a slice is left when the next one is asked for.
 */
const BUSY_MS = 1_000
/**
 * The same while an authority over several machines grants: half a slice lasts until a control process that ended is there again. What
 * others need of it they get: it is recalled.
 */
const SHARED_BUSY_MS = 4_000
/** Windows last longer, for when Redis goes away. */
const SHARED_WINDOW_MS = 16_000
/** After so many times as long without an ask nothing is known of the rate any more. */
const QUIET = 5
/** And a slice is for so many at least, half of which stays where nothing is used for a while. */
const SHARED_SLICE = 8
const MOST_AHEAD = 65_536
/** How many slices of a budget are leased at once: they should last while a control process starts anew. */
const BUDGET_SLICES = 16
/** A holding that rested for so long is forgotten. */
const FORGET_MS = 2 * WINDOW_SECONDS * 1000
const BUDGET_IDLE_MS = 24 * 3_600_000
/** When to come back to a limit that admits nothing without its authority. */
const CLOSED_RETRY_MS = 1_000

/** One allowance as a front holds it: the slice it has leased, and what it used of it. */
export class LeasedLimit {
  readonly id: string
  readonly kind: AllowanceKind
  limit: number
  lastUsedMs: number
  /** Keeps what it holds when idle, until somebody else needs it. */
  isPermanent = false
  /** The book has dropped it: what the authority grants does not reach it any more, and another one may have its name. */
  isForgotten = false
  readonly #desk: LeaseChannel
  /** Leased and free. Of places it may be below 0: taken by the process's own share while nobody could be asked. */
  #free = 0
  #inUse = 0
  /** Null for places: they are not used up. */
  readonly #use: WindowUse | BudgetUse | null
  #asking = false
  #askedMs = 0
  /** How many times `unit`, the need of those who asked last, is wanted at once. */
  #ahead = 1
  #unit = 1
  #waiters: Waiter[] = []
  #refusal: (Refusal & { readonly need: number; readonly untilMs: number }) | null = null
  #keep: number | null = null
  /** The most to be held since the limit fell; null once no more is held. */
  #ceiling: number | null = null
  /** Places that nobody held when the authority spoke last. */
  #placesSaid: { left: number; readonly atMs: number } | null = null
  #contended = false
  /** Held when the authority went away, places. */
  #heldBefore = 0
  /** Taken of what is set aside, and told to the authority since: it is not set aside again before as much was handed back. */
  #borrowed = 0

  constructor(id: string, kind: AllowanceKind, limit: number, desk: LeaseChannel) {
    this.id = id
    this.kind = kind
    this.limit = limit
    this.#desk = desk
    this.#use = kind === 'places' ? null : kind === 'window' ? new WindowUse() : new BudgetUse()
    this.lastUsedMs = desk.clock.now()
  }

  get free(): number {
    return Math.max(0, this.#free)
  }

  get inUse(): number {
    return this.#inUse
  }

  /** Leased, used places included. */
  get held(): number {
    return this.#free + this.#inUse
  }

  /** Takes `need` at once where it is held, or learns at once that it is not to be had; otherwise somebody must be asked. */
  take(need: number, nowMs: number): 'taken' | 'ask' | Refusal {
    this.lastUsedMs = nowMs
    if (this.#waiters.length === 0 && this.#free >= need) {
      this.#draw(need, nowMs)
      return 'taken'
    }
    const refusal = this.#refusal
    if (refusal !== null && nowMs < refusal.untilMs && need >= refusal.need) return refusal
    if (this.kind === 'budget') return 'ask'
    if (this.#desk.goesOnAlone && this.#waiters.length === 0) return this.#takeMeanwhile(need, nowMs)
    return this.#desk.connected || nowMs < this.#desk.aloneAtMs ? 'ask' : this.#takeOfShare(need, nowMs)
  }

  /**
   * As `take`, asking the authority. When no answer comes within a second, or one that is about to be there again is not, decides by
   * this process's share; while the authority speaks to others, only after ten. Of a budget, which waits for longer, says that nothing
   * is known.
   */
  obtain(need: number, nowMs: number): Promise<Taken | Refusal> {
    const taken = this.take(need, nowMs)
    if (taken === 'taken') return Promise.resolve({ cell: cellOf(nowMs) })
    if (taken !== 'ask') return Promise.resolve(taken)
    return new Promise((resolve) => {
      const patienceMs = this.kind === 'budget' ? BUDGET_PATIENCE_MS : PATIENCE_MS
      const deadlineMs = Math.max(nowMs + patienceMs, this.#desk.aloneAtMs)
      this.#waiters.push({ need, sinceMs: nowMs, deadlineMs, resolve })
      this.#desk.waiting(this)
      this.askFor(need)
    })
  }

  /** Begins to ask for what a request is about to need, if nobody does already. */
  askFor(need: number): void {
    if (this.#asking || this.#free >= need || !this.#desk.connected) return
    const nowMs = this.#desk.clock.now()
    const sinceMs = nowMs - this.#askedMs
    if (sinceMs < this.#busyMs) this.#ahead = Math.min(this.#ahead * 2, MOST_AHEAD)
    else if (sinceMs > QUIET * this.#busyMs) this.#ahead = 1
    this.#unit = Math.max(need, this.#waitingNeed())
    this.ask(need - this.free, this.#unit * this.#slice, false)
  }

  /** One ask at a time; `patient` ones stand until they are met or cancelled. */
  ask(need: number, wanted: number, patient: boolean): void {
    this.#asking = true
    this.#askedMs = this.#desk.clock.now()
    const { id: allowance, kind, limit } = this
    this.#desk.ask(this, { allowance, kind, limit, need, wanted, patient })
  }

  /** Places are taken that the authority does not know of. */
  get owesPlaces(): boolean {
    return this.kind === 'places' && this.#free < 0
  }

  get asking(): boolean {
    return this.#asking
  }

  cancelAsk(): void {
    if (!this.#asking) return
    this.#asking = false
    this.#desk.cancel(this)
  }

  /** Gives a place back; it stays here, free, unless others need it more. */
  give(isWantedHere: boolean): void {
    this.#inUse -= 1
    this.#free += 1
    this.#refusal = null
    this.lastUsedMs = this.#desk.clock.now()
    this.#serveWaiters(this.lastUsedMs)
    if (this.#free <= 0 || !this.#desk.connected) return
    const tooMany = this.held > Math.min(this.#keep ?? Infinity, this.#ceiling ?? Infinity, this.limit)
    if (tooMany || (this.#contended && !isWantedHere)) this.#giveBack(1)
    else if (!this.#contended) this.#keep = null
    if (this.#ceiling !== null && this.held <= this.#ceiling) this.#ceiling = null
  }

  /** There are fewer places than before: hands back what is held beyond `ceiling`, now or when it becomes free. */
  shrinkTo(ceiling: number): void {
    this.returnFree()
    this.#ceiling = this.held > ceiling ? ceiling : null
  }

  /** Undoes a `take`: what is still to be reported is free again, what has been told is taken back. */
  undo(need: number, cell: number): void {
    if (this.#use === null) this.give(false)
    else if (this.#use.undo(cell, need, this.#desk.clock.now())) this.#free += need
    else this.correct(cell, -need)
  }

  /** Books more (or less) than was taken, under the cell it was taken in. */
  correct(cell: number, delta: number): void {
    if (delta !== 0) this.#charge(cell, 0, delta)
  }

  /** What is left for everybody, as far as is known here. */
  remaining(nowMs: number): number {
    return Math.max(0, this.limit - (this.#use?.known(nowMs) ?? this.#inUse))
  }

  /** Seconds until nothing is left in the window. */
  secondsUntilEmpty(nowMs: number): number {
    return this.#use?.secondsUntilEmpty(nowMs) ?? 0
  }

  granted(grant: LeaseGrant, nowMs: number): void {
    const wasAsked = this.#asking
    this.#asking = false
    if (this.#use === null) this.#placesSaid = { left: grant.left, atMs: nowMs }
    else this.#use.learn(grant, nowMs)
    this.#free += grant.amount
    // The authority knows what is left, whoever has had more than a share of it.
    if (grant.amount > 0) this.#ceiling = null
    // Where less is to be had than was wanted, it is no use to ask for more.
    if (wasAsked && grant.amount < this.#unit * this.#ahead)
      this.#ahead = Math.max(1, Math.floor(grant.amount / this.#unit))
    if (grant.amount > 0) this.#refusal = null
    this.#serveWaiters(nowMs)
    if (grant.amount === 0 && grant.retryAtMs > 0) this.#refuseWaiters(grant.retryAtMs, nowMs)
    const next = this.#waiters[0]
    if (next !== undefined) this.askFor(next.need)
  }

  /** All places are free again. */
  placesLeft(left: number, nowMs: number): void {
    if (this.kind === 'places') this.#placesSaid = { left, atMs: nowMs }
  }

  acknowledged(amount: number, state: AllowanceState | null): void {
    this.#use?.acknowledged(amount, state, this.#desk.clock.now())
  }

  /** Others wait: hands back what is free, and from now on what becomes free beyond `keep`. */
  recalled(keep: number): void {
    if (this.kind === 'places') {
      this.#keep = keep
      this.#contended = true
    }
    this.returnFree()
  }

  calm(): void {
    this.#contended = false
    this.#keep = null
  }

  returnFree(): void {
    if (this.#free > 0) this.#giveBack(this.#free)
  }

  /** Nothing was used for a while: hands back what is free, but for what a next request should find while a control process starts anew. */
  returnIdle(nowMs: number): void {
    const isForgottenSoon = nowMs - this.lastUsedMs > FORGET_MS
    const spare = this.#desk.isShared && !isForgottenSoon ? (this.#unit * SHARED_SLICE) / 2 : 0
    if (this.#free > spare) this.#giveBack(this.#free - spare)
  }

  /** Lets those go whose patience is over; false when nobody waits any more. */
  tick(nowMs: number): boolean {
    for (let first = this.#waiters[0]; first !== undefined && first.deadlineMs <= nowMs; first = this.#waiters[0]) {
      if (this.kind !== 'budget' && this.#desk.othersDecide && nowMs - first.sinceMs < SPEAKING_PATIENCE_MS) {
        first.deadlineMs = nowMs + BELIEVED_MS
      } else this.#decideAlone(nowMs)
    }
    return this.#waiters.length > 0
  }

  /** The charges since the last report, which is now made. */
  takeCharges(): Array<readonly [string, number, number, number]> {
    return this.#use?.report().map(([cell, drawn, correction]) => [this.id, cell, drawn, correction] as const) ?? []
  }

  /** The authority is away. Leases stay: it will be told of them. */
  lost(nowMs: number): void {
    this.#asking = false
    this.#keep = null
    this.#contended = false
    this.#refusal = null
    if (this.#use instanceof WindowUse) this.#use.lost(nowMs, this.free)
    else this.#use?.lost()
    this.#heldBefore = this.held
    if (this.kind === 'budget') return
    for (const waiter of this.#waiters) waiter.deadlineMs = Math.max(nowMs, this.#desk.aloneAtMs)
    this.tick(nowMs)
  }

  /** The authority is there again: asks for those who have waited meanwhile. */
  resumed(): void {
    for (const waiter of this.#waiters) waiter.deadlineMs = Math.max(waiter.deadlineMs, this.#desk.aloneAtMs)
    const next = this.#waiters[0]
    if (next !== undefined) this.askFor(next.need)
  }

  /** Slots beyond the share of this process are not taken again once they are free. */
  keepToShare(): void {
    if (this.isPermanent) this.#free = Math.min(this.#free, this.#placesAlone() - this.#inUse)
  }

  /** The authority has been away for so long that it may have given what is leased to others: only a share is left. */
  expire(): void {
    if (this.#use instanceof WindowUse) {
      this.#use.expired(this.free)
      this.#free = 0
    }
    // What was leased of a budget counts as used until this process says what it used.
    if (this.kind === 'places') {
      const share = this.#placesAlone() - this.#inUse
      this.#free = this.#desk.isShared && !this.isPermanent ? Math.min(this.#free, share) : share
    }
    this.#placesSaid = null
  }

  /**
   * What an authority must know of this holding. One that remembers has booked, when the connection broke, what was leased
   * of a window as used. What is told of a budget replaces whatever it remembers.
   */
  resume({ remembers, keepsLeases, awayMs }: Reunion, nowMs: number): HoldingState {
    if (this.kind === 'places' && this.#desk.isShared) this.#borrowed += Math.max(0, -this.#free)
    if (this.#free < 0 || (this.kind === 'window' && remembers && !keepsLeases)) this.#free = 0
    if (awayMs >= HALF_EVEN_MS && this.#use instanceof WindowUse) this.#use.keepEven(nowMs)
    return {
      allowance: this.id,
      kind: this.kind,
      limit: this.limit,
      // What was drawn since is told next.
      held: this.held + (remembers && keepsLeases ? (this.#use?.drawn ?? 0) : 0),
      used: this.#use?.resume(remembers, nowMs, keepsLeases) ?? [],
    }
  }

  /** What was used in the last minute, of a window; nothing when nothing was. */
  windowCharges(nowMs: number): WindowCharges[] {
    const used = this.#use instanceof WindowUse ? this.#use.charges(nowMs) : []
    return used.length === 0 ? [] : [{ allowance: this.id, limit: this.limit, used }]
  }

  /** Nothing is held, used or awaited. */
  isIdle(nowMs: number): boolean {
    return (
      this.#free === 0 &&
      this.#inUse === 0 &&
      !this.#asking &&
      this.#use?.hasCharges !== true &&
      this.#waiters.length === 0 &&
      nowMs - this.lastUsedMs > (this.kind === 'budget' ? BUDGET_IDLE_MS : FORGET_MS)
    )
  }

  #draw(need: number, nowMs: number): void {
    this.#free -= need
    if (this.#use === null) this.#inUse += 1
    else this.#charge(cellOf(nowMs), need, 0)
    // Before it runs out: who comes next should not have to wait.
    if (this.#isAskedAhead && this.#free < (need * this.#slice) / 2) this.#askAhead(need, nowMs)
  }

  /** How many times the need is leased at once. */
  get #slice(): number {
    if (this.kind === 'budget') return this.#ahead > 1 ? this.#ahead * BUDGET_SLICES : this.#ahead
    return this.#desk.isShared && !this.isPermanent ? Math.max(this.#ahead, SHARED_SLICE) : this.#ahead
  }

  get #isAskedAhead(): boolean {
    if (this.#use === null) return this.#desk.isShared && !this.isPermanent
    return this.#slice > 1
  }

  get #busyMs(): number {
    if (!this.#desk.isShared) return BUSY_MS
    return this.kind === 'window' ? SHARED_WINDOW_MS : SHARED_BUSY_MS
  }

  #askAhead(need: number, nowMs: number): void {
    if (this.#asking || !this.#desk.connected) return
    if (this.#refusal !== null && nowMs < this.#refusal.untilMs) return
    if (nowMs - this.#askedMs < this.#busyMs) this.#ahead = Math.min(this.#ahead * 2, MOST_AHEAD)
    this.#unit = need
    this.ask(0, need * this.#slice, false)
  }

  #charge(cell: number, drawn: number, correction: number): void {
    this.#use?.charge(cell, drawn, correction, this.#desk.clock.now())
    this.#desk.dirty(this)
  }

  #waitingNeed(): number {
    let sum = 0
    for (const { need } of this.#waiters) sum += need
    return sum
  }

  #giveBack(amount: number): void {
    this.#free -= amount
    if (this.#placesSaid !== null) this.#placesSaid.left += amount
    if (this.held <= this.#heldBefore) this.#borrowed = 0
    this.#desk.giveBack(this, amount)
  }

  /** First come, first served. */
  #serveWaiters(nowMs: number): void {
    for (let waiter = this.#waiters[0]; waiter !== undefined && this.#free >= waiter.need; waiter = this.#waiters[0]) {
      this.#waiters.shift()
      this.#draw(waiter.need, nowMs)
      waiter.resolve({ cell: cellOf(nowMs) })
    }
  }

  /** What was refused to the first is refused to all that need as much. */
  #refuseWaiters(retryAtMs: number, nowMs: number): void {
    const first = this.#waiters[0]
    if (first === undefined) return
    const { need } = first
    const untilMs = this.kind === 'places' ? nowMs + PLACES_BELIEVED_MS : Math.min(retryAtMs, nowMs + BELIEVED_MS)
    this.#refusal = { need, retryAtMs, untilMs }
    for (const waiter of this.#waiters) if (waiter.need >= need) waiter.resolve({ retryAtMs })
    this.#waiters = this.#waiters.filter((waiter) => waiter.need < need)
  }

  #decideAlone(nowMs: number): void {
    const waiter = this.#waiters.shift()
    if (waiter === undefined) return
    const taken = this.#takeOfShare(waiter.need, nowMs)
    waiter.resolve(taken === 'taken' ? { cell: cellOf(nowMs) } : taken)
  }

  /** Of the share, if that has enough; what comes next is asked for, so that it is there when the authority grants again. */
  #takeMeanwhile(need: number, nowMs: number): 'taken' | 'ask' {
    const taken = this.#takeOfShare(need, nowMs)
    if (taken !== 'taken') return 'ask'
    this.askFor(need)
    return taken
  }

  /** Nobody answers: this process may use what it leased, and its share of the limit, less what it used itself. */
  #takeOfShare(need: number, nowMs: number): 'taken' | Refusal {
    const { othersDecide } = this.#desk
    if (this.kind === 'places') {
      const isLeft = (): boolean => (this.#desk.isShared ? this.#isPlaceSetAside() : this.#isPlaceLeft(nowMs))
      if (this.#free <= 0 && (othersDecide || !isLeft())) return { retryAtMs: nowMs }
      this.#free -= 1
      this.#inUse += 1
      return 'taken'
    }
    if (this.#free >= need) {
      this.#draw(need, nowMs)
      return 'taken'
    }
    const use = this.#use
    if (!(use instanceof WindowUse)) return { retryAtMs: nowMs + 1000, isUnknown: true }
    if (othersDecide) return { retryAtMs: nowMs + BELIEVED_MS }
    const mode = this.#desk.degradedOf(this.id)
    if (mode === 'closed') return { retryAtMs: nowMs + CLOSED_RETRY_MS }
    if (mode === 'shares' && this.#desk.isShared) {
      const { processes, lostMs, isAwayForAll } = this.#desk
      const terms = { limit: this.limit, processes, part: this.#part, free: this.free, lostMs, mayReuse: isAwayForAll }
      const atMs = use.takeAlone(need, terms, nowMs)
      if (atMs > 0) return { retryAtMs: atMs }
    } else if (mode === 'shares') {
      const { processes } = this.#desk
      const seconds = use.secondsUntil(need, this.limit / processes, nowMs)
      if (seconds > 0) return { retryAtMs: nowMs + Math.min(seconds, WINDOW_SECONDS + 1) * 1000 }
      const spareAtMs = use.unaskedAtMs(need, { limit: this.limit, parts: processes }, nowMs)
      if (spareAtMs > 0) return { retryAtMs: spareAtMs }
    }
    use.takeUnasked(need)
    this.correct(cellOf(nowMs), need)
    return 'taken'
  }

  /** Of what was left when the authority spoke last this process may have one part, and never more than its share. */
  #isPlaceLeft(nowMs: number): boolean {
    if (this.#inUse + 1 > this.#placesAlone()) return false
    const said = this.#placesSaid
    if (said === null || nowMs - said.atMs > OUTDATED_MS || this.#desk.degradedOf(this.id) !== 'shares') return true
    return 1 - this.#free <= said.left / this.#desk.processes
  }

  /** What is set aside at Redis for this process, for when it cannot be asked. */
  get #part(): number {
    if (this.isPermanent || !this.#desk.mayTakeUnasked(this.id)) return 0
    return Math.floor(this.limit / (2 * this.#desk.processes))
  }

  #isPlaceSetAside(): boolean {
    const mode = this.#desk.degradedOf(this.id)
    if (mode !== 'shares') return mode === 'open'
    const { lostMs } = this.#desk
    if (lostMs !== null && this.#desk.clock.now() - lostMs >= SHARES_MS) return this.#inUse < this.#placesAlone()
    return 1 - this.#free + this.#borrowed <= this.#part
  }

  /** How many places this process may use while nobody can be asked. */
  #placesAlone(): number {
    const mode = this.#desk.degradedOf(this.id)
    if (mode !== 'shares') return mode === 'open' ? this.limit : 0
    const share = Math.floor(this.limit / this.#desk.processes)
    if (this.#desk.isShared) return share
    // A caller is never shut out by its own limit; an upstream key must never see more than it allows.
    return this.isPermanent ? share : Math.max(1, share)
  }
}
