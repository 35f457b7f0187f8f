import type {
  AllowanceKind,
  DegradedMode,
  LeaseAsk,
  LeaseEpoch,
  LeaseFarewell,
  LeaseReply,
  LeaseRequest,
  LeaseResume,
} from '../../shared/core/allowance.ts'
import type { Clock } from '../../shared/runtime/clock.ts'
import { LeasedBudget } from './leased-budget.ts'
import { LeasedConcurrency } from './leased-concurrency.ts'
import type { LeaseChannel, LeasedLimit } from './leased-limit.ts'
import { LeasedRate } from './leased-rate.ts'
import { HALF_EVEN_MS } from './window-use.ts'

export interface LeaseBookOptions {
  readonly clock: Clock
  readonly processes: number
  /** The journal of this process. */
  readonly writer: string
  /** How long leases are good without the authority, milliseconds; null: it waits for whoever holds them. */
  readonly leaseKeepMs: number | null
  /** By default shares. */
  readonly degradedModeOf?: (allowance: string) => DegradedMode
  /** False when there is no connection. */
  readonly send: (message: LeaseRequest | LeaseResume | LeaseFarewell) => boolean
  /** Runs `flush` when the present turn is over, so that all its asks leave in one message. */
  readonly soon: (flush: () => void) => void
}

/** What is free and was not used for this long goes back to the authority. */
const IDLE_MS = 2_000
const SWEEP_MS = 1_000
/** As long as a control process may take to start anew. */
const RESTART_MS = 5_000
/** And an authority that is there again until it has heard from all what they hold, and grants anything. */
const SETTLE_MS = 3_000
/**
 * An authority of this machine alone is gone and has said nothing for so long: a process takes no slots of upstream keys again beyond its share.
 * A while later, when most requests on borrowed slots have ended, a process with less takes its share; a request may wait twice as long.
 */
const KEEP_TO_SHARE_MS = 1_500
const TAKE_SHARE_MS = 5_000
/** The authority speaks, when something came so long ago. */
const HEARD_MS = 1_000

/** The class of each kind. */
export interface LeasedOfKind {
  readonly rate: LeasedRate
  readonly concurrency: LeasedConcurrency
  readonly budget: LeasedBudget
}

const LEASES: {
  readonly [K in AllowanceKind]: new (id: string, limit: number, channel: LeaseChannel) => LeasedOfKind[K]
} = {
  rate: LeasedRate,
  concurrency: LeasedConcurrency,
  budget: LeasedBudget,
}

/** All that a front holds of allowances, and its side of the conversation with the authority. */
export class LeaseBook implements LeaseChannel {
  static readonly TICK_MS = 50
  static readonly REST_MS = 500
  readonly clock: Clock
  readonly #options: LeaseBookOptions
  readonly #leases = new Map<string, LeasedLimit>()
  /** Reports under way, oldest first: what each charged. */
  readonly #sent: Array<{ readonly sequence: number; readonly amounts: ReadonlyMap<string, number> }> = []
  readonly #dirty = new Set<LeasedLimit>()
  readonly #asks = new Map<LeasedLimit, LeaseAsk>()
  readonly #cancels = new Set<string>()
  #returns: Array<readonly [string, number]> = []
  #reclaimed: string[] = []
  /** Nothing of these is to be taken unasked. */
  readonly #crowded = new Set<string>()
  /** Of those: the authority has yet to hear that this process knows it. */
  readonly #unheard = new Set<string>()
  /** The control process that the authority spoke through last is another one now, or has forgotten this one. */
  #linkBroke = false
  #processes: number
  #connected = false
  readonly #startMs: number
  #awaySinceMs: number
  #fallbackAtMs = -Infinity
  #isHandingOver = false
  #heardMs = -Infinity
  #settledAtMs = -Infinity
  #settlingUntilMs = -Infinity
  #keepsToShares = false
  #expired = false
  #windowsExpired = false
  #epoch: string | null = null
  #sequence = 0
  #flushing = false
  #sweptMs = 0
  /** Leases at which somebody waits. */
  readonly #waited = new Set<LeasedLimit>()
  /** Made after leases had expired. */
  readonly #fresh = new Set<LeasedLimit>()
  readonly #onGranted: Array<(lease: LeasedLimit) => void> = []
  readonly #onConnected: Array<() => void> = []
  #isAtRest = false
  #onBusy: () => void = () => undefined

  constructor(options: LeaseBookOptions) {
    this.clock = options.clock
    this.#processes = options.processes
    this.#options = options
    this.#startMs = options.clock.now()
    this.#awaySinceMs = this.#startMs
  }

