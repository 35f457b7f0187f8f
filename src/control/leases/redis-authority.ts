import { randomUUID } from 'node:crypto'
import type { LeaseRequest, LeaseResume } from '../../shared/core/allowance.ts'
import type { Clock } from '../../shared/runtime/clock.ts'
import type { Authority, AuthorityOptions, SettledSpend } from './authority.ts'
import { Shards } from './shards.ts'
import { ClockOffset } from './clock-offset.ts'
import { Crowds } from './crowds.ts'
import { readExchange } from './exchange-answer.ts'
import { HolderReplies } from './holder-replies.ts'
import { LeaseUnit } from './lease-unit.ts'
import type { RedisCall } from '../store/redis-connection.ts'
import { SCRIPTS } from './script-runner.ts'
import type { ScriptRunner } from './script-runner.ts'

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

interface Holder {
  readonly name: string
  readonly units: Map<string, LeaseUnit>
  readonly replies: HolderReplies
  /** In which it said what it holds; what it wanted before that does not count any more. */
  generation: number
  /** In which it had also said what it used meanwhile. */
  toldGeneration: number
  /** Changes whenever it says what it holds: what was asked before is not for it any more. */
  resumption: number
  epoch: string | null
  isGone: boolean
  /** Its journal. */
  writer: string
}

