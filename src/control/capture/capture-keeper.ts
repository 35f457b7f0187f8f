import { repeat } from '../../shared/runtime/repeat.ts'
import {
  removeCapturesBefore,
  removeErased,
  removeExpiredCaptures,
  removeOldErasures,
  reuseCaptureSpace,
} from '../store/captures.ts'
import type { Database } from '../store/database.ts'
import { DAY_MS } from '../store/partitions.ts'

const EVERY_MS = 60_000
const ROWS = 1_000

export interface CaptureKeeperOptions {
  readonly database: Database
  /** Days that the request log keeps its rows; 0: for ever. Bodies from before it was lowered go, too. */
  readonly logRetentionDays: number
  readonly now: () => number
  readonly onFault: (cause: unknown) => void
}

/** Deletes captured bodies that are past their retention, or whose tenant was erased. */
export class CaptureKeeper {
  readonly #options: CaptureKeeperOptions
  #timer: NodeJS.Timeout | null = null
  #isStopped = false
  #isAsked = false
  /** Never rejects. */
  #running: Promise<void> | null = null

  constructor(options: CaptureKeeperOptions) {
    this.#options = options
  }

  /** Works for the first time at once. */
  start(): void {
    this.#timer = repeat(
      EVERY_MS,
      () => {
        this.work()
      },
      this.#options.onFault,
    ).unref()
    this.work()
  }

  /** Works now, or again after the work under way. */
  work(): void {
    this.#isAsked = true
    this.#running ??= this.#run().finally(() => {
      this.#running = null
    })
  }

  /** Resolves when the statement under way has ended. */
  async stop(): Promise<void> {
    this.#isStopped = true
    if (this.#timer !== null) clearInterval(this.#timer)
    await this.#running
  }

  async #run(): Promise<void> {
    const { database, logRetentionDays, now, onFault } = this.#options
    try {
      while (this.#isAsked && !this.#isStopped) {
        this.#isAsked = false
        let removed = (await this.#all(removeErased)) + (await this.#all(removeExpiredCaptures))
        if (logRetentionDays > 0) {
          const oldestMs = now() - logRetentionDays * DAY_MS
          removed += await this.#all((on, most) => removeCapturesBefore(on, oldestMs, most))
        }
        await removeOldErasures(database)
        if (removed > 0 && !this.#isStopped) await reuseCaptureSpace(database)
      }
    } catch (cause) {
      onFault(cause)
    }
  }

  async #all(remove: (database: Database, most: number) => Promise<number>): Promise<number> {
    let all = 0
    let some = 0
    do {
      some = this.#isStopped ? 0 : await remove(this.#options.database, ROWS)
      all += some
    } while (some > 0)
    return all
  }
}
