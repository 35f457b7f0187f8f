import type { Level, Pressure } from './pressure.ts'
import { describeLadder } from './words.ts'

/** A shorter change is not logged: one late turn of the event loop lifts the level for a second. */
const LASTING_MS = 2_000
const EVERY_MS = 10_000

export type LadderWriter = (severity: 'warn' | 'info', message: string, level: Level) => void

/** Logs changes of the overload level that last, in at most one line every ten seconds. */
export class LadderLog {
  readonly #write: LadderWriter
  #loggedLevel: Level = 0
  #differsSinceMs: number | null = null
  #loggedAtMs = -Infinity

  constructor(write: LadderWriter) {
    this.#write = write
  }

  /** Call it at every interval of the ladder. @param nowMs monotonic */
  note(pressure: Pressure, limit: number, nowMs: number): void {
    const { level, cause } = pressure
    if (level === this.#loggedLevel) {
      this.#differsSinceMs = null
      return
    }
    this.#differsSinceMs ??= nowMs
    const isUrgent = level > this.#loggedLevel && (cause === 'disk' || cause === 'journal')
    const delayMs = isUrgent ? 0 : LASTING_MS
    if (nowMs - this.#differsSinceMs < delayMs || nowMs - this.#loggedAtMs < EVERY_MS) return
    this.#loggedLevel = level
    this.#loggedAtMs = nowMs
    this.#differsSinceMs = null
    this.#write(level === 0 ? 'info' : 'warn', describeLadder(pressure, limit), level)
  }
}
