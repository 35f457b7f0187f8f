import type { Level, Pressure } from './pressure.ts'
import { describeLadder } from './words.ts'

/** One late turn of the event loop lifts the level for a second. */
const LASTING_MS = 2_000
const EVERY_MS = 10_000

export type LadderWriter = (severity: 'warn' | 'info', message: string, level: Level) => void

/** Tells operators of changes of the overload level: those that last, one line every ten seconds at most. */
export class LadderLog {
  readonly #write: LadderWriter
  #told: Level = 0
  #differsSinceMs: number | null = null
  #toldAtMs = -Infinity

  constructor(write: LadderWriter) {
    this.#write = write
  }

  /** Call it every interval of the ladder. @param nowMs monotonic */
  note(pressure: Pressure, limit: number, nowMs: number): void {
    const { level, cause } = pressure
    if (level === this.#told) {
      this.#differsSinceMs = null
      return
    }
    this.#differsSinceMs ??= nowMs
    const isUrgent = level > this.#told && (cause === 'disk' || cause === 'journal')
    const patienceMs = isUrgent ? 0 : LASTING_MS
    if (nowMs - this.#differsSinceMs < patienceMs || nowMs - this.#toldAtMs < EVERY_MS) return
    this.#told = level
    this.#toldAtMs = nowMs
    this.#differsSinceMs = null
    this.#write(level === 0 ? 'info' : 'warn', describeLadder(pressure, limit), level)
  }
}
