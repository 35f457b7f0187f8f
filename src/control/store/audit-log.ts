import type { Queryable } from './database.ts'
import { storableText } from './text.ts'

/** A change, or a refused attempt. */
export interface AuditEntry {
  /** Null when the caller was not logged in. */
  readonly userId: string | null
  readonly role: string | null
  readonly operation: string
  readonly path: string
  readonly enterpriseId: string | null
  /** The id of the changed resource. */
  readonly targetId: string | null
  /** The body as JSON without secrets; null when there was none, or when it was not read. */
  readonly sent: string | null
  /** JSON: the fields that changed, each with its old and its new value; null: not known. */
  readonly changes: string | null
  readonly address: string
  readonly requestId: string
  readonly outcome: 'done' | 'refused'
  readonly errorCode: string | null
}

export interface AuditRow extends Omit<AuditEntry, 'sent' | 'changes'> {
  readonly id: number
  readonly at: Date
  readonly sent: Readonly<Record<string, unknown>> | null
  readonly changes: Array<{ field: string; old: unknown; new: unknown }> | null
}

export interface AuditFilter {
  readonly from?: Date | undefined
  readonly to?: Date | undefined
  readonly userId?: string | undefined
  readonly enterpriseId?: string | undefined
  readonly operation?: string | undefined
  /** Any of them. */
  readonly operations?: readonly string[] | undefined
  readonly targetId?: string | undefined
  readonly outcome?: AuditEntry['outcome'] | undefined
}

export async function insertAuditEntry(queryable: Queryable, entry: AuditEntry): Promise<void> {
  await queryable.query(
    `INSERT INTO audit_log (user_id, role, operation, path, enterprise_id, target_id, sent, address, request_id,
        outcome, error_code, changes)
      VALUES ($1, $2, $3, $4, $5, $6, $7::json, $8, $9, $10, $11, $12::json)`,
    [
      entry.userId,
      entry.role,
      entry.operation,
      storableText(entry.path),
      entry.enterpriseId === null ? null : storableText(entry.enterpriseId),
      entry.targetId === null ? null : storableText(entry.targetId),
      entry.sent,
      entry.address,
      entry.requestId,
      entry.outcome,
      entry.errorCode,
      entry.changes,
    ],
  )
}

const WHERE = `WHERE ($1::timestamptz IS NULL OR at >= $1) AND ($2::timestamptz IS NULL OR at < $2)
  AND ($3::text IS NULL OR user_id = $3) AND ($4::text IS NULL OR enterprise_id = $4)
  AND ($5::text IS NULL OR operation = $5) AND ($6::text IS NULL OR target_id = $6)
  AND ($7::text IS NULL OR outcome = $7) AND ($8::text[] IS NULL OR operation = ANY ($8))`

/** Lists the newest first; `after` is the last entry of the page before. */
export async function listAuditEntries(
  queryable: Queryable,
  filter: AuditFilter,
  page: { readonly limit: number; readonly after: Pick<AuditRow, 'id' | 'at'> | null; readonly offset?: number },
): Promise<AuditRow[]> {
  const { limit, after, offset = 0 } = page
  return queryable.query<AuditRow>(
    `SELECT id, at, user_id AS "userId", role, operation, path,
        enterprise_id AS "enterpriseId", target_id AS "targetId", sent, changes, address, request_id AS "requestId", outcome,
        error_code AS "errorCode"
      FROM audit_log
      ${WHERE}
        AND ($9::timestamptz IS NULL OR (at, id) < ($9, $10::int8))
      ORDER BY at DESC, id DESC LIMIT $11 OFFSET $12`,
    [...valuesOf(filter), after?.at ?? null, after?.id ?? null, limit, offset],
  )
}

/** Counts the entries, up to `most`. */
export async function countAuditEntries(queryable: Queryable, filter: AuditFilter, most: number): Promise<number> {
  const [counted] = await queryable.query<{ count: number }>(
    `SELECT count(*)::int4 AS count FROM (SELECT 1 FROM audit_log ${WHERE} LIMIT $9) AS counted`,
    [...valuesOf(filter), most],
  )
  return counted?.count ?? 0
}

function valuesOf(filter: AuditFilter): unknown[] {
  const { from, to, userId, enterpriseId, operation, targetId, outcome, operations } = filter
  return [from, to, userId, enterpriseId, operation, targetId, outcome, operations].map((value) => value ?? null)
}

/** Deletes up to `most` entries, the oldest first. Resolves to their number. */
export async function removeAuditEntriesBefore(queryable: Queryable, beforeMs: number, most: number): Promise<number> {
  const rows = await queryable.query(
    `DELETE FROM audit_log WHERE id IN (SELECT id FROM audit_log WHERE at < $1 ORDER BY at, id LIMIT $2) RETURNING id`,
    [new Date(beforeMs), most],
  )
  return rows.length
}
