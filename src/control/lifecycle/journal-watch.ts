import { statfs } from 'node:fs/promises'
import type { JournalHealth } from '../../shared/core/health.ts'

export interface JournalWatchOptions {
  readonly directory: string
  readonly measure: () => Promise<{ readonly bytes: number; readonly ageMs: number }>
  /** From which age on of the oldest record that is not settled someone should look. */
  readonly alertLagMs: number
  readonly onBehind: (health: JournalHealth) => void
  readonly onCaughtUp: (health: JournalHealth) => void
}

/** Watches how far the database is behind the journal, and says when it is too far and when no longer. */
export class JournalWatch {
  readonly #options: JournalWatchOptions
  #health: JournalHealth = { isBehind: false, lagMs: 0, unsettledBytes: 0, diskFreeBytes: null }

  constructor(options: JournalWatchOptions) {
    this.#options = options
  }

  /** As of the last look. */
  get health(): JournalHealth {
    return this.#health
  }

  async check(): Promise<JournalHealth> {
    const { directory, measure, alertLagMs, onBehind, onCaughtUp } = this.#options
    const wasBehind = this.#health.isBehind
    const { bytes, ageMs } = await measure()
    // Half of it must be gone before it is over, lest a lag at the bound be told again and again.
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