/** Holder name that stands for all fronts of this machine. */
const EVERYBODY = '*'
const BATCH = 256
/** Failures of that long, and Redis is away. */
const FAILING_MS = 300
const RETRY_MS = 50
const HEARTBEAT_MS = 300
const PROBE_MS = 250
const PROBE_MAX_MS = 1_000
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
  readonly #shards: Shards
  readonly #clocks = new ClockOffset()
  readonly #holders = new Map<string, Holder>()
  readonly #dirty = new Set<LeaseUnit>()
  /** An ask of theirs stands in Redis. */
  readonly #waiting = new Set<LeaseUnit>()
  /** Allowances of which fronts have told their use since Redis is back, and Redis has not heard it yet. */
  readonly #untold = new Set<LeaseUnit>()
  /** Journals of this machine that may have more to tell, and how often one of them has begun or ended. */
  readonly #living = new Set<string>()
  #writers = 0
  /** Budgets of which it has been said, or is about to be, what the database has. */
  readonly #audited = new Set<string>()
  #epoch: string | null = null
  #state: 'here' | 'away' = 'away'
  #generation = 0
  #sequence = 0
  /** Null before Redis has said. */
  #holdersEverywhere: number | null = null
  #flushing = false
  #flight: Promise<void> | null = null
  #beating = false
  #failingSinceMs: number | null = null
  #retryAtMs = 0
  #beatAtMs = 0
  #saidTold = false
  #probeMs = PROBE_MS
  #renewAtMs = 0
  #purges: boolean
  #hereMs = 0
  readonly #resumed = new Set<string>()
  readonly #crowds: Crowds
  /** Machines that are there, and which of their fronts: another number when all of these began anew. */
  #nodes: Readonly<Record<string, string>> = {}

  constructor(options: RedisAuthorityOptions) {
    this.#options = options
    this.#shards = new Shards(options.prefix)
    this.#purges = !options.isRestart
    this.#crowds = new Crowds({
      reply: options.reply,
      fronts: () => this.#resumed,
    })
  }

  /** Null while Redis is away. */
  get epoch(): string | null {
    return this.#state === 'here' ? this.#epoch : null
  }

  /** Fronts on all machines, as far as they are known. */
  get holders(): number {
    return this.#holdersEverywhere ?? this.#options.fronts()
  }

  /** Redis is there and hands out leases. */
  get isServing(): boolean {
    return this.#state === 'here' && this.#clocks.toLocalMs(this.#shards.opensAtMs) <= this.#options.clock.now()
  }

  resume(name: string, { writer, leases, crowded = [], isWhole = false }: LeaseResume): void {
    const holder = this.#holder(name)
    holder.writer = writer
    if (!this.#living.has(writer)) this.#writers += 1
    this.#living.add(writer)
    const isNew = holder.epoch !== this.#epoch
    holder.generation = this.#generation
    holder.resumption += 1
    holder.epoch = this.#epoch
    const told = new Set<string>()
    for (const { allowance, kind, limit, held, used } of leases) {
      const unit = this.#unit(holder, allowance)
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
    const holder = this.#holder(name)
    const touch = (allowance: string): LeaseUnit => {
      const unit = this.#unit(holder, allowance)
      this.#dirty.add(unit)
      return unit
    }
    for (const charge of request.charges) touch(charge[0]).charge(charge)
    for (const [allowance, amount] of request.returns) touch(allowance).giveBack(amount)
    this.#told(holder)
    this.#crowds.heard(name, request.heard ?? [])
    if (request.heard !== undefined) this.#tellHeard()
    if (holder.generation === this.#generation && this.#state === 'here') {
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

  /** The first that a front says after what it holds is what it used meanwhile. */
  #told(holder: Holder): void {
    if (holder.generation !== this.#generation || holder.toldGeneration === this.#generation) return
    holder.toldGeneration = this.#generation
    for (const unit of holder.units.values()) if (unit.hasNews) this.#untold.add(unit)
  }

  /** Redis knows what all fronts of this machine did while it was away. */
  get #hasTold(): boolean {
    if (this.#state !== 'here' || this.#untold.size > 0) return false
    let told = 0
    for (const name of this.#resumed) {
      if (this.#holders.get(name)?.toldGeneration !== this.#generation) return false
      told += 1
    }
    return told >= this.#options.fronts()
  }

  gone(name: string): void {
    const holder = this.#holders.get(name)
    if (holder === undefined) return
    holder.isGone = true
    this.#resumed.delete(name)
    this.#crowds.gone(name)
    for (const unit of holder.units.values()) {
      unit.gone()
      this.#waiting.delete(unit)
      this.#dirty.add(unit)
    }
    if (holder.units.size === 0) this.#holders.delete(name)
    this.#flushSoon()
  }

  ended(writer: string): void {
    if (!this.#living.delete(writer)) return
    this.#writers += 1
    this.#audited.clear()
    for (const { units } of this.#holders.values()) {
      for (const unit of units.values()) if (unit.kind === 'budget') this.#audit(unit.allowance)
    }
  }

  /** Says what the database has of a budget: to begin with, and whenever a journal of this machine is closed. */
  #audit(allowance: string): void {
    if (this.#audited.has(allowance) || !this.#purges) return
    this.#audited.add(allowance)
    const read = async (): Promise<void> => {
      let writers: number
      let settled: ReadonlyMap<string, number>
      do {
        writers = this.#writers
        settled = (await this.#options.budgets.read([allowance])).get(allowance) ?? new Map<string, number>()
      } while (writers !== this.#writers)
      const amounts = [...settled].map(([writer, amount]) => [this.#writerName(writer), amount] as const)
      const living = [...this.#living].map((writer) => this.#writerName(writer))
      const unit = this.#budgetUnit(allowance)
      if (unit === undefined) this.#audited.delete(allowance)
      else unit.settled({ amounts: Object.fromEntries(amounts), living })
      this.#flushSoon()
    }
    read().catch(this.#options.onFault)
  }

  /** Any of this machine that deals with the budget. */
  #budgetUnit(allowance: string): LeaseUnit | undefined {
    for (const { units, isGone } of this.#holders.values()) {
      const unit = isGone ? undefined : units.get(allowance)
      if (unit === undefined) continue
      this.#dirty.add(unit)
      return unit
    }
    return undefined
  }

  /** Journals of other machines bear the name of theirs. */
  #writerName(writer: string): string {
    return writer.includes('/') ? writer : `${this.#options.node}/${writer}`
  }

  /** Somebody else needs what a holder of this machine has, or has handed back what it waits for. */
  poked(allowance: string, holder: string): void {
    if (holder.endsWith(`/${EVERYBODY}`)) {
      this.#look(allowance)
      return
    }
    const name = holder.slice(this.#fullName('').length)
    const unit = this.#holders.get(name)?.units.get(allowance)
    if (unit === undefined) return
    this.#dirty.add(unit)
    this.#flushSoon()
  }

  /** Asks Redis whether the allowance is crowded. */
  #look(allowance: string): void {
    this.#dirty.add(this.#unit(this.#holder(EVERYBODY), allowance))
    this.#flushSoon()
  }

  /** Tells Redis of what all fronts have heard, and have said all they had taken unasked before. */
  #tellHeard(): void {
    if (!this.#purges) return
    const isSettled = (allowance: string): boolean => {
      for (const { name, units } of this.#holders.values()) {
        if (name !== EVERYBODY && units.get(allowance)?.hasNews === true) return false
      }
      return true
    }
    for (const allowance of this.#crowds.takeHeard(isSettled)) {
      this.#unit(this.#holder(EVERYBODY), allowance).heard()
      this.#look(allowance)
    }
  }

  tick(): void {
    const nowMs = this.#options.clock.now()
    if (nowMs >= this.#beatAtMs || this.#isOpenedByTelling(nowMs)) this.#beat(nowMs).catch(this.#options.onFault)
    if (this.#state !== 'here') return
    if (nowMs - this.#hereMs > RESUME_GRACE_MS) this.#purges = true
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
    for (const name of [...this.#holders.keys()]) this.gone(name)
    await this.#flight
    while (this.#dirty.size > 0 && this.#state === 'here' && this.#failingSinceMs === null) await this.#fly()
    if (this.#state === 'here') await this.#options.runner.run([this.#heartbeat(0)])
    this.#state = 'away'
  }

  /** Redis waits for this machine, which has told everything since it spoke last. */
  #isOpenedByTelling(nowMs: number): boolean {
    if (this.#saidTold || this.#clocks.toLocalMs(this.#shards.opensAtMs) <= nowMs) return false
    return this.#hasTold
  }

  async #beat(nowMs: number): Promise<void> {
    if (this.#beating) return
    this.#beating = true
    this.#beatAtMs = nowMs + (this.#state === 'here' ? HEARTBEAT_MS : this.#probeMs)
    const hasTold = this.#hasTold
    this.#saidTold = hasTold
    const touches = this.#shards.touches(this.#nowArgument(), randomUUID(), this.#options.node, hasTold)
    const calls = [...touches, this.#heartbeat(this.#options.fronts())]
    try {
      const answers = await this.#options.runner.run(calls)
      const failed = answers.find((answer) => answer instanceof Error)
      if (failed !== undefined) this.#failed(failed)
      else this.#alive(answers, nowMs)
    } finally {
      this.#beating = false
    }
  }

  #heartbeat(fronts: number): RedisCall {
    const { prefix, node, incarnation, isRestart } = this.#options
    const generation = [String(incarnation), isRestart ? '1' : '0']
    return {
      script: SCRIPTS.beat,
      keys: [`${prefix}:{nodes}`],
      args: [this.#nowArgument(), node, String(fronts), ...generation],
    }
  }

  #alive(answers: readonly unknown[], sentMs: number): void {
    const { lost, redisNowMs } = this.#shards.learn(answers.slice(0, -1))
    this.#clocks.observe(sentMs, this.#options.clock.now(), redisNowMs)
    const [, count, ...nodes] = String(answers.at(-1)).split(' ')
    const fronts = Number(count ?? 0)
    this.#nodes = Object.fromEntries(nodes.map((node) => node.split('=') as [string, string]))
    if (fronts > 0 && fronts !== this.#holdersEverywhere) {
      this.#holdersEverywhere = fronts
      this.#options.onHolders(fronts)
    }
    this.#failingSinceMs = null
    if (this.#state === 'here' && lost.size === 0) return
    if (this.#state === 'here') this.#leaveAlone(new Error('Redis has lost what it was told'))
    this.#return(lost)
  }

  #return(lost: ReadonlySet<number>): void {
    this.#epoch = this.#shards.epoch
    this.#probeMs = PROBE_MS
    for (const holder of [...this.#holders.values()]) {
      for (const unit of [...holder.units.values()]) {
        if (!lost.has(this.#shards.of(unit.allowance))) continue
        unit.forget()
        if (unit.isGone) this.#drop(unit)
      }
    }
    this.#state = 'here'
    this.#hereMs = this.#options.clock.now()
    this.#options.onHere()
    this.#flushSoon()
  }

  #failed(cause: Error): void {
    const nowMs = this.#options.clock.now()
    this.#failingSinceMs ??= nowMs
    this.#retryAtMs = nowMs + RETRY_MS
    if (this.#state === 'away') this.#probeMs = Math.min(this.#probeMs * 2, PROBE_MAX_MS)
    else if (nowMs - this.#failingSinceMs >= FAILING_MS) this.#leaveAlone(cause)
  }

  #leaveAlone(cause: Error): void {
    this.#state = 'away'
    this.#generation += 1
    this.#beatAtMs = 0
    this.#failingSinceMs = null
    this.#waiting.clear()
    this.#untold.clear()
    for (const holder of this.#holders.values()) {
      holder.replies.clear()
      for (const unit of holder.units.values()) unit.silence()
    }
    this.#options.onAway(cause)
  }

  #renew(nowMs: number): void {
    this.#renewAtMs = nowMs + RENEW_EVERY_MS
    for (const holder of this.#holders.values()) {
      for (const unit of holder.units.values()) {
        const sinceMs = nowMs - unit.answeredMs
        const isLooked = holder.name === EVERYBODY && this.#crowds.knows(unit.allowance)
        if (unit.hasNews || ((unit.held > 0 || isLooked) && sinceMs >= RENEW_MS)) this.#dirty.add(unit)
        else if (isLooked) continue
        else if (unit.isIdle && sinceMs > FORGET_MS) this.#drop(unit)
      }
    }
  }

  #flushSoon(): void {
    if (this.#flushing || this.#state !== 'here') return
    this.#flushing = true
    this.#options.soon(() => {
      this.#flushing = false
      this.#flush()
    })
  }

  #flush(): void {
    if (this.#flight !== null || this.#state !== 'here' || this.#dirty.size === 0) return
    if (this.#failingSinceMs !== null && this.#options.clock.now() < this.#retryAtMs) return
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
    if (failure !== null) this.#failed(failure)
    else this.#failingSinceMs = null
    for (const holder of touched) {
      for (const reply of holder.replies.take()) this.#options.reply(holder.name, reply)
    }
  }

  #callOf(unit: LeaseUnit, freshEpoch: string): RedisCall {
    this.#sequence += 1
    const holder = this.#holders.get(unit.name)
    const { call } = unit.call({
      sequence: this.#sequence,
      resumption: holder?.resumption ?? 0,
      writer: this.#writerName(holder?.writer ?? unit.name),
      toRedisBucket: (bucket) => this.#clocks.toRedisBucket(bucket),
    })
    if (unit.waiting !== null) this.#waiting.add(unit)
    const { node, incarnation, prefix } = this.#options
    const frame = {
      e: this.#shards.epochOf(this.#shards.of(unit.allowance)),
      N: this.holders,
      M: this.#nodes,
      n: node,
      i: incarnation,
      ...(this.#purges ? { g: true } : {}),
    }
    return {
      script: SCRIPTS.exchange,
      keys: this.#shards.keysOf(unit.allowance),
      args: [this.#nowArgument(), freshEpoch, JSON.stringify({ ...call, ...frame }), `${prefix}:poke:`],
    }
  }

  #answered(unit: LeaseUnit, answer: unknown, touched: Set<Holder>): void {
    const nowMs = this.#options.clock.now()
    const read = readExchange(answer)
    switch (read.status) {
      case 'lost':
        // The heartbeat finds out what else was lost.
        if (this.#state === 'here') this.#leaveAlone(new Error('Redis has lost what it was told'))
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
        const holder = this.#holders.get(unit.name)
        if (unit.name === EVERYBODY) {
          this.#crowds.learn(unit.allowance, read.reply.crowd)
          this.#tellHeard()
          return
        }
        if (holder?.generation !== this.#generation || this.#state !== 'here') return
        if (flight.resumption !== holder.resumption) return
        if (unit.kind === 'budget') {
          if (read.reply.isUnread && unit.waiting !== null && !unit.hasNews) this.#audited.delete(unit.allowance)
          this.#audit(unit.allowance)
        }
        holder.replies.add(unit, read.reply, flight.requests, this.#clocks)
        touched.add(holder)
      }
    }
  }

  #drop(unit: LeaseUnit): void {
    const holder = this.#holders.get(unit.name)
    this.#dirty.delete(unit)
    this.#waiting.delete(unit)
    this.#untold.delete(unit)
    holder?.units.delete(unit.allowance)
    if (holder?.isGone === true && holder.units.size === 0) this.#holders.delete(unit.name)
  }

  #holder(name: string): Holder {
    let holder = this.#holders.get(name)
    if (holder === undefined) {
      holder = {
        name,
        units: new Map(),
        replies: new HolderReplies(),
        generation: -1,
        toldGeneration: -1,
        resumption: 0,
        epoch: null,
        isGone: false,
        writer: name,
      }
      this.#holders.set(name, holder)
    }
    return holder
  }

  #unit({ name, units }: Holder, allowance: string): LeaseUnit {
    let unit = units.get(allowance)
    if (unit === undefined) {
      unit = new LeaseUnit(name, this.#fullName(name), allowance)
      units.set(allowance, unit)
    }
    return unit
  }

  /** What Redis calls a holder of this machine. */
  #fullName(name: string): string {
    return `${this.#options.node}/${this.#options.incarnation}/${name}`
  }

  #nowArgument(): string {
    return this.#options.redisClock === undefined ? '' : String(this.#options.redisClock())
  }
}
