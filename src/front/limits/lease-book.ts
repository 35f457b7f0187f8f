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
import { LeasedLimit } from './leased-limit.ts'
import type { LeaseChannel } from './leased-limit.ts'
import { HALF_EVEN_MS } from './window-use.ts'

export interface LeaseBookOptions {
  readonly clock: Clock
  readonly processes: number
  /** The journal of this process. */
  readonly writer: string
  /** How long leases are good without the authority, milliseconds; null: it waits for whoever holds them. */
  readonly leaseKeepMs: number | null
  /** By default shares. */
  readonly degradedOf?: (allowance: string) => DegradedMode
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

/** All that a front holds of allowances, and its side of the conversation with the authority. */
export class LeaseBook implements LeaseChannel {
  readonly clock: Clock
  readonly #options: LeaseBookOptions
  readonly #holdings = new Map<string, LeasedLimit>()
  /** Reports under way, oldest first: what each charged. */
  readonly #sent: Array<{ readonly sequence: number; readonly amounts: ReadonlyMap<string, number> }> = []
  readonly #dirty = new Set<LeasedLimit>()
  readonly #asks = new Map<LeasedLimit, LeaseAsk>()
  readonly #cancels = new Set<string>()
  #returns: Array<readonly [string, number]> = []
  #recalled: string[] = []
  /** Nothing of these is to be taken unasked. */
  readonly #crowded = new Set<string>()
  /** Of those: the authority has yet to hear that this process knows it. */
  readonly #unheard = new Set<string>()
  /** The control process that the authority spoke through last is another one now, or has forgotten this one. */
  #linkBroke = false
  #processes: number
  #connected = false
  readonly #startMs: number
  #lostMs: number
  #aloneAtMs = -Infinity
  #isHandingOver = false
  #heardMs = -Infinity
  #settledAtMs = -Infinity
  #goesOnUntilMs = -Infinity
  #keepsToShares = false
  #expired = false
  #windowsExpired = false
  #epoch: string | null = null
  #sequence = 0
  #flushing = false
  #sweptMs = 0
  /** Holdings at which somebody waits. */
  readonly #waited = new Set<LeasedLimit>()
  /** Made after leases had expired. */
  readonly #fresh = new Set<LeasedLimit>()
  readonly #onGranted: Array<(holding: LeasedLimit) => void> = []
  readonly #onConnected: Array<() => void> = []

  constructor(options: LeaseBookOptions) {
    this.clock = options.clock
    this.#processes = options.processes
    this.#options = options
    this.#startMs = options.clock.now()
    this.#lostMs = this.#startMs
  }

  get processes(): number {
    return this.#processes
  }

  /** How many processes share the limits. */
  setHolders(holders: number): void {
    this.#processes = Math.max(1, holders)
  }

  degradedOf(allowance: string): DegradedMode {
    return this.#options.degradedOf?.(allowance) ?? 'shares'
  }

  get connected(): boolean {
    return this.#connected
  }

  get isShared(): boolean {
    return this.#options.leaseKeepMs !== null
  }

  get othersDecide(): boolean {
    const nowMs = this.clock.now()
    return this.isShared && this.#connected && nowMs >= this.#settledAtMs && nowMs - this.#heardMs < HEARD_MS
  }

  get goesOnAlone(): boolean {
    return this.#connected && this.clock.now() < this.#goesOnUntilMs
  }

  get aloneAtMs(): number {
    return this.#aloneAtMs
  }

  get lostMs(): number | null {
    return this.#connected ? null : this.#lostMs
  }

  get isAwayForAll(): boolean {
    return !this.#connected && this.#aloneAtMs === -Infinity
  }

  mayTakeUnasked(allowance: string): boolean {
    return !this.#crowded.has(allowance)
  }

