import { AdaptiveLimit } from './adaptive-limit.ts'
import type { Level, Pressure, Signals } from './pressure.ts'
import { NO_PRESSURE, pressureOf } from './pressure.ts'
import { RetryAfter } from './retry-after.ts'

/** Why a request was refused: all places taken, fewer places for now, too many in one turn of the event loop. */
export type ShedReason = 'full' | 'limit' | 'turn'

export interface OverloadOptions {
  /** Mean lateness of the event loop from which on there is congestion. */
  readonly loopDelayTargetMs: number
  /** Requests under way that loop delay never refuses. */
  readonly minConcurrency: number
  readonly maxInFlight: number
  /** What presses besides the event loop and the requests under way; asked every interval. */
  readonly resources: () => Omit<Signals, 'loopDelayMs' | 'inFlightShare'>
  /** Called every interval of a tenth of a second, whether the level has changed or not. */
  readonly onInterval: (pressure: Pressure, limit: number) => void
}

/** Requests under way that are admitted in any case but a full house: what measures whether things are better. */
const TRICKLE = 4
/** Of the target: what may be spent on letting requests in, in one turn; answers of upstreams take as long again. */
const TURN_SHARE = 0.5
const SAMPLES_PER_INTERVAL = 5
const INTERVALS_PER_SECOND = 10
/** A level is left one step at a time, after so many intervals without need for it. */
const CALM_INTERVALS = 5
/** With no place free and nobody let in for so long, a request that comes now is refused. */
const BLOCKED_INTERVALS = 10
const NEWEST = 0.05

/**
 * The ladder: what is shed first when a front cannot keep up. Level 1 ends waiting in queues, level 2 lets fewer requests in
 * at a time, level 3 a trickle. The measure of CPU is the event loop's lateness, not how long requests take: that is their
 * providers' doing.
 */
export class Overload {
  static readonly SAMPLE_MS = 1000 / INTERVALS_PER_SECOND / SAMPLES_PER_INTERVAL
  readonly #options: OverloadOptions
  readonly #limit: AdaptiveLimit
  readonly #retryAfter = new RetryAfter()
  #inFlight = 0
  #peakInFlight = 0
  #pressure = NO_PRESSURE
  #calmIntervals = 0
  #lateMs = 0
  #samples = 0
  #intervals = 0
  #loopDelayMs = 0
  #served = 0
  #refused = 0
  #refusedLastSecond = 0
  #blockedIntervals = 0
  #wasEntered = false
  #meanUs = 0
  /** When the first request of the current turn of the event loop was let in; null before it. */
  #turnStartUs: number | null = null

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
   * Which of the requests that come now are refused. `all` includes "all but a trickle". Those that a busy process refuses
   * beside those that it serves are `some`.
   */
  get refuses(): 'none' | 'some' | 'all' {
    if (this.level === 3 || this.#blockedIntervals >= BLOCKED_INTERVALS) return 'all'
    return this.#refused + this.#refusedLastSecond > 0 ? 'some' : 'none'
  }

  /** Requests that may be under way now. */
  get limit(): number {
    return this.level === 3 ? Math.min(TRICKLE, this.#limit.value) : this.#limit.value
  }

  /** Whether requests may wait for an upstream. A late loop is no reason against it while few are under way. */
  get mayQueue(): boolean {
    const { level, cause } = this.#pressure
    return level === 0 || (cause === 'loop' && this.#inFlight < this.#options.minConcurrency)
  }

  /** The least that is asked for now. */
  get retryAfterSeconds(): number {
    return this.#retryAfter.seconds
  }

  /** What to ask of the next one that is refused: up to twice the least. */
  nextRetryAfterSeconds(): number {
    return this.#retryAfter.next()
  }

  /** Takes a place, which `leave` gives back; or says why there is none. */
  enter(nowUs: number): ShedReason | null {
    const reason = this.#refusal(nowUs)
    if (reason !== null) {
      this.#refused += 1
      return reason
    }
    this.#inFlight += 1
    this.#wasEntered = true
    if (this.#inFlight > this.#peakInFlight) this.#peakInFlight = this.#inFlight
    return null
  }

  leave(durationUs: number): void {
    this.#inFlight -= 1
    this.#served += 1
    this.#meanUs += (durationUs - this.#meanUs) * NEWEST
  }

  /** To be called every `SAMPLE_MS`. @param lateMs by how much this call comes too late */
  sample(lateMs: number): void {
    this.#lateMs += lateMs
    this.#samples += 1
    // A loop that is held up calls less often: what it has to say cannot wait for more samples.
    if (this.#samples < SAMPLES_PER_INTERVAL && this.#lateMs < SAMPLES_PER_INTERVAL * Overload.SAMPLE_MS) return
    this.#loopDelayMs = this.#lateMs / this.#samples
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
      setImmediate(this.#endTurn)
    } else if (this.#inFlight >= minConcurrency && nowUs - this.#turnStartUs > 1_000 * TURN_SHARE * loopDelayTargetMs)
      return 'turn'
    return null
  }

  readonly #endTurn = (): void => {
    this.#turnStartUs = null
  }

  #endInterval(): void {
    const { maxInFlight, minConcurrency, loopDelayTargetMs } = this.#options
    const resources = this.#options.resources()
    const inFlightShare = this.#inFlight / maxInFlight
    const pressure = pressureOf({ ...resources, loopDelayMs: this.#loopDelayMs, inFlightShare }, loopDelayTargetMs)
    this.#limit.update({
      congested: pressure.level >= 2,
      peakInFlight: this.#peakInFlight,
      floor: pressure.cause === 'loop' ? minConcurrency : TRICKLE,
    })
    this.#peakInFlight = this.#inFlight
    this.#move(pressure)
    this.#blockedIntervals = this.#wasEntered || this.#inFlight < this.limit ? 0 : this.#blockedIntervals + 1
    this.#wasEntered = false
    this.#options.onInterval(this.#pressure, this.limit)
    this.#intervals += 1
    if (this.#intervals % INTERVALS_PER_SECOND !== 0) return
    this.#retryAfter.update(this.#served, this.#refused, this.#meanUs / 1_000_000)
    this.#served = 0
    this.#refusedLastSecond = this.#refused
    this.#refused = 0
  }

  /** Up at once, down step by step. */
  #move(pressure: Pressure): void {
    const { level } = this.#pressure
    if (pressure.level >= level) {
      this.#calmIntervals = 0
      this.#pressure = pressure
      return
    }
    this.#calmIntervals += 1
    if (this.#calmIntervals < CALM_INTERVALS) return
    this.#calmIntervals = 0
    const next = (level - 1) as Level
    this.#pressure = next === 0 ? NO_PRESSURE : { ...this.#pressure, level: next }
  }
}
