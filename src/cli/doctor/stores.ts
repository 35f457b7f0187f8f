import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as elapsed } from 'node:timers/promises'
import type { Config } from '../../shared/config/shape.ts'
import type { Database } from '../../control/store/database.ts'
import { pendingMigrations } from '../../control/store/migrate.ts'
import { openDatabase } from '../../control/store/open-database.ts'
import { RedisConnection } from '../../control/store/redis-connection.ts'
import type { ClockReading } from './clock.ts'
import { failed, ok, reasonOf, skipped } from './finding.ts'
import type { Finding } from './finding.ts'

const REDIS_PATIENCE_MS = 5_000
const RETRY_MS = 50

export interface StoreReport {
  readonly findings: readonly Finding[]
  /** What the clock of the server says; null: there is none to ask. */
  readonly clock: ClockReading | null
}

/** @param holder the process of the gateway that has the data directory; null: none */
export async function checkDatabase(config: Config, holder: number | null): Promise<StoreReport> {
  const { url } = config.database
  if (url === null) {
    const directory = join(config.dataDir, 'database')
    if (holder !== null) return only(skipped('database', `the gateway of process ${holder} has it open`))
    if (!existsSync(directory)) return only(ok('database', `${directory} will be made by the first start`))
  }
  let database: Database
  try {
    database = await openDatabase({ ...config.database, dataDir: config.dataDir, onFault: () => undefined })
  } catch (cause) {
    return only(failed('database', reasonOf(cause), url === null ? EMBEDDED_FIX : POSTGRES_FIX))
  }
  try {
    const latencyMs = await database.ping()
    const opened = ok('database', `${database.kind} answers in ${latencyMs.toFixed(1)} ms`)
    const clock = url === null ? null : await readClock(database)
    return { findings: [opened, await checkMigrations(database)], clock }
  } catch (cause) {
    return only(failed('database', reasonOf(cause), url === null ? EMBEDDED_FIX : POSTGRES_FIX))
  } finally {
    await database.close()
  }
}

const EMBEDDED_FIX = 'restore the data directory from a backup, or see what is wrong with its disk'
const POSTGRES_FIX = 'see that DATABASE_URL is right, and that the server is up and lets this machine and user in'

async function checkMigrations(database: Database): Promise<Finding> {
  try {
    const pending = await pendingMigrations(database)
    return pending.length === 0
      ? ok('migrations', 'the schema is up to date')
      : failed(
          'migrations',
          `${pending.length} to do, from ${pending[0] ?? ''}`,
          'run sluice migrate, or start the gateway',
        )
  } catch (cause) {
    return failed('migrations', reasonOf(cause), 'install the version of Sluice that made this schema, or a newer one')
  }
}

async function readClock(database: Database): Promise<ClockReading> {
  const before = Date.now()
  const [row] = await database.query<{ ms: number }>(
    'SELECT (extract(epoch FROM clock_timestamp()) * 1000)::float8 AS ms',
  )
  return { of: 'the database', offsetMs: (row?.ms ?? before) - (before + Date.now()) / 2, exactMs: Date.now() - before }
}

export async function checkRedis({ redis: { address } }: Config): Promise<Finding> {
  if (address === null) return skipped('redis', 'not configured: limits are kept on this machine')
  let reason = 'no answer'
  const connection = new RedisConnection({
    address,
    channels: [],
    onMessage: () => undefined,
    onError: (error) => {
      reason = error.message
    },
  })
  const endMs = Date.now() + REDIS_PATIENCE_MS
  try {
    for (;;) {
      try {
        return ok('redis', `answers in ${(await connection.ping()).toFixed(1)} ms`)
      } catch {
        if (Date.now() >= endMs) return failed('redis', reason, REDIS_FIX)
      }
      await elapsed(RETRY_MS)
    }
  } finally {
    connection.close()
  }
}

const REDIS_FIX = 'see that REDIS_URL is right, and that the server is up and lets this machine in'

function only(finding: Finding): StoreReport {
  return { findings: [finding], clock: null }
}
