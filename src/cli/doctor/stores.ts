import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as elapsed } from 'node:timers/promises'
import type { Config } from '../../shared/config/shape.ts'
import type { Database } from '../../control/store/database.ts'
import { pendingMigrations } from '../../control/store/migrate.ts'
import { RedisConnection } from '../../control/store/redis-connection.ts'
import { DirectoryInUseError } from '../../shared/runtime/data-directory.ts'
import { UNHEARD, withDatabase } from '../with-database.ts'
import type { ClockReading } from './clock.ts'
import { failed, ok, reasonOf, skipped } from './finding.ts'
import type { Finding } from './finding.ts'

const REDIS_TIMEOUT_MS = 5_000
const RETRY_MS = 50

export interface StoreReport {
  readonly findings: readonly Finding[]
  /** A reading of the clock of the server; null: no server was asked. */
  readonly clock: ClockReading | null
}

export async function checkDatabase(config: Config): Promise<StoreReport> {
  const { url } = config.database
  if (url === null) {
    const directory = join(config.dataDir, 'database')
    if (!existsSync(directory)) return only(ok('database', `${directory}: the first start creates it`))
  }
  try {
    return await withDatabase(config, UNHEARD, async (database) => {
      const latencyMs = await database.ping()
      const opened = ok('database', `${database.kind} answers in ${latencyMs.toFixed(1)} ms`)
      const clock = url === null ? null : await readClock(database)
      return { findings: [opened, await checkMigrations(database)], clock }
    })
  } catch (cause) {
    if (cause instanceof DirectoryInUseError) return only(skipped('database', `process ${cause.pid} has it open`))
    return only(failed('database', reasonOf(cause), url === null ? EMBEDDED_FIX : POSTGRES_FIX))
  }
}

const EMBEDDED_FIX = 'check the disk of the data directory, or restore the data directory from a backup'
const POSTGRES_FIX = 'check DATABASE_URL, that the server is up, and that it accepts this machine and user'

async function checkMigrations(database: Database): Promise<Finding> {
  try {
    const pending = await pendingMigrations(database)
    return pending.length === 0
      ? ok('migrations', 'the schema is up to date')
      : failed(
          'migrations',
          `${pending.length} pending, the first is ${pending[0] ?? ''}`,
          'run sluice migrate, or start the gateway',
        )
  } catch (cause) {
    return failed(
      'migrations',
      reasonOf(cause),
      'install the version of Sluice that created this schema, or a newer one',
    )
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
  if (address === null) return skipped('redis', 'not configured: limits hold for this machine alone')
  let reason = 'no answer'
  const connection = new RedisConnection({
    address,
    channels: [],
    onMessage: () => undefined,
    onError: (error) => {
      reason = error.message
    },
  })
  const endMs = Date.now() + REDIS_TIMEOUT_MS
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

const REDIS_FIX = 'check REDIS_URL, that the server is up, and that it accepts this machine'

function only(finding: Finding): StoreReport {
  return { findings: [finding], clock: null }
}
