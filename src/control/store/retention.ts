import type { Database, Queryable } from './database.ts'
import { DAY_MS } from './partitions.ts'

/** The table of one day of the request log. */
export interface LogDay {
  readonly table: string
  /** Unix day, UTC. */
  readonly day: number
  /** `attached`: the log contains the rows. `apart`: it does not. `leaving`: a detach was interrupted. */
  readonly state: 'attached' | 'leaving' | 'apart'
}

const NAME = /^request_log_(\d{4})(\d{2})(\d{2})$/

/** Lists all days that have a table, the oldest first. */
export async function listLogDays(queryable: Queryable): Promise<LogDay[]> {
  const rows = await queryable.query<{ table: string; leaving: boolean | null }>(
    `SELECT c.relname AS "table", i.inhdetachpending AS leaving
      FROM pg_class c LEFT JOIN pg_inherits i ON i.inhrelid = c.oid AND i.inhparent = 'request_log'::regclass
      WHERE c.relkind = 'r' AND c.relnamespace = current_schema()::regnamespace AND c.relname LIKE 'request\\_log\\_________'
      ORDER BY c.relname`,
  )
  return rows.flatMap(({ table, leaving }) => {
    const match = NAME.exec(table)
    if (match === null) return []
    const day = Date.UTC(Number(match[1]), Number(match[2]) - 1, Number(match[3])) / DAY_MS
    return [{ table, day, state: leaving === null ? 'apart' : leaving ? 'leaving' : 'attached' }]
  })
}

/**
 * Drops the table of a day of the request log. On Postgres, it first detaches the table concurrently, so that readers and writers do
 * not wait. A failed call can be repeated.
 */
export async function dropLogDay(database: Database, { table, state }: LogDay): Promise<void> {
  if (!NAME.test(table)) throw new RangeError(`${table} is not a table of the request log`)
  // The embedded database has one connection, so nobody waits for a lock.
  if (database.kind !== 'postgres') {
    await database.script(`DROP TABLE IF EXISTS ${table}`)
    return
  }
  if (state !== 'apart') {
    const how = state === 'leaving' ? 'FINALIZE' : 'CONCURRENTLY'
    await database.script(`ALTER TABLE request_log DETACH PARTITION ${table} ${how}`)
  }
  for (const relation of await relationsOf(database, table)) await database.script(`DROP ${relation}`)
}

/** Lists the relations to drop one after the other, the table last: the file system takes long to free all of them at once. */
async function relationsOf(database: Database, table: string): Promise<string[]> {
  const indexes = await database.query<{ name: string }>(
    `SELECT quote_ident(c.relname) AS name FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid
      WHERE i.indrelid = to_regclass($1) AND NOT EXISTS (SELECT 1 FROM pg_constraint k WHERE k.conindid = i.indexrelid)
      ORDER BY c.relname`,
    [table],
  )
  return [...indexes.map(({ name }) => `INDEX IF EXISTS ${name}`), `TABLE IF EXISTS ${table}`]
}

/** Resolves to the number of deleted dead letters. */
export async function removeDeadLettersBefore(queryable: Queryable, beforeMs: number): Promise<number> {
  const rows = await queryable.query('DELETE FROM journal_dead_letters WHERE at < $1 RETURNING position', [
    new Date(beforeMs),
  ])
  return rows.length
}
