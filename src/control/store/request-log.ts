import type { AttemptRecord } from '../../shared/core/request-record.ts'
import { timeOfRequestId } from '../../shared/core/request-id.ts'
import type { Queryable } from './database.ts'
import { containsPattern, storableText } from './text.ts'

/** A row of the request log. Times of day are Unix milliseconds, durations microseconds, money micro-units. */
export interface RequestLogRow {
  readonly atMs: number
  readonly id: string
  readonly node: string
  readonly endpoint: string
  readonly dialect: string
  readonly keyId: string | null
  readonly keyMasked: string | null
  readonly userId: string | null
  readonly enterpriseId: string | null
  readonly departmentId: string | null
  readonly memberId: string | null
  readonly model: string | null
  readonly servedModel: string | null
  readonly providerId: string | null
  readonly upstreamKeyId: string | null
  readonly attempts: readonly AttemptRecord[]
  /** Null when the process that served ended before the answer did. */
  readonly status: number | null
  readonly errorType: string | null
  readonly errorCode: string | null
  readonly stream: boolean
  readonly aborted: boolean
  readonly promptTokens: number
  readonly completionTokens: number
  readonly cachedTokens: number
  readonly cacheWriteTokens: number
  readonly reasoningTokens: number
  readonly costMicro: number
  readonly settlement: string
  readonly queueUs: number
  readonly ttftUs: number | null
  readonly totalUs: number
  readonly overheadUs: number
  readonly userAgent: string
  readonly clientAddress: string
  readonly clientRequestId: string | null
  readonly traceId: string | null
}

/** Whose rows may be seen. Required everywhere, so that no query forgets the tenant. */
export type LogScope =
  | { readonly kind: 'everyone' }
  | { readonly kind: 'user'; readonly userId: string }
  | { readonly kind: 'enterprise'; readonly enterpriseId: string }

export interface LogFilter {
  readonly fromMs?: number
  /** Exclusive. */
  readonly toMs?: number
  readonly keyId?: string
  readonly model?: string
  readonly status?: number
  readonly errorType?: string
  /** Anywhere in the User-Agent; at least two characters. */
  readonly userAgent?: string
  /** Anywhere in our request id or the client's; at least two characters. */
  readonly requestId?: string
  readonly traceId?: string
}

/** The last row of a page: what follows is older. */
export interface LogCursor {
  readonly atMs: number
  readonly id: string
}

export interface LogPage {
  readonly rows: readonly RequestLogRow[]
  /** For the next, older page; null on the last. */
  readonly next: LogCursor | null
}

type Column = readonly [column: string, field: keyof RequestLogRow]

/** In the order of an end record's fields, in which rows are written. */
const COLUMNS: readonly Column[] = [
  ['id', 'id'],
  ['at', 'atMs'],
  ['endpoint', 'endpoint'],
  ['dialect', 'dialect'],
  ['key_id', 'keyId'],
  ['key_masked', 'keyMasked'],
  ['user_id', 'userId'],
  ['enterprise_id', 'enterpriseId'],
  ['department_id', 'departmentId'],
  ['member_id', 'memberId'],
  ['model', 'model'],
  ['stream', 'stream'],
  ['user_agent', 'userAgent'],
  ['client_address', 'clientAddress'],
  ['client_request_id', 'clientRequestId'],
  ['status', 'status'],
  ['error_type', 'errorType'],
  ['error_code', 'errorCode'],
  ['provider_id', 'providerId'],
  ['upstream_key_id', 'upstreamKeyId'],
  ['served_model', 'servedModel'],
  ['attempts', 'attempts'],
  ['prompt_tokens', 'promptTokens'],
  ['completion_tokens', 'completionTokens'],
  ['cached_tokens', 'cachedTokens'],
  ['cache_write_tokens', 'cacheWriteTokens'],
  ['reasoning_tokens', 'reasoningTokens'],
  ['settlement', 'settlement'],
  ['aborted', 'aborted'],
  ['queue_us', 'queueUs'],
  ['ttft_us', 'ttftUs'],
  ['total_us', 'totalUs'],
  ['overhead_us', 'overheadUs'],
  ['trace_id', 'traceId'],
  ['node', 'node'],
  ['cost_micro', 'costMicro'],
]

/** How a column is read that is not read as it is. */
const EXPRESSIONS: Readonly<Record<string, string>> = {
  at: '(extract(epoch FROM at) * 1000)::int8',
  attempts: 'attempts::json',
}

export const LOG_COLUMNS = COLUMNS.map(([column]) => column)

const SELECT = `SELECT ${COLUMNS.map(([column, field]) => selectExpression(column, field)).join(', ')} FROM request_log`

/**
 * One page, newest first. Costs the same however far back the cursor is. The two text filters and that by trace read every
 * row of the time range, so give them one. Throws a RangeError for a text that is none.
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
    // The second says nothing new, but it is what spares the days that are later.
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

/** How many there are, up to `most`: counting all of a long log would take as long as reading it. */
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

/** The row of one request, or null when there is none within the scope. The id tells its time, so that it needs no index. */
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

/** Throws a RangeError for what is none. */
export function decodeLogCursor(cursor: string): LogCursor {
  const match = /^(\d{1,15})\.([^\0]+)$/s.exec(Buffer.from(cursor, 'base64url').toString())
  if (match?.[1] === undefined || match[2] === undefined) throw new RangeError('the cursor is not one of ours')
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
  if (text.length < 2) throw new RangeError('a text to search for has at least two characters')
  return containsPattern(text)
}

function selectExpression(column: string, field: string): string {
  return `${EXPRESSIONS[column] ?? column} AS "${field}"`
}
