import { AdaptiveLimit } from './adaptive-limit.ts'
import type { Level, Pressure, Signals } from './pressure.ts'
import { NO_PRESSURE, pressureOf } from './pressure.ts'
import { RetryAfter } from './retry-after.ts'

/**
 * Why a request was refused. `full`: `maxInFlight` is reached. `limit`: the current, lower limit is reached. `turn`: too many
 * requests came in one turn of the event loop.
 */
export type ShedReason = 'full' | 'limit' | 'turn'

export interface OverloadOptions {
  /** Mean lateness of the event loop at which congestion begins. */
  readonly loopDelayTargetMs: number
  /** Loop delay never refuses a request while fewer than this are in flight. */
  readonly minConcurrency: number
  readonly maxInFlight: number
  /** Reads the other signals, at every interval. */
  readonly resources: () => Omit<Signals, 'loopDelayMs' | 'inFlightShare'>
  /** Called at every interval, whether or not the level has changed: of a tenth of a second, or of `REST_MS` at rest. */
  readonly onInterval: (pressure: Pressure, limit: number) => void
}

/** The limit at level 3, and the lowest limit unless the loop is the cause. These requests show whether the overload has ended. */
const LEVEL_3_LIMIT = 4
/** Share of `loopDelayTargetMs` that one turn may spend on admitting requests; answers of upstreams take as long again. */
const TURN_SHARE = 0.5
/** So many requests are admitted in a turn however long they take: in a young process the first ones do. */
const TURN_LEAST = 32
const SAMPLES_PER_INTERVAL = 5
const INTERVALS_PER_SECOND = 10
/** The level falls by one after this many intervals that ask for a lower level. */
const RECOVERY_INTERVALS = 5
/** `refuses` is `all` once the limit has been reached and no request admitted for this many intervals. */
const BLOCKED_INTERVALS = 10
/** A late loop lowers the limit when it has been late for so many intervals: streams that open together are no overload. */
const LASTING_INTERVALS = 5
/** Rest begins after this many intervals without requests, refusals and pressure. */
const CALM_INTERVALS = 10
const NEWEST = 0.05

/**
 * The overload ladder sheds load in steps when a front cannot keep up. Level 1 ends waiting in queues, level 2 admits fewer
 * requests at a time, level 3 only `LEVEL_3_LIMIT`. The lateness of the event loop measures CPU; the duration of requests
 * does not, because it depends on providers.
 */
export class Overload {
  static readonly SAMPLE_MS = 1000 / INTERVALS_PER_SECOND / SAMPLES_PER_INTERVAL
  /** The interval at rest. Memory, journal and disk are still watched. */
  static readonly REST_MS = 250
  readonly #options: OverloadOptions
  readonly #limit: AdaptiveLimit
  readonly #retryAfter = new RetryAfter()
  #inFlight = 0
  #peakInFlight = 0
  #pressure = NO_PRESSURE
  #recoveryIntervals = 0
  #lateMs = 0
  #samples = 0
  #intervals = 0
  #loopDelayMs = 0
  #served = 0
  #refused = 0
  #refusedLastSecond = 0
  #blockedIntervals = 0
  /** In a row, with a loop that asks for level 2. */
  #lateIntervals = 0
  #hasAdmitted = false
  #calmIntervals = 0
  #isAtRest = false
  #onBusy: () => void = () => undefined
  #meanUs = 0
  /** When the first request of the current turn of the event loop was admitted; null before it. */
  #turnStartUs: number | null = null
  #turnAdmitted = 0

  constructor(options: OverloadOptions) {
    this.#options = options
    this.#limit = new AdaptiveLimit({ min: options.minConcurrency, max: options.maxInFlight })
  }

  get inFlight(): number {
    return this.#inFlight
  }

  get level(): Level {
    return this.#pressure.level
  }

  get pressure(): Pressure {
    return this.#pressure
  }

