import { statfs } from 'node:fs/promises'
import type { JournalHealth } from '../../shared/core/health.ts'

export interface JournalWatchOptions {
  readonly directory: string
  readonly measure: () => Promise<{ readonly bytes: number; readonly ageMs: number }>
  /** The lag above which settlement counts as behind: the age of the oldest unsettled record. */
  readonly alertLagMs: number
  readonly onBehind: (health: JournalHealth) => void
  readonly onCaughtUp: (health: JournalHealth) => void
}

/** Watches how far the database is behind the journal, and reports when the lag gets too long and when it is over. */
export class JournalWatch {
  readonly #options: JournalWatchOptions
  #health: JournalHealth = { isBehind: false, lagMs: 0, unsettledBytes: 0, diskFreeBytes: null }

  constructor(options: JournalWatchOptions) {
    this.#options = options
  }

  /** The result of the last check. */
  get health(): JournalHealth {
    return this.#health
  }

  async check(): Promise<JournalHealth> {
    const { directory, measure, alertLagMs, onBehind, onCaughtUp } = this.#options
    const wasBehind = this.#health.isBehind
    const { bytes, ageMs } = await measure()
    // The lag must fall to half of the bound before it is over; otherwise a lag near the bound is reported again and again.
    const isBehind = ageMs > (wasBehind ? alertLagMs / 2 : alertLagMs)
    const health = { isBehind, lagMs: ageMs, unsettledBytes: bytes, diskFreeBytes: await freeBytes(directory) }
    this.#health = health
    if (isBehind && !wasBehind) onBehind(health)
    if (wasBehind && !isBehind) onCaughtUp(health)
    return health
  }
}

async function freeBytes(directory: string): Promise<number | null> {
  try {
    const { bavail, bsize } = await statfs(directory)
    return bavail * bsize
  } catch {
    return null
  }
}
