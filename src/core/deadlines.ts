import type { Clock } from './clock.ts'

/** A moment that may be moved or cleared at the cost of a field write. Expires once, then is idle until set again. */
export class Deadline {
  /** Wall-clock milliseconds; Infinity when idle. */
  atMs = Infinity
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
  readonly #watched = new Set<Deadline>()
  #timer: NodeJS.Timeout | null = null

  constructor(clock: Clock, tickMs = 50) {
    this.#clock = clock
    this.#tickMs = tickMs
  }

  /** The present. The last tick would do, but for an event loop held up: deadlines set from it expire early. */
  get nowMs(): number {
    return this.#clock.now()
  }

  watch(deadline: Deadline): void {
    this.#watched.add(deadline)
  }

  forget(deadline: Deadline): void {
    this.#watched.delete(deadline)
    deadline.atMs = Infinity
  }

  start(): void {
    this.#timer ??= setInterval(() => {
      this.tick()
    }, this.#tickMs)
  }

  stop(): void {
    if (this.#timer !== null) clearInterval(this.#timer)
    this.#timer = null
  }

  tick(): void {
    const nowMs = this.#clock.now()
    for (const deadline of this.#watched) {
      if (deadline.atMs <= nowMs) {
        deadline.atMs = Infinity
        deadline.expire()
      }
    }
  }
}
