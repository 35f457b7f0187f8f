import type { Static } from 'typebox'
import type { AdminLogEntry, LogEntry, LOGS } from '../../shared/api/operations/logs.ts'
import type { QueryOf } from '../../shared/api/operation.ts'
import { GatewayError } from '../../shared/core/errors.ts'
import type { Queryable } from '../store/database.ts'
import { countLogRows, decodeLogCursor, encodeLogCursor, findLogRow, listLogRows } from '../store/request-log.ts'
import type { LogCursor, LogFilter, LogScope, RequestLogRow } from '../store/request-log.ts'
import { Download } from './call.ts'
import type { Handlers } from './call.ts'
import { exportedRows } from './log-export.ts'
import { longPageOf } from './pages.ts'
import type { LongList, LongPage } from './pages.ts'

const EVERYONE: LogScope = { kind: 'everyone' }

/** The request log: a user's own, and everyone's for platform admins. */
export function logHandlers(database: Queryable): Handlers<keyof typeof LOGS> {
  const page = <Entry>(
    scope: LogScope,
    query: QueryOf<typeof LOGS.listLogs>,
    render: (row: RequestLogRow) => Entry,
  ): Promise<LongPage<Entry>> => {
    const filter = filterOf(query)
    const list: LongList<RequestLogRow, LogCursor> = {
      read: async (stretch) => (await listLogRows(database, scope, filter, stretch)).rows,
      count: (most) => countLogRows(database, scope, filter, most),
      cursorOf: encodeLogCursor,
      placeOf: decodeLogCursor,
    }
    return longPageOf(query, list, render)
  }
  const one = async (scope: LogScope, id: string): Promise<RequestLogRow> => {
    const row = await findLogRow(database, scope, id)
    if (row === null) throw new GatewayError('NOT_FOUND', { message: 'There is no request with this id.' })
    return row
  }
  return {
    listLogs: ({ query, caller }) => page({ kind: 'user', userId: caller.userId }, query, entryOf),

    getLog: async ({ params, caller }) => entryOf(await one({ kind: 'user', userId: caller.userId }, params.id)),

    exportLogs: async ({ query, caller, signal }) => {
      const { format = 'csv' } = query
      const scope: LogScope = { kind: 'user', userId: caller.userId }
      const rows = exportedRows(database, scope, filterOf(query), format, entryOf, signal)
      return Promise.resolve(
        format === 'csv'
          ? new Download('text/csv; charset=utf-8', rows, 'requests.csv')
          : new Download('application/x-ndjson', rows, 'requests.ndjson'),
      )
    },

    enterpriseLogs: ({ params, query }) => page({ kind: 'enterprise', enterpriseId: params.id }, query, entryOf),

    adminListLogs: ({ query }) => page(EVERYONE, query, adminEntryOf),

    adminGetLog: async ({ params }) => {
      const row = await one(EVERYONE, params.id)
      return { ...adminEntryOf(row), attempts: [...row.attempts] }
    },
  }
}

function filterOf(query: Omit<QueryOf<typeof LOGS.listLogs>, 'page' | 'limit' | 'cursor'>): LogFilter {
  const { from, to, key_id: keyId, model, status } = query
  const { error_type: errorType, user_agent: userAgent, request_id: requestId, trace_id: traceId } = query
  return {
    ...(from === undefined ? {} : { fromMs: Date.parse(from) }),
    ...(to === undefined ? {} : { toMs: Date.parse(to) }),
    ...(keyId === undefined ? {} : { keyId }),
    ...(model === undefined ? {} : { model }),
    ...(status === undefined ? {} : { status }),
    ...(errorType === undefined ? {} : { errorType }),
    ...(userAgent === undefined ? {} : { userAgent }),
    ...(requestId === undefined ? {} : { requestId }),
    ...(traceId === undefined ? {} : { traceId }),
  }
}

function entryOf(row: RequestLogRow): Static<typeof LogEntry> {
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

function adminEntryOf(row: RequestLogRow): Static<typeof AdminLogEntry> {
  return { ...entryOf(row), provider_id: row.providerId, upstream_key_id: row.upstreamKeyId }
}