  /** The last tick left nothing to report and nobody who waits: the next one is due after `REST_MS`. */
  get isAtRest(): boolean {
    return this.#isAtRest
  }

  /** Called when there is something to report again, or somebody waits: the next tick is due after `TICK_MS`. */
  onBusy(listener: () => void): void {
    this.#onBusy = listener
  }

  get processes(): number {
    return this.#processes
  }

  /** How many processes share the limits. */
  setHolders(holders: number): void {
    this.#processes = Math.max(1, holders)
  }

  degradedModeOf(allowance: string): DegradedMode {
    return this.#options.degradedModeOf?.(allowance) ?? 'shares'
  }

  get connected(): boolean {
    return this.#connected
  }

  get isShared(): boolean {
    return this.#options.leaseKeepMs !== null
  }

  get authorityAnswers(): boolean {
    const nowMs = this.clock.now()
    return this.isShared && this.#connected && nowMs >= this.#settledAtMs && nowMs - this.#heardMs < HEARD_MS
  }

  get isSettling(): boolean {
    return this.#connected && this.clock.now() < this.#settlingUntilMs
  }

  get fallbackAtMs(): number {
    return this.#fallbackAtMs
  }

  get awaySinceMs(): number | null {
    return this.#connected ? null : this.#awaySinceMs
  }

  get isAwayForAll(): boolean {
    return !this.#connected && this.#fallbackAtMs === -Infinity
  }

  mayTakeUnasked(allowance: string): boolean {
    return !this.#crowded.has(allowance)
  }

