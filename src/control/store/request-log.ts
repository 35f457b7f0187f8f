import type { LogValueTypes } from '../../shared/core/request-record.ts'
import { timeOfRequestId } from '../../shared/core/request-id.ts'
import { fieldsInRecord, LOG_FIELD_LIST } from '../../shared/records/log-fields.ts'
import type { LogFieldName, LogFieldType, LogValue, NamedLogField } from '../../shared/records/log-fields.ts'
import type { Queryable } from './database.ts'
import { addFilter, addScope, branchesOf, Conditions } from './log-filter.ts'
import type { LogFilter, LogScope } from './log-filter.ts'

interface StoredTypes extends Omit<LogValueTypes, 'status' | 'tags'> {
  /** Null when the serving process ended before the response. */
  readonly status: number | null
  readonly tags: Readonly<Record<string, string>>
}

/** A row of the request log. Times are Unix milliseconds, durations microseconds, money micro-units. */
export type RequestLogRow = { readonly [Name in LogFieldName]: LogValue<Name, StoredTypes> }

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

/** Reads rows of the log, or of the table of one day. */
export const LOG_SELECT = `SELECT ${LOG_COLUMNS.map(selectExpression).join(', ')}`
const SELECT = `${LOG_SELECT} FROM request_log`
const NEWEST_FIRST = 'ORDER BY at DESC, id DESC'

/**
 * Returns one page, newest first. A cursor costs the same however far back it is. The text filters, and those of traces and tags, read
 * every row of the time range, so give them a range. Throws a RangeError for a search text that is too short.
 */
export async function listLogRows(
  queryable: Queryable,
  scope: LogScope,
  filter: LogFilter,
  page: { readonly limit: number; readonly after: LogCursor | null; readonly offset?: number },
): Promise<LogPage> {
  const where = new Conditions()
  addFilter(where, filter)
  if (page.after !== null) {
    const { atMs, id } = page.after
    // The second condition is redundant, but it lets the database skip the partitions of later days.
    where.add((a, b) => `(at, id) < (${a}, ${b}) AND at <= ${a}`, new Date(atMs), id)
  }
  const limit = Math.max(1, Math.floor(page.limit))
  const offset = Math.max(0, Math.floor(page.offset ?? 0))
  const [first, ...others] = branchesOf(where, scope).map((branch) => `${SELECT}${branch.sql()} ${NEWEST_FIRST}`)
  const given = (count: number): string => `$${where.values.push(count)}::int8`
  let rowsSql = first
  if (others.length > 0) {
    const most = given(offset + limit + 1)
    const all = [first, ...others].map((branch) => `(${branch} LIMIT ${most})`)
    rowsSql = `SELECT * FROM (${all.join(' UNION ALL ')}) AS own ORDER BY "atMs" DESC, "id" DESC`
  }
  const sql = `${rowsSql} LIMIT ${given(limit + 1)} OFFSET ${given(offset)}`
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
  addFilter(where, filter)
  const limit = `$${where.values.push(most)}::int4`
  const all = branchesOf(where, scope).map((branch) => `(SELECT 1 FROM request_log${branch.sql()} LIMIT ${limit})`)
  const sql = `SELECT count(*)::int4 AS count FROM (SELECT 1 FROM (${all.join(' UNION ALL ')}) AS own LIMIT ${limit}) AS counted`
  const [counted] = await queryable.query<{ count: number }>(sql, where.values)
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

function selectExpression({ name, type, column }: NamedLogField): string {
  return `${EXPRESSIONS[type] ?? column} AS "${name}"`
}
