import { GatewayError } from '../core/errors.ts'
import type { Queryable } from '../store/database.ts'
import { findLogRow, listLogRows } from '../store/request-log.ts'
import type { LogFilter, RequestLogRow } from '../store/request-log.ts'
import type { ManagementRoute } from './router.ts'

const DEFAULT_LIMIT = 20
const MAX_LIMIT = 100

/** The request log of everyone, for platform admins. */
export function logRoutes(database: Queryable): readonly ManagementRoute[] {
  return [
    {
      method: 'GET',
      path: '/v1/admin/logs',
      allow: 'admin',
      handle: async ({ query }) => {
        const limit = wholeNumber(query, 'limit', MAX_LIMIT) ?? DEFAULT_LIMIT
        const cursor = query.get('cursor') ?? undefined
        try {
          const page = await listLogRows(database, { kind: 'everyone' }, filterOf(query), { limit, cursor })
          return {
            data: page.rows.map(rendered),
            limit,
            has_more: page.nextCursor !== null,
            next_cursor: page.nextCursor,
          }
        } catch (cause) {
          if (cause instanceof RangeError) throw new GatewayError('INVALID_FIELD', { message: cause.message })
          throw cause
        }
      },
    },
    {
      method: 'GET',
      path: '/v1/admin/logs/{id}',
      allow: 'admin',
      handle: async ({ params }) => {
        const row = await findLogRow(database, { kind: 'everyone' }, params['id'] ?? '')
        if (row === null) throw new GatewayError('ROUTE_NOT_FOUND', { message: 'There is no request with this id.' })
        return { ...rendered(row), attempts: row.attempts }
      },
    },
  ]
}

function filterOf(query: URLSearchParams): LogFilter {
  const fromMs = time(query, 'from')
  const toMs = time(query, 'to')
  const status = wholeNumber(query, 'status', 999)
  const text = (name: string): string | undefined => query.get(name) ?? undefined
  return compact({
    fromMs,
    toMs,
    status,
    keyId: text('key_id'),
    model: text('model'),
    errorType: text('error_type'),
    userAgent: text('user_agent'),
    requestId: text('request_id'),
    traceId: text('trace_id'),
  })
}

function rendered(row: RequestLogRow): Record<string, unknown> {
  return {
    id: row.id,
    time: new Date(row.atMs).toISOString(),
    user_id: row.userId,
    enterprise_id: row.enterpriseId,
    department_id: row.departmentId,
    member_id: row.memberId,
    key_id: row.keyId,
    key: row.keyMasked,
    endpoint: row.endpoint,
    dialect: row.dialect,
    model: row.model,
    served_model: row.servedModel,
    provider_id: row.providerId,
    upstream_key_id: row.upstreamKeyId,
    attempts: row.attempts.length,
    status: row.status,
    error_type: row.errorType,
    error_code: row.errorCode,
    stream: row.stream,
    aborted: row.aborted,
    prompt_tokens: row.promptTokens,
    completion_tokens: row.completionTokens,
    cached_tokens: row.cachedTokens,
    reasoning_tokens: row.reasoningTokens,
    cost: row.costMicro,
    settlement: row.settlement,
    queue_us: row.queueUs,
    ttft_us: row.ttftUs,
    total_us: row.totalUs,
    overhead_us: row.overheadUs,
    user_agent: row.userAgent,
    client_address: row.clientAddress,
    client_request_id: row.clientRequestId,
    trace_id: row.traceId,
  }
}

function wholeNumber(query: URLSearchParams, name: string, most: number): number | undefined {
  const text = query.get(name)
  if (text === null) return undefined
  const value = Number(text)
  if (!Number.isInteger(value) || value < 1 || value > most) {
    throw new GatewayError('INVALID_FIELD', {
      message: `${name} must be a whole number from 1 to ${most}.`,
      param: `/${name}`,
    })
  }
  return value
}

function time(query: URLSearchParams, name: string): number | undefined {
  const text = query.get(name)
  if (text === null) return undefined
  const value = Date.parse(text)
  if (Number.isNaN(value)) {
    throw new GatewayError('INVALID_FIELD', { message: `${name} must be an ISO 8601 time.`, param: `/${name}` })
  }
  return value
}

/** Without the members that are undefined. */
function compact<T extends object>(value: { [K in keyof T]: T[K] | undefined }): T {
  return Object.fromEntries(Object.entries(value).filter(([, member]) => member !== undefined)) as T
}