  /**
   * The lease of this allowance, made where there is none. One that rests for minutes (of a budget, a day) is forgotten: whoever keeps it
   * looks at `isForgotten` before each use, as {@link Limit} does. A lease that there is takes the limit, unless `isLatest` is false.
   */
  lease<K extends AllowanceKind>(id: string, kind: K, limit: number, isLatest = true): LeasedOfKind[K] {
    let lease = this.#leases.get(id) as LeasedOfKind[K] | undefined
    if (lease === undefined) {
      lease = new LEASES[kind](id, limit, this)
      this.#leases.set(id, lease)
      if (this.#expired) this.#fresh.add(lease)
    }
    if (isLatest) lease.limit = limit
    return lease
  }

  /** Called whenever the authority has granted some of a lease, after those who waited for it were served. */
  onGranted(listener: (lease: LeasedLimit) => void): void {
    this.#onGranted.push(listener)
  }

  /** The authority is there, again or for the first time. */
  greeted({ epoch }: LeaseEpoch): void {
    const nowMs = this.clock.now()
    if (this.#connected && epoch === this.#epoch) return
    this.lost()
    const remembers = epoch === this.#epoch
    if (this.#epoch !== null) this.#settledAtMs = nowMs + SETTLE_MS
    // Of a control process that starts anew the other machines have not noticed: they go on and may take all that is left.
    const wasAwayForAll = this.#epoch !== null && this.#fallbackAtMs === -Infinity && this.isShared
    this.#settlingUntilMs = wasAwayForAll ? nowMs + SETTLE_MS : -Infinity
    if (this.#fallbackAtMs > -Infinity) this.#fallbackAtMs = nowMs + SETTLE_MS
    const awayMs = this.isShared ? nowMs - this.#awaySinceMs : 0
    const keepsLeases = this.isShared && !this.#linkBroke
    const reunion = { remembers, keepsLeases, awayMs }
    // Handed back meanwhile: no part of what is told to be held.
    this.#returns = []
    this.#linkBroke = false
    this.#epoch = epoch
    this.#connected = true
    this.#keepsToShares = false
    this.#expired = false
    this.#windowsExpired = false
    this.#fresh.clear()
    const leases = [...this.#leases.values()].map((lease) => lease.resume(reunion, nowMs))
    const crowded = [...this.#crowded]
    const isWhole = remembers && keepsLeases
    this.#options.send({ type: 'lease-resume', writer: this.#options.writer, leases, crowded, isWhole })
    for (const lease of this.#leases.values()) lease.resumed()
    for (const listener of this.#onConnected) listener()
    // What was used meanwhile: an authority over several machines waits for it.
    if (this.isShared) this.#say({ evenNothing: true })
  }

  /** This process is about to end, and takes nothing more. Whoever shares limits through Redis is remembered there. */
  farewell(): void {
    if (!this.#connected || this.isShared) return
    const nowMs = this.clock.now()
    const windows = [...this.#leases.values()].flatMap((lease) =>
      lease instanceof LeasedRate ? lease.windowCharges(nowMs) : [],
    )
    if (windows.length > 0) this.#options.send({ type: 'lease-farewell', windows })
  }

  /** Called when the authority is there and has been told what is held. */
  onConnected(listener: () => void): void {
    this.#onConnected.push(listener)
  }

  /**
   * The control process is gone, and another will soon be there. Where the authority is shared with other machines, these go on
   * meanwhile and may take all that is left: this process uses what it holds, and waits for more. So it does where the control
   * process has handed over: the next one knows what fronts used that have ended, and this process does not.
   */
  unlinked(): void {
    this.#linkBroke = true
    this.#lose(this.isShared || this.#isHandingOver ? this.clock.now() + RESTART_MS : -Infinity)
    this.#isHandingOver = false
  }

  /** The control process ends for another one. */
  handingOver(): void {
    this.#isHandingOver = true
  }

  /** The authority is away: this process goes on alone. */
  lost(): void {
    this.#lose(-Infinity)
  }

  #lose(fallbackAtMs: number): void {
    if (!this.#connected) return
    this.#connected = false
    this.#endRest()
    this.#fallbackAtMs = fallbackAtMs
    this.#asks.clear()
    this.#cancels.clear()
    this.#returns = []
    this.#reclaimed = []
    this.#sent.length = 0
    const nowMs = this.clock.now()
    this.#awaySinceMs = nowMs
    for (const lease of this.#leases.values()) lease.lost(nowMs)
  }

  receive(reply: LeaseReply): void {
    const nowMs = this.clock.now()
    this.#heardMs = nowMs
    if (reply.sequence !== null) this.#acknowledge(reply)
    for (const { allowance, left } of reply.states) {
      const lease = this.#leases.get(allowance)
      if (lease instanceof LeasedConcurrency) lease.slotsLeft(left, nowMs)
    }
    // It grants, or refuses: from now on others can have what it does not give to this process.
    if (reply.grants.some(({ amount, retryAtMs }) => amount > 0 || retryAtMs > 0)) this.#settlingUntilMs = -Infinity
    for (const grant of reply.grants) {
      const lease = this.#leases.get(grant.allowance)
      if (lease === undefined) {
        // Forgotten meanwhile: nobody here needs it.
        if (grant.amount > 0) this.#returns.push([grant.allowance, grant.amount])
        continue
      }
      lease.granted(grant, nowMs)
      for (const listener of this.#onGranted) listener(lease)
    }
    for (const [id, keep] of reply.reclaims) {
      this.#reclaimed.push(id)
      this.#leases.get(id)?.reclaimed(keep)
    }
    for (const id of reply.reclaimsOver) this.#leases.get(id)?.reclaimOver()
    this.#hear(reply)
    if (this.#reclaimed.length > 0 || this.#returns.length > 0) this.#flushSoon()
  }

  #hear({ crowded = [], roomy = [] }: LeaseReply): void {
    for (const id of crowded) {
      this.#crowded.add(id)
      this.#unheard.add(id)
      this.#flushSoon()
      if (this.#isAtRest) this.#endRest()
    }
    for (const id of roomy) {
      this.#crowded.delete(id)
      this.#unheard.delete(id)
    }
  }

  /** Reports what was used, gives back what is idle. To be called every `TICK_MS`, at rest every `REST_MS`. */
  tick(): void {
    const nowMs = this.clock.now()
    for (const lease of this.#waited) if (!lease.tick(nowMs)) this.#waited.delete(lease)
    this.#expire(nowMs)
    this.flush()
    this.#isAtRest = this.#connected && this.#waited.size === 0 && this.#unheard.size === 0
    if (nowMs - this.#sweptMs < SWEEP_MS) return
    this.#sweptMs = nowMs
    for (const [id, lease] of this.#leases) {
      if (lease.isPermanent) continue
      if (lease.isIdle(nowMs)) this.#forget(id, lease)
      else if (nowMs - lease.lastUsedMs > IDLE_MS && this.#connected) lease.returnIdle(nowMs)
    }
  }

  ask(lease: LeasedLimit, ask: LeaseAsk): void {
    this.#cancels.delete(lease.id)
    this.#asks.set(lease, ask)
    this.#flushSoon()
  }

  cancel(lease: LeasedLimit): void {
    if (!this.#asks.delete(lease)) this.#cancels.add(lease.id)
    this.#flushSoon()
  }

  giveBack(lease: LeasedLimit, amount: number): void {
    this.#returns.push([lease.id, amount])
    this.#flushSoon()
  }

  hasCharges(lease: LeasedLimit): void {
    this.#dirty.add(lease)
    if (this.#isAtRest) this.#endRest()
  }

  hasWaiters(lease: LeasedLimit): void {
    this.#waited.add(lease)
    if (this.#isAtRest) this.#endRest()
  }

  flush(): void {
    this.#flushing = false
    this.#say({ evenNothing: false })
  }

  #say({ evenNothing }: { readonly evenNothing: boolean }): void {
    if (!this.#connected) return
    const charges = [...this.#dirty].flatMap((lease) => lease.takeCharges())
    this.#dirty.clear()
    const asks = [...this.#asks.values()]
    const cancels = [...this.#cancels]
    const heard = [...this.#unheard].filter((id) => !this.#owesSlots(id))
    const news = charges.length + asks.length + cancels.length + heard.length
    if (news + this.#returns.length + this.#reclaimed.length === 0 && !evenNothing) return
    for (const id of heard) this.#unheard.delete(id)
    this.#sequence += 1
    if (charges.length > 0) this.#sent.push({ sequence: this.#sequence, amounts: amountsOf(charges) })
    const returns = this.#returns
    const reclaimed = this.#reclaimed
    this.#returns = []
    this.#reclaimed = []
    this.#cancels.clear()
    this.#asks.clear()
    const said = { charges, returns, reclaimed, cancels, asks, ...(heard.length > 0 ? { heard } : {}) }
    this.#options.send({ type: 'lease-request', sequence: this.#sequence, ...said })
  }

  #endRest(): void {
    this.#isAtRest = false
    this.#onBusy()
  }

  #owesSlots(id: string): boolean {
    const lease = this.#leases.get(id)
    return lease instanceof LeasedConcurrency && lease.owesSlots
  }

  #forget(id: string, lease: LeasedLimit): void {
    lease.isForgotten = true
    this.#leases.delete(id)
    this.#fresh.delete(lease)
  }

  #flushSoon(): void {
    if (this.#flushing) return
    this.#flushing = true
    this.#options.soon(() => {
      this.flush()
    })
  }

  /** Leases of an authority that is away for long: what of them still holds. */
  #expire(nowMs: number): void {
    if (this.#connected) return
    const { leaseKeepMs } = this.#options
    if (leaseKeepMs === null) this.#goByShares(nowMs - Math.max(this.#heardMs, this.#startMs))
    // What is leased goes back to others by itself when nobody has heard of it for a while, but not of itself while Redis is away for all.
    else {
      const awayMs = nowMs - this.#awaySinceMs
      const keepsWindows = this.isAwayForAll && awayMs < HALF_EVEN_MS
      if (awayMs >= leaseKeepMs) this.#expireAll(({ kind }) => kind !== 'rate' || !keepsWindows)
      if (!keepsWindows) this.#expireWindows()
    }
  }

  /** A process that began meanwhile would have no slots, since others have borrowed them. */
  #goByShares(silentMs: number): void {
    if (silentMs >= TAKE_SHARE_MS) this.#expireAll(({ isPermanent }) => isPermanent)
    else if (silentMs >= KEEP_TO_SHARE_MS && !this.#keepsToShares) {
      this.#keepsToShares = true
      for (const lease of this.#leases.values()) if (lease instanceof LeasedConcurrency) lease.keepToShare()
    }
  }

  #expireWindows(): void {
    if (!this.#expired || this.#windowsExpired) return
    this.#windowsExpired = true
    for (const lease of this.#leases.values()) if (lease.kind === 'rate') lease.expire()
  }

  #expireAll(isMeant: (lease: LeasedLimit) => boolean): void {
    const expired = this.#expired ? [...this.#fresh] : [...this.#leases.values()]
    this.#expired = true
    this.#fresh.clear()
    for (const lease of expired) {
      if (!isMeant(lease)) continue
      lease.expire()
      for (const listener of this.#onGranted) listener(lease)
    }
  }

  #acknowledge(reply: LeaseReply): void {
    const states = new Map(reply.states.map((state) => [state.allowance, state]))
    const sent = this.#sent[0]
    if (sent === undefined || sent.sequence !== reply.sequence) return
    this.#sent.shift()
    for (const [id, amount] of sent.amounts) {
      this.#leases.get(id)?.acknowledged(amount, states.get(id) ?? null)
    }
  }
}

function amountsOf(charges: LeaseRequest['charges']): ReadonlyMap<string, number> {
  const amounts = new Map<string, number>()
  for (const [id, , consumed, correction] of charges) amounts.set(id, (amounts.get(id) ?? 0) + consumed + correction)
  return amounts
}
