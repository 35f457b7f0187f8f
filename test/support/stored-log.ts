import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { openPglite } from '../../src/control/store/pglite-database.ts'
import { openPostgres } from '../../src/control/store/postgres-database.ts'

export interface StoredRow {
  readonly id: string
  readonly client_request_id: string | null
  readonly key_id: string | null
  readonly endpoint: string
  readonly status: number | null
  readonly settlement: string
  readonly stream: boolean
  readonly aborted: boolean
  readonly prompt_tokens: number
  readonly completion_tokens: number
}

/** The log of a stopped gateway, read from its stores. */
export interface StoredLog {
  readonly rows: readonly StoredRow[]
  /** Sums of requests and tokens over the rows, and over the hourly rollups. */
  readonly rowSums: Sums
  readonly rollupSums: Sums
  /** Sums over the daily rollups: of all enterprises together, and of the single enterprises. */
  readonly dailySums: readonly [all: Sums, each: Sums]
  /** Number of requests with a begin record that have neither ended nor been marked as interrupted. */
  readonly open: number
  readonly deadLetters: number
  readonly segments: readonly string[]
}

interface Sums {
  readonly requests: number
  readonly aborted: number
  readonly prompt_tokens: number
  readonly completion_tokens: number
}

const DAILY_SUMS = `SELECT coalesce(sum(requests), 0)::int8 AS requests, coalesce(sum(aborted), 0)::int8 AS aborted,
    coalesce(sum(prompt_tokens), 0)::int8 AS prompt_tokens,
    coalesce(sum(completion_tokens), 0)::int8 AS completion_tokens FROM request_rollup_daily`

/** Reads the stores of a stopped gateway: no other process may have the embedded database open. */
export async function readStoredLog(dataDir: string, databaseUrl: string | null): Promise<StoredLog> {
  const database =
    databaseUrl === null
      ? await openPglite(join(dataDir, 'database'))
      : openPostgres({
          url: databaseUrl,
          maxConnections: 1,
          statementTimeoutMs: 60_000,
          onConnectionError: () => undefined,
        })
  const one = async <T>(sql: string): Promise<T> => {
    const [row] = await database.query<T>(sql)
    if (row === undefined) throw new Error(`no row: ${sql}`)
    return row
  }
  try {
    return {
      rows: await database.query<StoredRow>(
        `SELECT id, client_request_id, key_id, endpoint, status, settlement, stream, aborted, prompt_tokens, completion_tokens
          FROM request_log`,
      ),
      rowSums: await one(
        `SELECT count(*)::int8 AS requests, count(*) FILTER (WHERE aborted)::int8 AS aborted,
          coalesce(sum(prompt_tokens), 0)::int8 AS prompt_tokens,
          coalesce(sum(completion_tokens), 0)::int8 AS completion_tokens FROM request_log`,
      ),
      rollupSums: await one(
        `SELECT coalesce(sum(requests), 0)::int8 AS requests, coalesce(sum(aborted), 0)::int8 AS aborted,
          coalesce(sum(prompt_tokens), 0)::int8 AS prompt_tokens,
          coalesce(sum(completion_tokens), 0)::int8 AS completion_tokens FROM request_rollup_hourly`,
      ),
      dailySums: [
        await one(`${DAILY_SUMS} WHERE enterprise_id = '*'`),
        await one(`${DAILY_SUMS} WHERE enterprise_id <> '*'`),
      ],
      open: (await one<{ n: number }>('SELECT count(*)::int8 AS n FROM journal_open')).n,
      deadLetters: (await one<{ n: number }>('SELECT count(*)::int8 AS n FROM journal_dead_letters')).n,
      segments: segmentsOf(dataDir),
    }
  } finally {
    await database.close()
  }
}

function segmentsOf(dataDir: string): string[] {
  const directory = join(dataDir, 'journal')
  return existsSync(directory) ? readdirSync(directory) : []
}
