import { repeat } from '../../shared/runtime/repeat.ts'
import { removeErased, removeExpiredCaptures, removeOldErasures, reuseCaptureSpace } from '../store/captures.ts'
import type { Database } from '../store/database.ts'

const EVERY_MS = 60_000
const ROWS = 1_000

/** Deletes captured bodies that are past their retention, or whose tenant was erased. */
export class CaptureKeeper {
  readonly #database: Database
  readonly #onFault: (cause: unknown) => void
  #timer: NodeJS.Timeout | null = null
  #isStopped = false
  #isAsked = false
  /** Never rejects. */
  #running: Promise<void> | null = null

  constructor(database: Database, onFault: (cause: unknown) => void) {
    this.#database = database
    this.#onFault = onFault
  }

  /** Works for the first time at once. */
  start(): void {
    this.#timer = repeat(
      EVERY_MS,
      () => {
        this.work()
      },
      this.#onFault,
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
    try {
      while (this.#isAsked && !this.#isStopped) {
        this.#isAsked = false
        const removed = (await this.#all(removeErased)) + (await this.#all(removeExpiredCaptures))
        await removeOldErasures(this.#database)
        if (removed > 0 && !this.#isStopped) await reuseCaptureSpace(this.#database)
      }
    } catch (cause) {
      this.#onFault(cause)
    }
  }

  async #all(remove: (database: Database, most: number) => Promise<number>): Promise<number> {
    let all = 0
    let some = 0
    do {
      some = this.#isStopped ? 0 : await remove(this.#database, ROWS)
      all += some
    } while (some > 0)
    return all
  }
}
