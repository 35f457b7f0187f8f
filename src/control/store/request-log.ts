import type { LogValueTypes } from '../../shared/core/request-record.ts'
import { timeOfRequestId } from '../../shared/core/request-id.ts'
import { fieldsInRecord, LOG_FIELD_LIST } from '../../shared/records/log-fields.ts'
import type { LogFieldName, LogFieldType, LogValue, NamedLogField } from '../../shared/records/log-fields.ts'
import type { Queryable } from './database.ts'
import { containsPattern, storableText } from './text.ts'

interface StoredTypes extends Omit<LogValueTypes, 'status'> {
  /** Null when the serving process ended before the response. */
  readonly status: number | null
}

/** A row of the request log. Times are Unix milliseconds, durations microseconds, money micro-units. */
export type RequestLogRow = { readonly [Name in LogFieldName]: LogValue<Name, StoredTypes> }

/** The rows that the caller may see. It is required everywhere, so that no query forgets the tenant. */
export type LogScope =
  | { readonly kind: 'everyone' }
  | { readonly kind: 'user'; readonly userId: string }
  | { readonly kind: 'enterprise'; readonly enterpriseId: string }

export interface LogFilter {
  readonly fromMs?: number
  /** The exclusive end of the time range. */
  readonly toMs?: number
  readonly keyId?: string
  readonly model?: string
  readonly status?: number
  readonly errorType?: string
  /** A part of the User-Agent; at least two characters. */
  readonly userAgent?: string
  /** A part of the gateway's or the client's request id; at least two characters. */
  readonly requestId?: string
  readonly traceId?: string
}

/** The last row of a page: the next page is older. */
export interface LogCursor {
  readonly atMs: number
  readonly id: string
}

export interface LogPage {
  readonly rows: readonly RequestLogRow[]
  /** The cursor of the next, older page; null on the last page. */
  readonly next: LogCursor | null
}

/** SQL expressions for columns that are not read unchanged. */
const EXPRESSIONS: Partial<Record<LogFieldType, string>> = {
  time: '(extract(epoch FROM at) * 1000)::int8',
  attempts: 'attempts::json',
}

/** Columns of the log in the order in which rows are written: the fields of the journal, then those that the settler adds. */
export const LOG_COLUMNS: readonly NamedLogField[] = [
  ...fieldsInRecord('end'),
  ...LOG_FIELD_LIST.filter(({ end }) => end === null),
]

const SELECT = `SELECT ${LOG_COLUMNS.map(selectExpression).join(', ')} FROM request_log`

/**
 * Returns one page, newest first. A cursor costs the same however far back it is. The two text filters and the trace filter read
 * every row of the time range, so give them a range. Throws a RangeError for a search text that is too short.
 */
export async function listLogRows(
  queryable: Queryable,
  scope: LogScope,
  filter: LogFilter,
  page: { readonly limit: number; readonly after: LogCursor | null; readonly offset?: number },
): Promise<LogPage> {
  const where = new Conditions()
  addScope(where, scope)
  addFilter(where, filter)
  if (page.after !== null) {
    const { atMs, id } = page.after
    // The second condition is redundant, but it lets the database skip the partitions of later days.
    where.add((a, b) => `(at, id) < (${a}, ${b}) AND at <= ${a}`, new Date(atMs), id)
  }
  const limit = Math.max(1, Math.floor(page.limit))
  const offset = Math.max(0, Math.floor(page.offset ?? 0))
  const sql = `${SELECT}${where.sql()} ORDER BY at DESC, id DESC LIMIT ${limit + 1} OFFSET ${offset}`
  const rows = await queryable.query<RequestLogRow>(sql, where.values)
  const shown = rows.slice(0, limit)
  const last = shown.at(-1)
  return { rows: shown, next: rows.length > limit && last !== undefined ? last : null }
}

