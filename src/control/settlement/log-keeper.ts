import type { Clock } from '../../shared/runtime/clock.ts'
import { repeat } from '../../shared/runtime/repeat.ts'
import { removeAuditEntriesBefore } from '../store/audit-log.ts'
import type { Database } from '../store/database.ts'
import { removeOldAnswers } from '../store/idempotent-answers.ts'
import { removeOldSignInCodes } from '../store/identities.ts'
import { removeOldConsents } from '../store/tool-server-grants.ts'
import { removeOldMailedTokens } from '../store/mailed-tokens.ts'
import { DAY_MS, LogPartitions } from '../store/partitions.ts'
import { removeOldSessions } from '../store/sessions.ts'
import { dropLogDay, listLogDays, removeDeadLettersBefore } from '../store/retention.ts'
import type { SettlerLogger } from './settler.ts'

export interface LogKeeperOptions {
  readonly database: Database
  readonly clock: Clock
  /** Days for which the request log, the audit log and dead letters are kept; 0 keeps all. */
  readonly retentionDays: number
  readonly logger: SettlerLogger
}

const EVERY_MS = 3_600_000
/** Audit entries per statement: each statement has a time limit. */
const AUDIT_ROWS = 1_000

/**
 * Applies the retention of the request log: drops the tables of old days whole, never row by row, and keeps the hourly sums.
 * Deletes old audit entries, dead letters, idempotent answers and sessions as well. Creates the table of the next day ahead of time, so that
 * no insert waits for it at midnight.
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
    this.#options.logger.warn({ err: cause }, 'retention of the request log failed; trying again in an hour')
  }

  async #work(): Promise<void> {
    const { database, clock, retentionDays, logger } = this.#options
    if (this.#isStopped) return
    const today = Math.floor(clock.now() / DAY_MS)
    await new LogPartitions(database).ensure([today, today + 1])
    await removeOldAnswers(database)
    await removeOldSessions(database)
    await removeOldMailedTokens(database)
    await removeOldSignInCodes(database)
    await removeOldConsents(database)
    if (retentionDays === 0) return
    const oldestDay = today - retentionDays
    for (const day of await listLogDays(database)) {
      if (this.#isStopped) return
      if (day.day >= oldestDay) continue
      await dropLogDay(database, day)
      logger.info({ table: day.table }, 'dropped a day of the request log that was past its retention')
    }
    await removeDeadLettersBefore(database, oldestDay * DAY_MS)
    let removed = AUDIT_ROWS
    while (removed === AUDIT_ROWS && !this.#isStopped) {
      removed = await removeAuditEntriesBefore(database, oldestDay * DAY_MS, AUDIT_ROWS)
    }
  }
}
