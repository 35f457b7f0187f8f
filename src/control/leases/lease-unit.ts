import type { AllowanceKind, LeaseAsk, LeaseRequest } from '../../shared/core/allowance.ts'

/** Names of the kinds in Redis. They stay, because machines of several versions share its values. */
const STORED_KINDS = { rate: 'window', concurrency: 'places', budget: 'budget' } as const
/** Charges of acknowledged calls are kept this long: a Redis that failed over may have lost them. */
const REMEMBERED_MS = 15_000

export interface ExchangeReply {
  readonly held: number
  readonly used: number
  readonly left: number
  /** By Redis's clock, as `retryAtMs`. */
  readonly emptyAtMs: number
  readonly outcome: 'none' | 'granted' | 'refused'
  readonly amount: number
  readonly retryAtMs: number
  /** Null: nobody else needs any. */
  readonly keep: number | null
  readonly reclaimOver: boolean
  readonly waiting: boolean
  /** Of a budget: all that the writer has used of it. */
  readonly charged: number
  /** Of a budget: nobody has said yet what the database has of it. */
  readonly isUnread: boolean
  /** Whether what is set aside for outages is in use, and Redis knows that this machine has heard of it. */
  readonly crowd: 'roomy' | 'heard' | 'unheard'
}

interface Flight {
  readonly sequence: number
  readonly call: Record<string, unknown>
  /** By bucket of Redis: what the call books. */
  readonly charges: ReadonlyArray<readonly [bucket: number, amount: number]>
  /** Requests of the holder that are acknowledged with it. */
  readonly requests: readonly number[]
  /** How often the holder had said what it holds. */
  readonly session: number
  readonly isEnd: boolean
}

/** What the database has of a budget, by journal, and the journals of this machine that may have more to tell. */
export interface SettledUse {
  readonly amounts: Readonly<Record<string, number>>
  readonly living: readonly string[]
}

export interface CallFrame {
  readonly sequence: number
  readonly session: number
  /** The journal of the holder. */
  readonly writer: string
  readonly toRedisBucket: (bucket: number) => number
}

/**
 * What one holder has to say about one allowance. One call is under way at a time, and is repeated, the same, until it is
 * answered; what is said meanwhile goes with the next.
 */
