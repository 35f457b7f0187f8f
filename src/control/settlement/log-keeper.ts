import type { Clock } from '../../shared/runtime/clock.ts'
import { repeat } from '../../shared/runtime/repeat.ts'
import { removeAuditEntriesBefore } from '../store/audit-log.ts'
import type { Database } from '../store/database.ts'
import { removeOldAnswers } from '../store/idempotent-answers.ts'
import { DAY_MS, LogPartitions } from '../store/partitions.ts'
import { dropLogDay, listLogDays, removeDeadLettersBefore } from '../store/retention.ts'
import type { SettlerLogger } from './settler.ts'

export interface LogKeeperOptions {
  readonly database: Database
  readonly clock: Clock
  /** Days of the request log, the audit log and of dead letters that are kept; 0: all. */
  readonly retentionDays: number
  readonly logger: SettlerLogger
}

const EVERY_MS = 3_600_000

/**
 * Keeps the request log as long as it is to be: what is older goes day by day, whole tables, never row by row; the hourly
 * sums stay. The audit log, dead letters and answers kept for repetitions go as well. Makes the table of the next
 * day ahead of time, lest midnight waits for it.
 */
export class LogKeeper {
  readonly #options: LogKeeperOptions
  #timer: NodeJS.Timeout | undefined
  #isStopped = false
  #running: Promise<void> = Promise.resolve()

  constructor(options: LogKeeperOptions) {
    this.#options = options
  }

  /** Works for the first time at once. */
  start(): void {
    const schedule = (): void => {
      this.#schedule()
    }
    this.#timer = repeat(EVERY_MS, schedule, (cause) => {
      this.#warn(cause)
    }).unref()
    schedule()
  }

  /** Resolves when the statement under way has ended. */
  async stop(): Promise<void> {
    this.#isStopped = true
    clearInterval(this.#timer)
    await this.#running
  }

  #schedule(): void {
    this.#running = this.#running
      .then(() => this.#work())
      .catch((cause: unknown) => {
        this.#warn(cause)
      })
  }

  #warn(cause: unknown): void {
    this.#options.logger.warn({ err: cause }, 'the request log could not be looked after; trying again later')
  }

  async #work(): Promise<void> {
    const { database, clock, retentionDays, logger } = this.#options
    if (this.#isStopped) return
    const today = Math.floor(clock.now() / DAY_MS)
    await new LogPartitions(database).ensure([today, today + 1])
    await removeOldAnswers(database)
    if (retentionDays === 0) return
    const oldestDay = today - retentionDays
    for (const day of await listLogDays(database)) {
      if (this.#isStopped) return
      if (day.day >= oldestDay) continue
      await dropLogDay(database, day)
      logger.info({ table: day.table }, 'a day of the request log is past its retention and was dropped')
    }
    await removeDeadLettersBefore(database, oldestDay * DAY_MS)
    await removeAuditEntriesBefore(database, oldestDay * DAY_MS)
  }
}
