import type { Static } from 'typebox'
import type { AdminLogEntry, LogEntry, LOGS } from '../../shared/api/operations/logs.ts'
import type { QueryOf } from '../../shared/api/operation.ts'
import { GatewayError } from '../../shared/core/errors.ts'
import { LOG_FIELD_LIST } from '../../shared/records/log-fields.ts'
import type { NamedLogField } from '../../shared/records/log-fields.ts'
import type { Queryable } from '../store/database.ts'
import { countLogRows, decodeLogCursor, encodeLogCursor, findLogRow, listLogRows } from '../store/request-log.ts'
import type { LogCursor, LogFilter, LogScope, RequestLogRow } from '../store/request-log.ts'
import { Download } from './call.ts'
import type { Handlers } from './call.ts'
import { exportedRows } from './log-export.ts'
import { longPageOf } from './pages.ts'
import type { LongList, LongPage } from './pages.ts'

const SHOWN = LOG_FIELD_LIST.filter(({ api }) => api !== null)
const FOR_EVERYONE = SHOWN.filter(({ isForAdmins }) => !isForAdmins)

const EVERYONE: LogScope = { kind: 'everyone' }

/** The request log: their own rows for users, all rows for platform admins. */
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
  return rendered(row, FOR_EVERYONE)
}

function adminEntryOf(row: RequestLogRow): Static<typeof AdminLogEntry> {
  return rendered(row, SHOWN)
}

function rendered<Entry>(row: RequestLogRow, fields: readonly NamedLogField[]): Entry {
  const entry: Record<string, unknown> = {}
  for (const { name, type, api } of fields) {
    const value = row[name]
    if (type === 'time') entry[api ?? name] = new Date(value as number).toISOString()
    else entry[api ?? name] = type === 'attempts' ? (value as readonly unknown[]).length : value
  }
  return entry as Entry
}
