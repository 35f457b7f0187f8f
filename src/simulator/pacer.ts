/** A task that continues at a given time. It checks itself whether it is still needed. */
export interface Resumable {
  resume(): void
}

const SLOTS = 1024

interface Entry {
  readonly task: Resumable
  readonly dueTick: number
}

/**
 * Schedules all waits of the simulator: a timer wheel of one-millisecond slots behind a single timer, and a queue for
 * the next turn of the event loop. A wait costs one array entry, however many streams are paced.
 */
export class Pacer {
  readonly #slots: Entry[][] = Array.from({ length: SLOTS }, () => [])
  #waiting = 0
  /** The last tick whose slot was emptied. */
  #tick = 0
  #timer: NodeJS.Timeout | null = null
  #timerTick = 0
  #turn: Resumable[] = []
  #closed = false
  readonly #fire = (): void => this.#onTimer()
  readonly #flush = (): void => this.#onTurn()

  /** Milliseconds of a clock that never goes back. */
  now(): number {
    return performance.now()
  }

  /** Resumes the task at that time of `now()`, at most a few milliseconds late. */
  at(task: Resumable, time: number): void {
    if (this.#closed) return
    const now = Math.floor(this.now())
    if (this.#waiting === 0) this.#tick = now
    const dueTick = Math.max(Math.ceil(time), this.#tick + 1)
    this.#slots[dueTick % SLOTS]?.push({ task, dueTick })
    this.#waiting++
    this.#arm(Math.min(dueTick, this.#tick + SLOTS), now)
  }

  /** Resumes the task in the next turn of the event loop, after pending input and output. */
  nextTurn(task: Resumable): void {
    if (this.#closed) return
    if (this.#turn.length === 0) setImmediate(this.#flush)
    this.#turn.push(task)
  }

  close(): void {
    this.#closed = true
    if (this.#timer !== null) clearTimeout(this.#timer)
    this.#turn = []
  }

  #arm(tick: number, now: number): void {
    if (this.#timer !== null) {
      if (this.#timerTick <= tick) return
      clearTimeout(this.#timer)
    }
    this.#timerTick = tick
    this.#timer = setTimeout(this.#fire, Math.max(1, tick - now))
  }

  #onTimer(): void {
    this.#timer = null
    const now = Math.floor(this.now())
    // After a stall of more than one revolution of the wheel, every slot is visited once, not once for each missed tick.
    const from = Math.max(this.#tick + 1, now - SLOTS + 1)
    this.#tick = now
    for (let tick = from; tick <= now && !this.#closed; tick++) this.#empty(tick % SLOTS, now)
    if (this.#waiting > 0 && !this.#closed) this.#arm(this.#nextTick(), now)
  }

  #empty(slot: number, now: number): void {
    const entries = this.#slots[slot]
    if (entries === undefined || entries.length === 0) return
    const later: Entry[] = []
    this.#slots[slot] = later
    for (const entry of entries) {
      if (entry.dueTick > now) {
        later.push(entry)
        continue
      }
      this.#waiting--
      entry.task.resume()
    }
  }

  #nextTick(): number {
    for (let tick = this.#tick + 1; tick < this.#tick + SLOTS; tick++) {
      if ((this.#slots[tick % SLOTS]?.length ?? 0) > 0) return tick
    }
    return this.#tick + SLOTS
  }

  #onTurn(): void {
    const tasks = this.#turn
    this.#turn = []
    for (const task of tasks) task.resume()
  }
}
