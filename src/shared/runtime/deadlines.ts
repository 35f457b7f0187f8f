import type { Clock } from './clock.ts'
import { repeat } from './repeat.ts'

type OnFault = (cause: unknown) => void

/** A moment that may be moved or cleared at the cost of a field write. Expires once, then is idle until set again. */
export class Deadline {
  /** Wall-clock milliseconds; Infinity when idle. */
  atMs = Infinity
  /** Its place on the list of the clock that watches it; -1 when none does. */
  place = -1
  readonly expire: () => void

  constructor(expire: () => void) {
    this.expire = expire
  }
}

/**
 * One coarse timer for all deadlines of a process: a timer of its own per request, chunk or body costs more than all the
 * rest of handling it. Deadlines expire up to one tick late, never early.
 */
export class DeadlineClock {
  readonly #clock: Clock
  readonly #tickMs: number
  /**
   * An array, not a Set: a Set in which much comes and goes is made anew again and again, and its dead predecessors in old space
   * keep alive all that their entries lead to until the next full collection.
   */
  readonly #watched: Deadline[] = []
  #timer: NodeJS.Timeout | null = null
  #onFault: OnFault = rethrow

  constructor(clock: Clock, tickMs = 50) {
    this.#clock = clock
    this.#tickMs = tickMs
  }

  /** The present. The last tick would do, but for an event loop held up: deadlines set from it expire early. */
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

  /** @param onFault hears what a deadline threw when it expired; the others expire all the same */
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
      // Unless another one of this tick has forgotten or moved it.
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
