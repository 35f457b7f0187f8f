import type { Clock } from './clock.ts'
import { repeat } from './repeat.ts'

type OnFault = (cause: unknown) => void

/** A point in time: moving or clearing it costs one field write. It expires once, then is idle until `atMs` is set again. */
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
 * One coarse timer for all deadlines of a process: a timer for each request, chunk or body costs more than the rest of
 * its handling. Deadlines expire up to one tick late, never early.
 */
export class DeadlineClock {
  readonly #clock: Clock
  readonly #tickMs: number
  /**
   * An array, not a Set: V8 rebuilds a Set in which many entries come and go. The old tables stay in old space and keep alive
   * everything that their entries reach, until the next full collection.
   */
  readonly #watched: Deadline[] = []
  #timer: NodeJS.Timeout | null = null
  #onFault: OnFault = rethrow

  constructor(clock: Clock, tickMs = 50) {
    this.#clock = clock
    this.#tickMs = tickMs
  }

  /** The present. The time of the last tick is too old after a delay of the event loop: deadlines set from it expire early. */
  get nowMs(): number {
    return this.#clock.now()
  }

  watch(deadline: Deadline): void {
    if (deadline.place !== -1) return
    deadline.place = this.#watched.push(deadline) - 1
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
    this.#onFault = onFault
    const tick = (): void => {
      this.tick()
    }
    this.#timer ??= repeat(this.#tickMs, tick, onFault)
  }

  stop(): void {
    if (this.#timer !== null) clearInterval(this.#timer)
    this.#timer = null
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
}

function rethrow(cause: unknown): void {
  throw cause
}
