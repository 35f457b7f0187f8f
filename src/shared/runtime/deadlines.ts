import type { Clock } from './clock.ts'
import { PacedTimer } from './paced-timer.ts'

type OnFault = (cause: unknown) => void

/**
 * A point in time: moving or clearing it costs one field write. It expires once, then is idle until it is set again: call `watch` of
 * the clock after that, and after moving it to an earlier time.
 */
export class Deadline {
  /** Wall-clock milliseconds; Infinity when idle. */
  atMs = Infinity
  /** Its index in the list of the clock that watches it; -1 when no clock does. */
  place = -1
  readonly expire: () => void

  constructor(expire: () => void) {
    this.expire = expire
  }
}

/**
 * The clock looks at its deadlines at least this often while one is set. One that was moved to an earlier time without `watch` expires so
 * late at most.
 */
const LONGEST_TICK_MS = 500

/**
 * One coarse timer for all deadlines of a process: a timer for each request, chunk or body costs more than the rest of
 * its handling. Deadlines expire up to one tick late, never early. No timer runs while no deadline is set, and it comes rarely while
 * all are far.
 */
export class DeadlineClock {
  readonly #clock: Clock
  readonly #tickMs: number
  /**
   * An array, not a Set: V8 rebuilds a Set in which many entries come and go. The old tables stay in old space and keep alive
   * everything that their entries reach, until the next full collection.
   */
  readonly #watched: Deadline[] = []
  #timer: PacedTimer | null = null
  #onFault: OnFault = rethrow
  /** Wall-clock time of the next tick: -Infinity before the start, Infinity while no tick is due. */
  #nextTickMs = -Infinity

  constructor(clock: Clock, tickMs = 50) {
    this.#clock = clock
    this.#tickMs = tickMs
  }

  /** The present. The time of the last tick is too old after a delay of the event loop: deadlines set from it expire early. */
  get nowMs(): number {
    return this.#clock.now()
  }

  watch(deadline: Deadline): void {
    if (deadline.place === -1) deadline.place = this.#watched.push(deadline) - 1
    if (deadline.atMs < this.#nextTickMs) this.#advance(deadline.atMs)
  }

  forget(deadline: Deadline): void {
    deadline.atMs = Infinity
    const { place } = deadline
    if (place === -1) return
    deadline.place = -1
    const last = this.#watched.pop()
    if (last === undefined || last === deadline) return
    this.#watched[place] = last
    last.place = place
  }

  /** @param onFault gets what a deadline threw when it expired; the other deadlines expire all the same */
  start(onFault: OnFault = rethrow): void {
    if (this.#timer !== null) return
    this.#onFault = onFault
    this.#nextTickMs = this.#clock.now() + this.#tickMs
    const tick = (): number => {
      this.tick()
      return this.#untilNextTick()
    }
    this.#timer = new PacedTimer(this.#tickMs, tick, onFault)
  }

  stop(): void {
    this.#timer?.stop()
    this.#timer = null
    this.#nextTickMs = -Infinity
  }

  tick(): void {
    const nowMs = this.#clock.now()
    for (const deadline of this.#watched.filter(({ atMs }) => atMs <= nowMs)) {
      // Another deadline of this tick may have forgotten or moved this one.
      if (deadline.atMs > nowMs) continue
      deadline.atMs = Infinity
      try {
        deadline.expire()
      } catch (cause) {
        this.#onFault(cause)
      }
    }
  }

  #advance(atMs: number): void {
    const nowMs = this.#clock.now()
    const waitMs = this.#waitFor(atMs, nowMs)
    if (nowMs + waitMs >= this.#nextTickMs) return
    this.#nextTickMs = nowMs + waitMs
    this.#timer?.within(waitMs)
  }

  #untilNextTick(): number {
    const nowMs = this.#clock.now()
    let firstMs = Infinity
    for (const { atMs } of this.#watched) if (atMs < firstMs) firstMs = atMs
    const waitMs = firstMs === Infinity ? Infinity : this.#waitFor(firstMs, nowMs)
    this.#nextTickMs = nowMs + waitMs
    return waitMs
  }

  #waitFor(atMs: number, nowMs: number): number {
    return Math.min(LONGEST_TICK_MS, Math.max(this.#tickMs, atMs - nowMs))
  }
}

function rethrow(cause: unknown): void {
  throw cause
}