export class LeaseUnit {
  readonly name: string
  /** What Redis calls it. */
  readonly holder: string
  readonly allowance: string
  kind: AllowanceKind = 'rate'
  limit: number | null = null
  held = 0
  /** An ask of the holder stands. */
  waiting: 'blocking' | 'short' | null = null
  answeredMs = 0
  flight: Flight | null = null
  #acknowledged = 0
  /** By bucket of this machine. */
  #charges = new Map<number, [consumed: number, correction: number]>()
  #returned = 0
  #reclaimed = false
  #cancelled = false
  #ask: LeaseAsk | null = null
  #resumed: {
    readonly held: number
    readonly used: ReadonlyArray<readonly [number, number]>
    readonly isWhole: boolean
  } | null = null
  #requests: number[] = []
  #settled: SettledUse | null = null
  #heard = false
  #gone = false
  #recent: Array<{ readonly sequence: number; readonly atMs: number; readonly charges: Flight['charges'] }> = []

  constructor(name: string, holder: string, allowance: string) {
    this.name = name
    this.holder = holder
    this.allowance = allowance
  }

  get isIdle(): boolean {
    return this.held === 0 && this.waiting === null && this.flight === null && !this.#hasNews
  }

  get isGone(): boolean {
    return this.#gone
  }

  charge([, bucket, consumed, correction]: LeaseRequest['charges'][number]): void {
    const charge = this.#charges.get(bucket)
    if (charge === undefined) this.#charges.set(bucket, [consumed, correction])
    else {
      charge[0] += consumed
      charge[1] += correction
    }
  }

  /** The request with this number is acknowledged with the next call. */
  acknowledges(request: number): void {
    this.#requests.push(request)
  }

  giveBack(amount: number): void {
    this.#returned += amount
  }

  reclaimed(): void {
    this.#reclaimed = true
  }

  cancel(): void {
    this.#ask = null
    this.#cancelled = true
  }

  ask(ask: LeaseAsk): void {
    this.kind = ask.kind
    this.limit = ask.limit
    this.#ask = ask
    this.#cancelled = false
  }

  /** The holder is away from the authority, and will say anew what it wants and holds. */
  silence(): void {
    this.waiting = null
    this.#ask = null
    this.#requests = []
  }

  /**
   * Replaces what was held by what the holder says. What it drew since it was heard last was part of what it held, and counts as
   * used with the rest of that; of what it said before, only corrections stand. `used` is empty if those are remembered. What it says
   * it used of a budget is all of it, those corrections included. `isWhole`: what it drew is all known, and Redis need not take for
   * used what is not held any more.
   */
  resume(held: number, used: ReadonlyArray<readonly [bucket: number, amount: number]>, isWhole = false): void {
    this.silence()
    this.#returned = 0
    this.#reclaimed = false
    this.#cancelled = false
    if (this.kind === 'budget' && used.length > 0) this.#charges.clear()
    let consumed = 0
    for (const charge of this.#charges.values()) {
      if (isWhole) consumed += charge[0]
      else charge[0] = 0
    }
    this.#resumed = { held: held + consumed, used, isWhole }
  }

  /** Redis has lost what it was told, and the holder will tell everything. */
  forget(): void {
    this.silence()
    this.flight = null
    this.#acknowledged = 0
    this.#recent = []
    this.#heard = false
    this.discard()
  }

  /** The holder tells everything: what it said before must not count twice. */
  discard(): void {
    this.#charges.clear()
    this.#returned = 0
  }

  settled(use: SettledUse): void {
    this.#settled = use
  }

  /** All fronts of this machine know that the allowance is crowded. */
  heard(): void {
    this.#heard = true
  }

  gone(): void {
    this.silence()
    this.#gone = true
  }

  /** The call under way, or the next one. */
  call(frame: CallFrame): Flight {
    this.flight ??= this.#nextCall(frame)
    return this.flight
  }

  /** Redis has lost answered calls after `last`: the call under way carries what they did. */
  repair(last: number): void {
    if (this.flight === null) return
    const charges = this.#recent.filter(({ sequence }) => sequence > last).flatMap((recent) => recent.charges)
    this.flight = { ...this.flight, call: { ...this.flight.call, f: { h: this.held, c: charges } } }
  }

  answered(reply: ExchangeReply, nowMs: number): void {
    const { flight } = this
    if (flight === null) return
    this.flight = null
    this.held = reply.held
    this.answeredMs = nowMs
    this.#acknowledged = flight.sequence
    if (!reply.waiting) this.waiting = null
    if (flight.charges.length > 0) {
      this.#recent = this.#recent.filter(({ atMs }) => nowMs - atMs < REMEMBERED_MS)
      this.#recent.push({ sequence: flight.sequence, atMs: nowMs, charges: flight.charges })
    }
  }

  get hasNews(): boolean {
    return this.flight !== null || this.#hasNews
  }

  get #hasNews(): boolean {
    const says = this.#reclaimed || this.#cancelled || this.#gone || this.#ask !== null || this.#resumed !== null
    if (this.#settled !== null || this.#heard) return true
    return says || this.#charges.size > 0 || this.#returned > 0 || this.#requests.length > 0
  }

  #nextCall({ sequence, session, writer, toRedisBucket }: CallFrame): Flight {
    const bucketFor = (bucket: number): number => (this.kind === 'budget' ? 0 : toRedisBucket(bucket))
    const charges = [...this.#charges].map(([bucket, [consumed, correction]]) => [
      bucketFor(bucket),
      consumed,
      correction,
    ])
    const resumed = this.#resumed
    const used = resumed?.used.map(([bucket, amount]) => [bucketFor(bucket), amount] as const) ?? []
    const ask = this.#ask
    const call = {
      A: this.allowance,
      h: this.holder,
      s: sequence,
      b: this.#acknowledged,
      k: STORED_KINDS[this.kind],
      w: writer,
      ...(this.limit === null ? {} : { l: this.limit }),
      ...(charges.length > 0 ? { c: charges } : {}),
      ...(this.#returned > 0 ? { r: this.#returned } : {}),
      ...(this.#reclaimed ? { R: true } : {}),
      ...(this.#cancelled ? { x: true } : {}),
      ...(ask === null ? {} : { a: { n: ask.need, w: ask.wanted, t: ask.blocking } }),
      ...(resumed === null ? {} : { S: { h: resumed.held, u: used, k: resumed.isWhole } }),
      ...(this.#gone ? { G: true } : {}),
      ...(this.#heard ? { m: true } : {}),
      ...(this.#settled === null ? {} : { B: this.#settled.amounts, L: this.#settled.living }),
    }
    if (ask !== null) this.waiting = ask.blocking ? 'blocking' : 'short'
    const booked = charges.map(
      ([bucket, consumed, correction]) => [bucket ?? 0, (consumed ?? 0) + (correction ?? 0)] as const,
    )
    const flight = {
      sequence,
      call,
      charges: [...booked, ...used],
      requests: this.#requests,
      session,
      isEnd: this.#gone,
    }
    this.#charges = new Map()
    this.#returned = 0
    this.#reclaimed = false
    this.#cancelled = false
    this.#ask = null
    this.#resumed = null
    this.#requests = []
    this.#settled = null
    this.#heard = false
    return flight
  }
}
