import { randomUUID } from 'node:crypto'
import type { LeaseRequest, LeaseResume } from '../../shared/core/allowance.ts'
import { allowancesOf } from '../../shared/core/budget.ts'
import type { Clock } from '../../shared/runtime/clock.ts'
import type { Authority, AuthorityOptions, SettledSpend } from './authority.ts'
import type { RedisCall } from '../store/redis-connection.ts'
import { Crowds } from './crowds.ts'
import { readExchange } from './exchange-answer.ts'
import { EVERYBODY, LeaseHolders } from './lease-holders.ts'
import type { Holder } from './lease-holders.ts'
import type { LeaseUnit } from './lease-unit.ts'
import { RedisPresence } from './redis-presence.ts'
import { SCRIPTS } from './script-runner.ts'
import type { ScriptRunner } from './script-runner.ts'
import { SettledSpendAudits } from './settled-spend-audits.ts'

export interface RedisAuthorityOptions extends AuthorityOptions {
  readonly clock: Clock
  readonly runner: ScriptRunner
  /** Begins the names of all keys and channels. */
  readonly prefix: string
  /** This machine, and which of its control processes: a later one has a larger number. */
  readonly node: string
  readonly incarnation: number
  /** How many fronts of this machine there are, or are about to be. */
  readonly fronts: () => number
  /** Fronts that were there before this process hold leases of an earlier one: it waits for them before it takes those back. */
  readonly isRestart: boolean
  readonly budgets: SettledSpend
  /** Redis is there, and fronts are to say what they hold. */
  readonly onHere: () => void
  /** Redis cannot be asked: fronts go on alone. */
  readonly onAway: (cause: Error) => void
  /** How many fronts there are on all machines. */
  readonly onHolders: (holders: number) => void
  readonly onFault: (cause: unknown) => void
  /** Runs `flush` when the present turn is over. */
  readonly soon: (flush: () => void) => void
  /** Simulated time: the scripts are told it in place of Redis's own. */
  readonly redisClock?: () => number
}

/** Most calls of one round trip. */
const BATCH = 256
const RENEW_MS = 5_000
const RENEW_EVERY_MS = 1_000
const FORGET_MS = 10_000
const POLL_MS = { blocking: 500, short: 100 } as const
const RESUME_GRACE_MS = 2_000

/**
 * The authority over the fronts of all machines, in Redis. Every machine has one of these; what each front says is passed on,
 * for each allowance in a call of its own that is numbered and repeated until it is answered. `tick` is to be called every few
 * dozen milliseconds.
 */
export class RedisAuthority implements Authority {
  readonly #options: RedisAuthorityOptions
  readonly #presence: RedisPresence
  readonly #holders: LeaseHolders
  readonly #audits: SettledSpendAudits
  readonly #crowds: Crowds
  /** Units that have something to tell Redis. */
  readonly #dirty = new Set<LeaseUnit>()
  /** Units whose ask stands in Redis. */
  readonly #waiting = new Set<LeaseUnit>()
  /** Units whose use of the time without Redis has reached this process, but not Redis. */
  readonly #untold = new Set<LeaseUnit>()
  /** Fronts that have said what they hold. */
  readonly #resumed = new Set<string>()
  /** How often Redis went away. */
  #outages = 0
  #sequence = 0
  #flushing = false
  #flight: Promise<void> | null = null
  #renewAtMs = 0
  /** Redis may take back what holders of an earlier control process of this machine held. */
  #purges: boolean

