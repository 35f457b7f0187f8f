import type { Queryable } from './database.ts'
import type { DeadLetterRow } from './journal.ts'
import { LOG_SELECT } from './request-log.ts'
import type { RequestLogRow } from './request-log.ts'
import { DAY_MS } from './partitions.ts'

const RETRY_LOCK = 7_585_425

/** The place of a dead letter in a journal. */
export type DeadLetterPlace = Pick<DeadLetterRow, 'node' | 'segment' | 'position'>

/** Removes a dead letter and returns it; null when there is none (any more). Who gets it settles it, or loses it for good. */
export async function takeDeadLetter(queryable: Queryable, place: DeadLetterPlace): Promise<DeadLetterRow | null> {
  const [row] = await queryable.query<DeadLetterRow>(
    `DELETE FROM journal_dead_letters WHERE node = $1 AND segment = $2 AND position = $3
      RETURNING node, segment, position, reason, bytes, (extract(epoch FROM at) * 1000)::int8 AS "atMs"`,
    [place.node, place.segment, place.position],
  )
  return row ?? null
}

/** Makes other retries wait until the transaction ends: two letters may be of one request. */
export async function lockRetries(tx: Queryable): Promise<void> {
  await tx.query('SELECT pg_advisory_xact_lock($1)', [RETRY_LOCK])
}

/** Returns the row of a request, whoever it belongs to; null: the log has none. */
export async function findRowOf(
  queryable: Queryable,
  { id, atMs }: Pick<RequestLogRow, 'id' | 'atMs'>,
): Promise<RequestLogRow | null> {
  const [row] = await queryable.query<RequestLogRow>(`${LOG_SELECT} FROM request_log WHERE at = $1 AND id = $2`, [
    new Date(atMs),
    id,
  ])
  return row ?? null
}

export async function removeRowOf(
  queryable: Queryable,
  { id, atMs }: Pick<RequestLogRow, 'id' | 'atMs'>,
): Promise<void> {
  await queryable.query('DELETE FROM request_log WHERE at = $1 AND id = $2', [new Date(atMs), id])
}

const REMOVE_EMPTY_ROLLUPS = [
  'DELETE FROM request_rollup_hourly WHERE requests = 0 AND hour BETWEEN $1 AND $2',
  'DELETE FROM request_rollup_daily WHERE requests = 0 AND day BETWEEN $1 AND $2',
  'DELETE FROM enterprise_rollup_hourly WHERE requests = 0 AND hour BETWEEN $1 AND $2',
  'DELETE FROM key_rollup_daily WHERE requests = 0 AND day BETWEEN $1 AND $2',
] as const

/** Removes the sums around a time that no row is left of. */
export async function removeEmptyRollups(queryable: Queryable, atMs: number): Promise<void> {
  const around = [new Date(atMs - DAY_MS), new Date(atMs + DAY_MS)]
  for (const statement of REMOVE_EMPTY_ROLLUPS) await queryable.query(statement, around)
}