  /**
   * The holding of this allowance, made where there is none. One that rests for minutes (of a budget, a day) is forgotten: whoever keeps it
   * looks at `isForgotten` before each use, as {@link Limit} does.
   */
  holding(id: string, kind: AllowanceKind, limit: number): LeasedLimit {
    let holding = this.#holdings.get(id)
    if (holding === undefined) {
      holding = new LeasedLimit(id, kind, limit, this)
      this.#holdings.set(id, holding)
      if (this.#expired) this.#fresh.add(holding)
    }
    holding.limit = limit
    return holding
  }

  /** Called whenever the authority has granted some of a holding, after those who waited for it were served. */
  onGranted(listener: (holding: LeasedLimit) => void): void {
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
    const wasAwayForAll = this.#epoch !== null && this.#aloneAtMs === -Infinity && this.isShared
    this.#goesOnUntilMs = wasAwayForAll ? nowMs + SETTLE_MS : -Infinity
    if (this.#aloneAtMs > -Infinity) this.#aloneAtMs = nowMs + SETTLE_MS
    const awayMs = this.isShared ? nowMs - this.#lostMs : 0
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
    const holdings = [...this.#holdings.values()].map((holding) => holding.resume(reunion, nowMs))
    const crowded = [...this.#crowded]
    const isWhole = remembers && keepsLeases
    this.#options.send({ type: 'lease-resume', writer: this.#options.writer, holdings, crowded, isWhole })
    for (const holding of this.#holdings.values()) holding.resumed()
    for (const listener of this.#onConnected) listener()
    // What was used meanwhile: an authority over several machines waits for it.
    if (this.isShared) this.#say({ evenNothing: true })
  }

  /** This process is about to end, and takes nothing more. Whoever shares limits through Redis is remembered there. */
  farewell(): void {
    if (!this.#connected || this.isShared) return
    const nowMs = this.clock.now()
    const windows = [...this.#holdings.values()].flatMap((holding) => holding.windowCharges(nowMs))
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

  #lose(aloneAtMs: number): void {
    if (!this.#connected) return
    this.#connected = false
    this.#aloneAtMs = aloneAtMs
    this.#asks.clear()
    this.#cancels.clear()
    this.#returns = []
    this.#recalled = []
    this.#sent.length = 0
    const nowMs = this.clock.now()
    this.#lostMs = nowMs
    for (const holding of this.#holdings.values()) holding.lost(nowMs)
  }

  receive(reply: LeaseReply): void {
    const nowMs = this.clock.now()
    this.#heardMs = nowMs
    if (reply.sequence !== null) this.#acknowledge(reply)
    for (const { allowance, left } of reply.states) this.#holdings.get(allowance)?.placesLeft(left, nowMs)
    // It grants, or refuses: from now on others can have what it does not give to this process.
    if (reply.grants.some(({ amount, retryAtMs }) => amount > 0 || retryAtMs > 0)) this.#goesOnUntilMs = -Infinity
    for (const grant of reply.grants) {
      const holding = this.#holdings.get(grant.allowance)
      if (holding === undefined) {
        // Forgotten meanwhile: nobody here needs it.
        if (grant.amount > 0) this.#returns.push([grant.allowance, grant.amount])
        continue
      }
      holding.granted(grant, nowMs)
      for (const listener of this.#onGranted) listener(holding)
    }
    for (const [id, keep] of reply.recalls) {
      this.#recalled.push(id)
      this.#holdings.get(id)?.recalled(keep)
    }
    for (const id of reply.calms) this.#holdings.get(id)?.calm()
    this.#hear(reply)
    if (this.#recalled.length > 0 || this.#returns.length > 0) this.#flushSoon()
  }

  #hear({ crowded = [], roomy = [] }: LeaseReply): void {
    for (const id of crowded) {
      this.#crowded.add(id)
      this.#unheard.add(id)
      this.#flushSoon()
    }
    for (const id of roomy) {
      this.#crowded.delete(id)
      this.#unheard.delete(id)
    }
  }

  /** Reports what was used, gives back what is idle. To be called every few dozen milliseconds. */
  tick(): void {
    const nowMs = this.clock.now()
    for (const holding of this.#waited) if (!holding.tick(nowMs)) this.#waited.delete(holding)
    this.#expire(nowMs)
    this.flush()
    if (nowMs - this.#sweptMs < SWEEP_MS) return
    this.#sweptMs = nowMs
    for (const [id, holding] of this.#holdings) {
      if (holding.isPermanent) continue
      if (holding.isIdle(nowMs)) this.#forget(id, holding)
      else if (nowMs - holding.lastUsedMs > IDLE_MS && this.#connected) holding.returnIdle(nowMs)
    }
  }

  ask(holding: LeasedLimit, ask: LeaseAsk): void {
    this.#cancels.delete(holding.id)
    this.#asks.set(holding, ask)
    this.#flushSoon()
  }

  cancel(holding: LeasedLimit): void {
    if (!this.#asks.delete(holding)) this.#cancels.add(holding.id)
    this.#flushSoon()
  }

  giveBack(holding: LeasedLimit, amount: number): void {
    this.#returns.push([holding.id, amount])
    this.#flushSoon()
  }

  dirty(holding: LeasedLimit): void {
    this.#dirty.add(holding)
  }

  waiting(holding: LeasedLimit): void {
    this.#waited.add(holding)
  }

  flush(): void {
    this.#flushing = false
    this.#say({ evenNothing: false })
  }

  #say({ evenNothing }: { readonly evenNothing: boolean }): void {
    if (!this.#connected) return
    const charges = [...this.#dirty].flatMap((holding) => holding.takeCharges())
    this.#dirty.clear()
    const asks = [...this.#asks.values()]
    const cancels = [...this.#cancels]
    const heard = [...this.#unheard].filter((id) => this.#holdings.get(id)?.owesPlaces !== true)
    const news = charges.length + asks.length + cancels.length + heard.length
    if (news + this.#returns.length + this.#recalled.length === 0 && !evenNothing) return
    for (const id of heard) this.#unheard.delete(id)
    this.#sequence += 1
    if (charges.length > 0) this.#sent.push({ sequence: this.#sequence, amounts: amountsOf(charges) })
    const returns = this.#returns
    const recalled = this.#recalled
    this.#returns = []
    this.#recalled = []
    this.#cancels.clear()
    this.#asks.clear()
    const said = { charges, returns, recalled, cancels, asks, ...(heard.length > 0 ? { heard } : {}) }
    this.#options.send({ type: 'lease-request', sequence: this.#sequence, ...said })
  }

  #forget(id: string, holding: LeasedLimit): void {
    holding.isForgotten = true
    this.#holdings.delete(id)
    this.#fresh.delete(holding)
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
      const awayMs = nowMs - this.#lostMs
      const keepsWindows = this.isAwayForAll && awayMs < HALF_EVEN_MS
      if (awayMs >= leaseKeepMs) this.#expireAll(({ kind }) => kind !== 'window' || !keepsWindows)
      if (!keepsWindows) this.#expireWindows()
    }
  }

  /** A process that began meanwhile would have no slots, since others have borrowed them. */
  #goByShares(silentMs: number): void {
    if (silentMs >= TAKE_SHARE_MS) this.#expireAll(({ isPermanent }) => isPermanent)
    else if (silentMs >= KEEP_TO_SHARE_MS && !this.#keepsToShares) {
      this.#keepsToShares = true
      for (const holding of this.#holdings.values()) holding.keepToShare()
    }
  }

  #expireWindows(): void {
    if (!this.#expired || this.#windowsExpired) return
    this.#windowsExpired = true
    for (const holding of this.#holdings.values()) if (holding.kind === 'window') holding.expire()
  }

  #expireAll(isMeant: (holding: LeasedLimit) => boolean): void {
    const expired = this.#expired ? [...this.#fresh] : [...this.#holdings.values()]
    this.#expired = true
    this.#fresh.clear()
    for (const holding of expired) {
      if (!isMeant(holding)) continue
      holding.expire()
      for (const listener of this.#onGranted) listener(holding)
    }
  }

  #acknowledge(reply: LeaseReply): void {
    const states = new Map(reply.states.map((state) => [state.allowance, state]))
    const sent = this.#sent[0]
    if (sent === undefined || sent.sequence !== reply.sequence) return
    this.#sent.shift()
    for (const [id, amount] of sent.amounts) {
      this.#holdings.get(id)?.acknowledged(amount, states.get(id) ?? null)
    }
  }
}

function amountsOf(charges: LeaseRequest['charges']): ReadonlyMap<string, number> {
  const amounts = new Map<string, number>()
  for (const [id, , drawn, correction] of charges) amounts.set(id, (amounts.get(id) ?? 0) + drawn + correction)
  return amounts
}
