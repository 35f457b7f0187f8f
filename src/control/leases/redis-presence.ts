import { randomUUID } from 'node:crypto'
import type { Clock } from '../../shared/runtime/clock.ts'
import type { RedisCall } from '../store/redis-connection.ts'
import { ClockOffset } from './clock-offset.ts'
import { SCRIPTS } from './script-runner.ts'
import type { ScriptRunner } from './script-runner.ts'
import { Shards } from './shards.ts'

export interface RedisPresenceOptions {
  readonly clock: Clock
  readonly runner: ScriptRunner
  /** Begins the names of all keys. */
  readonly prefix: string
  readonly node: string
  readonly incarnation: number
  readonly isRestart: boolean
  readonly fronts: () => number
  /** Simulated time: the scripts take it in place of Redis's own. */
  readonly redisClock?: () => number
  /** Redis knows what all fronts of this machine did while it was away. */
  readonly hasTold: () => boolean
  /** Redis is there. `lost` are the shards whose values it has lost since this machine spoke with it. */
  readonly onHere: (lost: ReadonlySet<number>) => void
  /** Redis cannot be asked. */
  readonly onAway: (cause: Error) => void
  /** The number of fronts on all machines has changed. */
  readonly onHolders: (holders: number) => void
  readonly onFault: (cause: unknown) => void
}

/** Redis is away after failures for this long. */
const FAILING_MS = 300
const RETRY_MS = 50
const HEARTBEAT_MS = 300
const PROBE_MS = 250
const PROBE_MAX_MS = 1_000

/**
 * Tells whether Redis can be asked. A heartbeat touches every shard, lists this machine among the others, and compares clocks.
 * {@link RedisPresence.tick} is to be called every few dozen milliseconds.
 */
export class RedisPresence {
  readonly shards: Shards
  readonly clocks = new ClockOffset()
  readonly #options: RedisPresenceOptions
  #isHere = false
  #epoch: string | null = null
  /** Null before Redis has said. */
  #holders: number | null = null
  #nodes: Readonly<Record<string, string>> = {}
  #beating = false
  #beatAtMs = 0
  #saidTold = false
  #probeMs = PROBE_MS
  #failingSinceMs: number | null = null
  #retryAtMs = 0
  #hereMs = 0

  constructor(options: RedisPresenceOptions) {
    this.#options = options
    this.shards = new Shards(options.prefix)
  }

  get isHere(): boolean {
    return this.#isHere
  }

  /** One name for what Redis remembers, the same on all machines. It outlives an outage after which nothing is lost. */
  get epoch(): string | null {
    return this.#epoch
  }

  /** Fronts on all machines, as far as this one knows. */
  get holders(): number {
    return this.#holders ?? this.#options.fronts()
  }

  /** The machines that are there, each with the generation of its fronts: another generation when all of these began anew. */
  get nodes(): Readonly<Record<string, string>> {
    return this.#nodes
  }

  /** Redis is there and grants leases. */
  get isServing(): boolean {
    return this.#isHere && this.#opensAtMs <= this.#options.clock.now()
  }

  /** How long Redis has been there. */
  hereForMs(nowMs: number): number {
    return nowMs - this.#hereMs
  }

  /** A call may be made now: the last one did not fail, or long enough ago. */
  mayCall(nowMs: number): boolean {
    return this.#isHere && (this.#failingSinceMs === null || nowMs >= this.#retryAtMs)
  }

  get isFailing(): boolean {
    return this.#failingSinceMs !== null
  }

  tick(nowMs: number): void {
    if (nowMs >= this.#beatAtMs || this.#isOpenedByTelling(nowMs)) this.#beat(nowMs).catch(this.#options.onFault)
  }

  /** All calls of a batch were answered. */
  succeeded(): void {
    this.#failingSinceMs = null
  }

  failed(cause: Error): void {
    const nowMs = this.#options.clock.now()
    this.#failingSinceMs ??= nowMs
    this.#retryAtMs = nowMs + RETRY_MS
    if (!this.#isHere) this.#probeMs = Math.min(this.#probeMs * 2, PROBE_MAX_MS)
    else if (nowMs - this.#failingSinceMs >= FAILING_MS) this.#leave(cause)
  }

  /** Redis has lost values. The next heartbeat finds out which. */
  forgot(): void {
    if (this.#isHere) this.#leave(new Error('Redis has lost what it was told'))
  }

  /** Tells the other machines that this one leaves. */
  async end(): Promise<void> {
    if (this.#isHere) await this.#options.runner.run([this.#heartbeat(0)])
    this.#isHere = false
  }

  /** The first argument of every script: a time in simulations, otherwise empty. */
  nowArgument(): string {
    return this.#options.redisClock === undefined ? '' : String(this.#options.redisClock())
  }

  get #opensAtMs(): number {
    return this.clocks.toLocalMs(this.shards.opensAtMs)
  }

  /** Redis waits for this machine, which has told everything since it spoke last. */
  #isOpenedByTelling(nowMs: number): boolean {
    return !this.#saidTold && this.#opensAtMs > nowMs && this.#options.hasTold()
  }

  async #beat(nowMs: number): Promise<void> {
    if (this.#beating) return
    this.#beating = true
    this.#beatAtMs = nowMs + (this.#isHere ? HEARTBEAT_MS : this.#probeMs)
    const { node, fronts, hasTold, runner } = this.#options
    this.#saidTold = hasTold()
    const touches = this.shards.touches(this.nowArgument(), randomUUID(), node, this.#saidTold)
    try {
      const answers = await runner.run([...touches, this.#heartbeat(fronts())])
      const failed = answers.find((answer) => answer instanceof Error)
      if (failed !== undefined) this.failed(failed)
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
      args: [this.nowArgument(), node, String(fronts), ...generation],
    }
  }

  #alive(answers: readonly unknown[], sentMs: number): void {
    const { lost, redisNowMs } = this.shards.learn(answers.slice(0, -1))
    this.clocks.observe(sentMs, this.#options.clock.now(), redisNowMs)
    const [, count, ...nodes] = String(answers.at(-1)).split(' ')
    this.#nodes = Object.fromEntries(nodes.map((node) => node.split('=') as [string, string]))
    this.#learnHolders(Number(count ?? 0))
    this.#failingSinceMs = null
    if (this.#isHere && lost.size === 0) return
    this.forgot()
    this.#epoch = this.shards.epoch
    this.#probeMs = PROBE_MS
    this.#isHere = true
    this.#hereMs = this.#options.clock.now()
    this.#options.onHere(lost)
  }

  #learnHolders(holders: number): void {
    if (holders === 0 || holders === this.#holders) return
    this.#holders = holders
    this.#options.onHolders(holders)
  }

  #leave(cause: Error): void {
    this.#isHere = false
    this.#beatAtMs = 0
    this.#failingSinceMs = null
    this.#options.onAway(cause)
  }
}