/** Counts the rows, up to `most`: counting all of a long log would take as long as reading it. */
export async function countLogRows(
  queryable: Queryable,
  scope: LogScope,
  filter: LogFilter,
  most: number,
): Promise<number> {
  const where = new Conditions()
  addScope(where, scope)
  addFilter(where, filter)
  const limit = where.values.length + 1
  const sql = `SELECT count(*)::int4 AS count FROM (SELECT 1 FROM request_log${where.sql()} LIMIT $${limit}::int4) AS counted`
  const [counted] = await queryable.query<{ count: number }>(sql, [...where.values, most])
  return counted?.count ?? 0
}

/** Returns the row of one request, or null when the scope has no such row. The id contains the time, so no other index is needed. */
export async function findLogRow(queryable: Queryable, scope: LogScope, id: string): Promise<RequestLogRow | null> {
  const atMs = timeOfRequestId(id)
  if (atMs === null) return null
  const where = new Conditions()
  addScope(where, scope)
  where.add((a, b) => `at = ${a} AND id = ${b}`, new Date(atMs), id)
  const [row] = await queryable.query<RequestLogRow>(`${SELECT}${where.sql()} LIMIT 1`, where.values)
  return row ?? null
}

export function encodeLogCursor(row: LogCursor): string {
  return Buffer.from(`${row.atMs}.${row.id}`).toString('base64url')
}

/** Throws a RangeError for an invalid cursor. */
export function decodeLogCursor(cursor: string): LogCursor {
  const match = /^(\d{1,15})\.([^\0]+)$/s.exec(Buffer.from(cursor, 'base64url').toString())
  if (match?.[1] === undefined || match[2] === undefined) throw new RangeError('the cursor is not valid')
  return { atMs: Number(match[1]), id: match[2] }
}

class Conditions {
  readonly values: unknown[] = []
  readonly #terms: string[] = []

  /** `term` gets the placeholders of the values, in order. */
  add(term: (...placeholders: string[]) => string, ...values: unknown[]): void {
    const storable = values.map((value) => (typeof value === 'string' ? storableText(value) : value))
    this.#terms.push(term(...storable.map((value) => `$${this.values.push(value)}`)))
  }

  sql(): string {
    return this.#terms.length === 0 ? '' : ` WHERE ${this.#terms.join(' AND ')}`
  }
}

function addScope(where: Conditions, scope: LogScope): void {
  if (scope.kind === 'user') where.add((a) => `user_id = ${a}`, scope.userId)
  if (scope.kind === 'enterprise') where.add((a) => `enterprise_id = ${a}`, scope.enterpriseId)
}

function addFilter(where: Conditions, filter: LogFilter): void {
  if (filter.fromMs !== undefined) where.add((a) => `at >= ${a}`, new Date(filter.fromMs))
  if (filter.toMs !== undefined) where.add((a) => `at < ${a}`, new Date(filter.toMs))
  if (filter.keyId !== undefined) where.add((a) => `key_id = ${a}`, filter.keyId)
  if (filter.model !== undefined) where.add((a) => `model = ${a}`, filter.model)
  if (filter.status !== undefined) where.add((a) => `status = ${a}`, filter.status)
  if (filter.errorType !== undefined) where.add((a) => `error_type = ${a}`, filter.errorType)
  if (filter.traceId !== undefined) where.add((a) => `trace_id = ${a}`, filter.traceId)
  if (filter.userAgent !== undefined) where.add((a) => `user_agent LIKE ${a}`, searchPattern(filter.userAgent))
  if (filter.requestId !== undefined) {
    where.add((a) => `(id LIKE ${a} OR client_request_id LIKE ${a})`, searchPattern(filter.requestId))
  }
}

function searchPattern(text: string): string {
  if (text.length < 2) throw new RangeError('a search text needs at least two characters')
  return containsPattern(text)
}

function selectExpression({ name, type, column }: NamedLogField): string {
  return `${EXPRESSIONS[type] ?? column} AS "${name}"`
}