  constructor(options: RedisAuthorityOptions) {
    this.#options = options
    this.#purges = !options.isRestart
    this.#holders = new LeaseHolders((name) => `${options.node}/${options.incarnation}/${name}`)
    this.#presence = new RedisPresence({
      ...options,
      hasTold: () => this.#hasTold,
      onHere: (lost) => {
        this.#here(lost)
      },
      onAway: (cause) => {
        this.#away(cause)
      },
    })
    this.#audits = new SettledSpendAudits({
      budgets: options.budgets,
      writerName: (writer) => this.#writerName(writer),
      unitOf: (allowance) => this.#budgetUnit(allowance),
      askTaken: (allowances) => this.#askTaken(allowances),
      onAudited: (unit) => {
        this.#dirty.add(unit)
        this.#flushSoon()
      },
      onFault: options.onFault,
    })
    this.#crowds = new Crowds({ reply: options.reply, fronts: () => this.#resumed })
  }

  /** Null while Redis is away. */
  get epoch(): string | null {
    return this.#presence.isHere ? this.#presence.epoch : null
  }

  /** Fronts on all machines, as far as they are known. */
  get holders(): number {
    return this.#presence.holders
  }

  /** Redis is there and hands out leases. */
  get isServing(): boolean {
    return this.#presence.isServing
  }

  resume(name: string, { writer, leases, crowded = [], isWhole = false }: LeaseResume): void {
    const holder = this.#holders.holder(name)
    holder.writer = writer
    this.#audits.began(writer)
    const { epoch } = this.#presence
    const isNew = holder.epoch !== epoch
    holder.outages = this.#outages
    holder.session += 1
    holder.epoch = epoch
    const told = new Set<string>()
    for (const { allowance, kind, limit, held, used } of leases) {
      const unit = this.#holders.unit(holder, allowance)
      unit.kind = kind
      unit.limit = limit
      if (isNew) unit.discard()
      unit.resume(held, used, isWhole && !isNew)
      told.add(allowance)
      this.#dirty.add(unit)
    }
    for (const [allowance, unit] of holder.units) {
      if (told.has(allowance)) continue
      if (isNew) unit.discard()
      unit.resume(0, [], isWhole && !isNew)
      this.#dirty.add(unit)
    }
    this.#resumed.add(name)
    for (const allowance of this.#crowds.connected(name, crowded)) this.#look(allowance)
    if (this.#resumed.size >= this.#options.fronts()) this.#purges = true
    this.#flushSoon()
  }

  exchange(name: string, request: LeaseRequest): void {
    const holder = this.#holders.holder(name)
    const touch = (allowance: string): LeaseUnit => {
      const unit = this.#holders.unit(holder, allowance)
      this.#dirty.add(unit)
      return unit
    }
    for (const charge of request.charges) touch(charge[0]).charge(charge)
    for (const [allowance, amount] of request.returns) touch(allowance).giveBack(amount)
    this.#told(holder)
    this.#crowds.heard(name, request.heard ?? [])
    if (request.heard !== undefined) this.#tellHeard()
    if (holder.outages === this.#outages && this.#presence.isHere) {
      for (const allowance of request.reclaimed) touch(allowance).reclaimed()
      for (const allowance of request.cancels) touch(allowance).cancel()
      for (const ask of request.asks) touch(ask.allowance).ask(ask)
      const charged = new Set(request.charges.map(([allowance]) => allowance))
      if (charged.size > 0) holder.replies.expect(request.sequence, charged.size)
      for (const allowance of charged) touch(allowance).acknowledges(request.sequence)
    }
    this.#flushSoon()
  }

  /** Redis remembers what was used. */
  farewell(): void {}

  /** The first message of a front after what it holds says what it used meanwhile. */
  #told(holder: Holder): void {
    if (holder.outages !== this.#outages || holder.toldOutages === this.#outages) return
    holder.toldOutages = this.#outages
    for (const unit of holder.units.values()) if (unit.hasNews) this.#untold.add(unit)
  }

  /** Redis knows what all fronts of this machine did while it was away. */
  get #hasTold(): boolean {
    if (!this.#presence.isHere || this.#untold.size > 0) return false
    for (const name of this.#resumed) if (this.#holders.find(name)?.toldOutages !== this.#outages) return false
    return this.#resumed.size >= this.#options.fronts()
  }

  gone(name: string): void {
    const holder = this.#holders.find(name)
    if (holder === undefined) return
    holder.isGone = true
    this.#resumed.delete(name)
    this.#crowds.gone(name)
    for (const unit of holder.units.values()) {
      unit.gone()
      this.#waiting.delete(unit)
      this.#dirty.add(unit)
    }
    this.#audits.left(holder.writer, budgetsAmong(holder.units.values()))
    this.#holders.dropIfGone(holder)
    this.#flushSoon()
  }

  async budgetsTaken(allowances: readonly string[]): Promise<ReadonlyMap<string, number>> {
    if (!this.#presence.isHere) return new Map()
    const answers = await this.#askTaken(allowances)
    return new Map(
      allowances.flatMap((allowance, at) => {
        const answer = answers[at]
        return typeof answer === 'string' && answer !== '' ? [[allowance, Number(answer)] as const] : []
      }),
    )
  }

  /** Asks Redis how much of budgets is taken: a number as text, or nothing where it does not know. */
  #askTaken(allowances: readonly string[]): ReturnType<ScriptRunner['run']> {
    const { shards } = this.#presence
    const calls = allowances.map((allowance) => ({
      script: SCRIPTS.budget,
      keys: shards.keysOf(allowance),
      args: [this.#presence.nowArgument()],
    }))
    return this.#options.runner.run(calls)
  }

  ended(writer: string, budgets: readonly string[]): void {
    this.#audits.ended(writer, allowancesOf(budgets))
    this.#audit(budgetsAmong([...this.#holders.units()].map(([, unit]) => unit)))
  }

  settledLate(budgets: readonly string[]): void {
    this.#audits.settledLate(allowancesOf(budgets))
  }

  #audit(allowances: readonly string[]): void {
    if (this.#purges) this.#audits.audit(allowances)
  }

  /** A unit of a front that is here; without one, that of all fronts together. */
  #budgetUnit(allowance: string): LeaseUnit {
    for (const { units, isGone } of this.#holders.all()) {
      const unit = isGone ? undefined : units.get(allowance)
      if (unit !== undefined) return unit
    }
    const unit = this.#holders.unit(this.#holders.holder(EVERYBODY), allowance)
    unit.kind = 'budget'
    return unit
  }

  /** Journals of other machines bear the name of theirs. The sum of closed journals has none: it is the same for all machines. */
  #writerName(writer: string): string {
    return writer === '' || writer.includes('/') ? writer : `${this.#options.node}/${writer}`
  }

  /** Another machine needs what `holder` has, or has given back what it waits for. */
  poked(allowance: string, holder: string): void {
    if (holder.endsWith(`/${EVERYBODY}`)) {
      this.#look(allowance)
      return
    }
    const unit = this.#holders.named(holder)?.units.get(allowance)
    if (unit === undefined) return
    this.#dirty.add(unit)
    this.#flushSoon()
  }

  /** Asks Redis whether the allowance is crowded. */
  #look(allowance: string): void {
    this.#dirty.add(this.#holders.unit(this.#holders.holder(EVERYBODY), allowance))
    this.#flushSoon()
  }

  /** Tells Redis of what all fronts have heard, and have said all they had taken unasked before. */
  #tellHeard(): void {
    if (!this.#purges) return
    const isSettled = (allowance: string): boolean => {
      for (const { name, units } of this.#holders.all()) {
        if (name !== EVERYBODY && units.get(allowance)?.hasNews === true) return false
      }
      return true
    }
    for (const allowance of this.#crowds.takeHeard(isSettled)) {
      this.#holders.unit(this.#holders.holder(EVERYBODY), allowance).heard()
      this.#look(allowance)
    }
  }

  tick(): void {
    const nowMs = this.#options.clock.now()
    this.#presence.tick(nowMs)
    if (!this.#presence.isHere) return
    if (this.#presence.hereForMs(nowMs) > RESUME_GRACE_MS) this.#purges = true
    if (this.#purges && this.#presence.mayCall(nowMs)) this.#audits.tick()
    for (const unit of this.#waiting) {
      if (unit.waiting === null) this.#waiting.delete(unit)
      else if (nowMs - unit.answeredMs >= POLL_MS[unit.waiting]) this.#dirty.add(unit)
    }
    if (nowMs >= this.#renewAtMs) this.#renew(nowMs)
    this.#tellHeard()
    this.#flush()
  }

  /** Tells the other machines that this one leaves. Its leases are free as soon as its fronts are gone. */
  async leave(): Promise<void> {
    for (const { name } of this.#holders.all()) this.gone(name)
    await this.#flight
    while (this.#dirty.size > 0 && this.#presence.isHere && !this.#presence.isFailing) await this.#fly()
    await this.#presence.end()
  }

  #here(lost: ReadonlySet<number>): void {
    for (const { units } of this.#holders.all()) {
      for (const unit of [...units.values()]) {
        if (!lost.has(this.#presence.shards.of(unit.allowance))) continue
        unit.forget()
        if (unit.isGone) this.#drop(unit)
      }
    }
    this.#options.onHere()
    this.#flushSoon()
  }

  #away(cause: Error): void {
    this.#outages += 1
    this.#waiting.clear()
    this.#untold.clear()
    for (const { replies, units } of this.#holders.all()) {
      replies.clear()
      for (const unit of units.values()) unit.silence()
    }
    this.#options.onAway(cause)
  }

  #renew(nowMs: number): void {
    this.#renewAtMs = nowMs + RENEW_EVERY_MS
    for (const { name, units } of this.#holders.all()) {
      for (const unit of [...units.values()]) {
        const sinceMs = nowMs - unit.answeredMs
        const isLooked = name === EVERYBODY && this.#crowds.knows(unit.allowance)
        if (unit.hasNews || ((unit.held > 0 || isLooked) && sinceMs >= RENEW_MS)) this.#dirty.add(unit)
        else if (!isLooked && unit.isIdle && sinceMs > FORGET_MS) this.#drop(unit)
      }
    }
  }

  #flushSoon(): void {
    if (this.#flushing || !this.#presence.isHere) return
    this.#flushing = true
    this.#options.soon(() => {
      this.#flushing = false
      this.#flush()
    })
  }

  #flush(): void {
    if (this.#flight !== null || this.#dirty.size === 0 || !this.#presence.mayCall(this.#options.clock.now())) return
    // One batch at a time: what comes meanwhile goes with the next.
    this.#flight = this.#fly()
      .catch(this.#options.onFault)
      .finally(() => {
        this.#flight = null
        if (this.#dirty.size > 0) this.#flushSoon()
      })
  }

  async #fly(): Promise<void> {
    const units: LeaseUnit[] = []
    for (const unit of this.#dirty) {
      this.#dirty.delete(unit)
      units.push(unit)
      if (units.length === BATCH) break
    }
    const freshEpoch = randomUUID()
    const answers = await this.#options.runner.run(units.map((unit) => this.#callOf(unit, freshEpoch)))
    const touched = new Set<Holder>()
    let failure: Error | null = null
    for (const [at, unit] of units.entries()) {
      const answer = answers[at]
      if (answer instanceof Error || answer === undefined) {
        failure = answer ?? new Error('no answer')
        this.#dirty.add(unit)
      } else this.#answered(unit, answer, touched)
    }
    if (failure !== null) this.#presence.failed(failure)
    else this.#presence.succeeded()
    for (const holder of touched) {
      for (const reply of holder.replies.take()) this.#options.reply(holder.name, reply)
    }
  }

  #callOf(unit: LeaseUnit, freshEpoch: string): RedisCall {
    this.#sequence += 1
    const holder = this.#holders.find(unit.name)
    const { shards, clocks, holders, nodes } = this.#presence
    const { call } = unit.call({
      sequence: this.#sequence,
      session: holder?.session ?? 0,
      writer: this.#writerName(holder?.writer ?? unit.name),
      toRedisBucket: (bucket) => clocks.toRedisBucket(bucket),
    })
    if (unit.waiting !== null) this.#waiting.add(unit)
    const { node, incarnation, prefix } = this.#options
    const frame = {
      e: shards.epochOf(shards.of(unit.allowance)),
      N: holders,
      M: nodes,
      n: node,
      i: incarnation,
      ...(this.#purges ? { g: true } : {}),
    }
    return {
      script: SCRIPTS.exchange,
      keys: shards.keysOf(unit.allowance),
      args: [this.#presence.nowArgument(), freshEpoch, JSON.stringify({ ...call, ...frame }), `${prefix}:poke:`],
    }
  }

  #answered(unit: LeaseUnit, answer: unknown, touched: Set<Holder>): void {
    const nowMs = this.#options.clock.now()
    const read = readExchange(answer)
    switch (read.status) {
      case 'lost':
        this.#presence.forgot()
        return
      case 'gap':
        // Another holder has spoken for the same journal since.
        if (unit.isGone) {
          this.#drop(unit)
          return
        }
        unit.repair(read.last)
        this.#dirty.add(unit)
        return
      case 'stale':
        this.#options.onFault(new Error(`Redis knows a later call of ${unit.allowance}`))
        unit.forget()
        return
      case 'ok': {
        const { flight } = unit
        if (flight === null) return
        unit.answered(read.reply, nowMs)
        if (!unit.hasNews) this.#untold.delete(unit)
        if (flight.isEnd) this.#drop(unit)
        else if (unit.hasNews) this.#dirty.add(unit)
        const holder = this.#holders.find(unit.name)
        if (unit.name === EVERYBODY) {
          this.#crowds.learn(unit.allowance, read.reply.crowd)
          this.#tellHeard()
          return
        }
        if (holder?.outages !== this.#outages || !this.#presence.isHere) return
        if (flight.session !== holder.session) return
        if (unit.kind === 'budget') {
          if (read.reply.isUnread && unit.waiting !== null && !unit.hasNews) this.#audits.forget(unit.allowance)
          this.#audit([unit.allowance])
        }
        holder.replies.add(unit, read.reply, flight.requests, this.#presence.clocks)
        touched.add(holder)
      }
    }
  }

  #drop(unit: LeaseUnit): void {
    this.#dirty.delete(unit)
    this.#waiting.delete(unit)
    this.#untold.delete(unit)
    this.#holders.drop(unit)
  }
}

/** The allowances of those that are of budgets. */
function budgetsAmong(units: Iterable<LeaseUnit>): string[] {
  return [...units].flatMap(({ kind, allowance }) => (kind === 'budget' ? [allowance] : []))
}