  /**
   * Which new requests are refused. `all`: all, or all but `LEVEL_3_LIMIT` at a time. `some`: a busy process refuses some
   * and serves others.
   */
  get refuses(): 'none' | 'some' | 'all' {
    if (this.level === 3 || this.#blockedIntervals >= BLOCKED_INTERVALS) return 'all'
    return this.#refused + this.#refusedLastSecond > 0 ? 'some' : 'none'
  }

  /** Requests that may be in flight now. */
  get limit(): number {
    return this.level === 3 ? Math.min(LEVEL_3_LIMIT, this.#limit.value) : this.#limit.value
  }

  /** Whether requests may wait for an upstream. A late loop does not forbid it while few requests are in flight. */
  get mayQueue(): boolean {
    const { level, cause } = this.#pressure
    return level === 0 || (cause === 'loop' && this.#inFlight < this.#options.minConcurrency)
  }

  /** Each sample is an interval of its own, and the next one is due after `REST_MS`. */
  get isAtRest(): boolean {
    return this.#isAtRest
  }

  /** Called when a request ends the rest: the next sample is due after `SAMPLE_MS`. */
  onBusy(listener: () => void): void {
    this.#onBusy = listener
  }

  /** The smallest `Retry-After` at present. */
  get retryAfterSeconds(): number {
    return this.#retryAfter.seconds
  }

  /** The `Retry-After` of the next refused request: up to twice the smallest. */
  nextRetryAfterSeconds(): number {
    return this.#retryAfter.next()
  }

  /** Admits a request and returns null, or returns why not. `leave` ends an admitted request. */
  enter(nowUs: number): ShedReason | null {
    if (this.#isAtRest) this.#endRest()
    const reason = this.#refusal(nowUs)
    if (reason !== null) {
      this.#refused += 1
      return reason
    }
    this.#inFlight += 1
    this.#turnAdmitted += 1
    this.#hasAdmitted = true
    if (this.#inFlight > this.#peakInFlight) this.#peakInFlight = this.#inFlight
    return null
  }

  leave(durationUs: number): void {
    this.#inFlight -= 1
    this.#served += 1
    this.#meanUs += (durationUs - this.#meanUs) * NEWEST
  }

  /** Call it every `SAMPLE_MS`, at rest every `REST_MS`. @param lateMs the milliseconds by which this call is late */
  sample(lateMs: number): void {
    this.#lateMs += lateMs
    this.#samples += 1
    // A late loop samples less often: enough lateness ends the interval before it has all samples.
    const isWhole = this.#samples >= SAMPLES_PER_INTERVAL || this.#lateMs >= SAMPLES_PER_INTERVAL * Overload.SAMPLE_MS
    if (!isWhole && !this.#isAtRest) return
    // Without requests, other programs of the machine make the loop late: shedding would not help.
    this.#loopDelayMs = this.#isServing ? this.#lateMs / this.#samples : 0
    this.#lateMs = 0
    this.#samples = 0
    this.#endInterval()
  }

  #refusal(nowUs: number): ShedReason | null {
    const { maxInFlight, minConcurrency, loopDelayTargetMs } = this.#options
    if (this.#inFlight >= maxInFlight) return 'full'
    if (this.#inFlight >= this.limit) return 'limit'
    if (this.#turnStartUs === null) {
      this.#turnStartUs = nowUs
      this.#turnAdmitted = 0
      setImmediate(this.#endTurn)
      return null
    }
    const isLong = nowUs - this.#turnStartUs > 1_000 * TURN_SHARE * loopDelayTargetMs
    return isLong && this.#turnAdmitted >= TURN_LEAST && this.#inFlight >= minConcurrency ? 'turn' : null
  }

  readonly #endTurn = (): void => {
    this.#turnStartUs = null
  }

  #endInterval(): void {
    const { maxInFlight, minConcurrency, loopDelayTargetMs } = this.#options
    const resources = this.#options.resources()
    const inFlightShare = this.#inFlight / maxInFlight
    const pressure = this.#unlessShort(
      pressureOf({ ...resources, loopDelayMs: this.#loopDelayMs, inFlightShare }, loopDelayTargetMs),
    )
    this.#limit.update({
      congested: pressure.level >= 2,
      peakInFlight: this.#peakInFlight,
      floor: pressure.cause === 'loop' ? minConcurrency : LEVEL_3_LIMIT,
    })
    this.#peakInFlight = this.#inFlight
    this.#setPressure(pressure)
    this.#blockedIntervals = this.#hasAdmitted || this.#inFlight < this.limit ? 0 : this.#blockedIntervals + 1
    this.#noteCalm()
    this.#hasAdmitted = false
    this.#options.onInterval(this.#pressure, this.limit)
    this.#intervals += 1
    if (this.#intervals % INTERVALS_PER_SECOND !== 0) return
    this.#retryAfter.update(this.#served, this.#refused, this.#meanUs / 1_000_000)
    this.#served = 0
    this.#refusedLastSecond = this.#refused
    this.#refused = 0
  }

  /** A loop that has been late for a short time asks for level 1. A limit that is already lower follows it at once. */
  #unlessShort(pressure: Pressure): Pressure {
    const isLate = pressure.cause === 'loop' && pressure.level === 2
    this.#lateIntervals = isLate ? this.#lateIntervals + 1 : 0
    const isShort = this.#lateIntervals < LASTING_INTERVALS && !this.#isHolding
    return isLate && isShort ? { ...pressure, level: 1 } : pressure
  }

  /** The limit is lower than the configured one. */
  get #isHolding(): boolean {
    return this.#limit.value < this.#options.maxInFlight
  }

  /** There were requests in this interval, or refusals lately. */
  get #isServing(): boolean {
    return this.#inFlight > 0 || this.#hasAdmitted || this.#refused + this.#refusedLastSecond > 0
  }

  #noteCalm(): void {
    const isHeld = this.level > 0 || this.#isHolding || this.#retryAfter.seconds > 1
    this.#calmIntervals = this.#isServing || isHeld ? 0 : this.#calmIntervals + 1
    this.#isAtRest = this.#calmIntervals >= CALM_INTERVALS
  }

  #endRest(): void {
    this.#isAtRest = false
    this.#calmIntervals = 0
    this.#onBusy()
  }

  /** Raises the level at once; lowers it step by step. */
  #setPressure(pressure: Pressure): void {
    const { level } = this.#pressure
    if (pressure.level >= level) {
      this.#recoveryIntervals = 0
      this.#pressure = pressure
      return
    }
    this.#recoveryIntervals += 1
    if (this.#recoveryIntervals < RECOVERY_INTERVALS) return
    this.#recoveryIntervals = 0
    const next = (level - 1) as Level
    this.#pressure = next === 0 ? NO_PRESSURE : { ...this.#pressure, level: next }
  }
}
