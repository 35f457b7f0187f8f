import type { Static } from 'typebox'
import type { Bodies } from '../../shared/api/capture.ts'
import type { AdminLogEntry, LogEntry, LOGS } from '../../shared/api/operations/logs.ts'
import { EVENT_STREAM } from '../../shared/api/operation.ts'
import type { OperationSpec, QueryOf } from '../../shared/api/operation.ts'
import type { RelayState } from '../../shared/core/relay-state.ts'
import { GatewayError } from '../../shared/core/errors.ts'
import { LOG_FIELD_LIST } from '../../shared/records/log-fields.ts'
import type { NamedLogField } from '../../shared/records/log-fields.ts'
import { requestOf } from '../capture/captured-bodies.ts'
import { captureTenantOf, eraseCaptures, eraseTenantCaptures } from '../store/captures.ts'
import type { Database } from '../store/database.ts'
import { countLogRows, decodeLogCursor, encodeLogCursor, findLogRow, listLogRows } from '../store/request-log.ts'
import type { LogCursor, RequestLogRow } from '../store/request-log.ts'
import type { LogFilter, LogScope } from '../store/log-filter.ts'
import type { Audited } from './audit-changes.ts'
import { Download } from './call.ts'
import type { Call, Handlers } from './call.ts'
import type { CaptureParts } from './capture-parts.ts'
import { ALL_ROWS, roleDenied, rowsWithRight, shownBodies, textsOf } from './log-bodies.ts'
import type { MayDoTo } from './log-bodies.ts'
import type { LiveLog } from './live-log.ts'
import type { Load } from './live-stream.ts'
import { exportedRows, PAGE_ROWS, PAGE_ROWS_WITH_BODIES } from './log-export.ts'
import type { LogFileEntry } from './log-export.ts'
import { EVERYONE, ofEnterprise, ofUser, rowsOf } from './log-scope.ts'
import type { RowQuery, Selected } from './log-scope.ts'
import { longPageOf } from './pages.ts'
import type { LongList, LongPage } from './pages.ts'

const SHOWN = LOG_FIELD_LIST.filter(({ api }) => api !== null)
const FOR_EVERYONE = SHOWN.filter(({ isForAdmins }) => !isForAdmins)

type PagedQuery = RowQuery & Pick<QueryOf<typeof LOGS.listLogs>, 'page' | 'limit' | 'cursor'>
type DetailQuery = QueryOf<typeof LOGS.getLog>
type FileQuery = RowQuery & Pick<QueryOf<typeof LOGS.exportLogs>, 'format' | 'bodies'>
type EraseCall = Pick<Call<OperationSpec>, 'audit' | 'afterCommit'>
type StreamCall = Pick<Call<typeof LOGS.streamLogs>, 'caller' | 'message' | 'signal' | 'recheck'> & {
  readonly query: RowQuery
}

export interface LogParts {
  readonly database: Database
  readonly captures: Pick<CaptureParts, 'bodies' | 'onErased'>
  readonly live: LiveLog
  readonly relayState: () => RelayState
}

/** The request log: for users their own rows, for an enterprise its rows, for platform admins all rows. */
export function logHandlers({ database, live, relayState, captures }: LogParts): Handlers<keyof typeof LOGS> {
  const { bodies, onErased } = captures
  const withCaptured = async <Entry>(
    rows: readonly RequestLogRow[],
    render: (row: RequestLogRow, isCaptured: boolean) => Entry,
  ): Promise<Entry[]> => {
    const captured = await bodies.idsOf(database, rows)
    return rows.map((row) => render(row, captured.has(row.id)))
  }
  const page = async <Entry>(
    of: LogScope,
    query: PagedQuery,
    render: (row: RequestLogRow, isCaptured: boolean) => Entry,
  ): Promise<LongPage<Entry>> => {
    const { scope, filter } = await rowsOf(database, of, query)
    const list: LongList<RequestLogRow, LogCursor> = {
      read: async (stretch) => (await listLogRows(database, scope, filter, stretch)).rows,
      count: (most) => countLogRows(database, scope, filter, most),
      cursorOf: encodeLogCursor,
      placeOf: decodeLogCursor,
    }
    const rows = await longPageOf(query, list, (row) => row)
    return { ...rows, data: await withCaptured(rows.data, render) }
  }
  const one = async (scope: LogScope, id: string): Promise<RequestLogRow> => {
    const row = await findLogRow(database, scope, id)
    if (row === null) throw new GatewayError('NOT_FOUND', { message: 'There is no request with this id.' })
    return row
  }
  const detail = async <Entry>(
    row: RequestLogRow,
    { bodies: withBodies }: DetailQuery,
    render: (row: RequestLogRow, isCaptured: boolean) => Entry,
  ): Promise<Entry | (Entry & { bodies: Static<typeof Bodies> | null })> => {
    const isCaptured = (await bodies.idsOf(database, [row])).has(row.id)
    const entry = render(row, isCaptured)
    return withBodies === true ? { ...entry, bodies: await shownBodies(database, bodies, row) } : entry
  }
  const file = async (
    of: LogScope,
    query: FileQuery,
    render: (row: RequestLogRow, isCaptured: boolean) => LogFileEntry,
    { mayRead, signal }: { readonly mayRead: MayDoTo; readonly signal: AbortSignal },
  ): Promise<Download> => {
    const { format = 'csv', bodies: withBodies = false, ...filters } = query
    const { scope, filter } = await rowsOf(database, of, filters)
    const entriesWithBodies = async (rows: readonly RequestLogRow[]): Promise<LogFileEntry[]> => {
      const found = await bodies.of(database, rows.filter(mayRead))
      const entries = await withCaptured(rows, render)
      return entries.map((entry, index) => ({ ...entry, ...textsOf(found.get(rows[index]?.id ?? '')) }))
    }
    const entries = withBodies
      ? { entriesOf: entriesWithBodies, pageRows: PAGE_ROWS_WITH_BODIES }
      : { entriesOf: (rows: readonly RequestLogRow[]) => withCaptured(rows, render), pageRows: PAGE_ROWS }
    const rows = exportedRows(database, scope, filter, format, entries, signal)
    return format === 'csv'
      ? new Download('text/csv; charset=utf-8', rows, 'requests.csv')
      : new Download('application/x-ndjson', rows, 'requests.ndjson')
  }
  const erase = async (row: RequestLogRow, audit: (changed: Audited) => void): Promise<null> => {
    const erased = await database.transaction((tx) => eraseCaptures(tx, requestOf(row)))
    audit({ before: { captured: erased > 0 }, after: { captured: false }, enterpriseId: row.enterpriseId })
    return null
  }
  const eraseAll = async (tenant: string, { audit, afterCommit }: EraseCall): Promise<null> => {
    await eraseTenantCaptures(database, tenant)
    audit({ before: { bodies: 'all' }, after: { bodies: null } })
    afterCommit(onErased)
    return null
  }
  const stream = async (
    { query, caller, message, signal, recheck }: StreamCall,
    of: () => LogScope | Promise<LogScope>,
    render: (row: RequestLogRow) => object,
    load: (() => Load) | null = null,
  ): Promise<Download> => {
    const select = async (): Promise<Selected<LogFilter>> => {
      await recheck()
      return rowsOf(database, await of(), query)
    }
    const { userId, role } = caller
    const lastEventId = message.headers['last-event-id'] ?? null
    const asked = { userId, isPlatformAdmin: role === 'admin', select, render, load, lastEventId, signal }
    return new Download(EVENT_STREAM, await live.open(asked))
  }
  return {
    streamLogs: (call) => stream(call, () => ofUser(database, call.caller.userId), liveEntryOf),

    streamEnterpriseLogs: (call) => stream(call, () => ofEnterprise(call.params.id), liveEntryOf),

    adminLive: (call) =>
      stream(
        call,
        () => EVERYONE,
        (row) => adminEntryOf(row, false),
        () => loadOf(relayState()),
      ),

    listLogs: async ({ query, caller }) => page(await ofUser(database, caller.userId), query, entryOf),

    getLog: async ({ params, query, caller }) => {
      const row = await one(await ofUser(database, caller.userId), params.id)
      if (query.bodies === true) {
        const mayRead = await rowsWithRight(database, caller.userId, 'log.read_bodies')
        if (!mayRead(row)) throw roleDenied('log.read_bodies')
      }
      return detail(row, query, entryOf)
    },

    exportLogs: async ({ query, caller, signal }) => {
      const mayRead = await rowsWithRight(database, caller.userId, 'log.read_bodies')
      return file(await ofUser(database, caller.userId), query, entryOf, { mayRead, signal })
    },

    eraseBodies: async ({ params, caller, audit }) => {
      const row = await one(await ofUser(database, caller.userId), params.id)
      const mayErase = await rowsWithRight(database, caller.userId, 'log.erase_bodies')
      if (!mayErase(row)) throw roleDenied('log.erase_bodies')
      return erase(row, audit)
    },

    eraseAllBodies: (call) => eraseAll(captureTenantOf({ enterpriseId: null, userId: call.caller.userId }), call),

    enterpriseLogs: ({ params, query }) => page(ofEnterprise(params.id), query, entryOf),

    getEnterpriseLog: async ({ params, query }) =>
      detail(await one(ofEnterprise(params.id), params.logId), query, entryOf),

    exportEnterpriseLogs: ({ params, query, signal }) =>
      file(ofEnterprise(params.id), query, entryOf, { mayRead: ALL_ROWS, signal }),

    eraseEnterpriseBodies: async ({ params, audit }) => erase(await one(ofEnterprise(params.id), params.logId), audit),

    eraseAllEnterpriseBodies: (call) => eraseAll(captureTenantOf({ enterpriseId: call.params.id, userId: null }), call),

    adminListLogs: ({ query }) => page(EVERYONE, query, adminEntryOf),

    adminExportLogs: ({ query, signal }) => file(EVERYONE, query, adminEntryOf, { mayRead: ALL_ROWS, signal }),

    adminGetLog: async ({ params, query }) =>
      detail(await one(EVERYONE, params.id), query, (row, isCaptured) => ({
        ...adminEntryOf(row, isCaptured),
        attempts: [...row.attempts],
      })),

    adminEraseBodies: async ({ params, audit }) => erase(await one(EVERYONE, params.id), audit),
  }
}

function loadOf({ requestsPerMinute, tokensPerMinute, waiting, fronts, keys }: RelayState): Load {
  const upstreams = keys.map(({ providerId, keyId, state, slotsUsed, slotsHeld, coolingSeconds }) => ({
    provider_id: providerId,
    upstream_key_id: keyId,
    state,
    slots_used: slotsUsed,
    slots_held: slotsHeld,
    cooling_seconds: Math.ceil(coolingSeconds),
  }))
  return { now: { rpm: requestsPerMinute, tpm: tokensPerMinute, waiting, fronts }, upstreams }
}

/** The bodies of a request may be stored after its row: a live stream does not look for them. */
function liveEntryOf(row: RequestLogRow): Static<typeof LogEntry> {
  return entryOf(row, false)
}

function entryOf(row: RequestLogRow, captured: boolean): Static<typeof LogEntry> {
  return { ...rendered<Static<typeof LogEntry>>(row, FOR_EVERYONE), captured }
}

function adminEntryOf(row: RequestLogRow, captured: boolean): Static<typeof AdminLogEntry> {
  return { ...rendered<Static<typeof AdminLogEntry>>(row, SHOWN), captured }
}

function rendered<Entry>(row: RequestLogRow, fields: readonly NamedLogField[]): Omit<Entry, 'captured'> {
  const entry: Record<string, unknown> = {}
  for (const { name, type, api } of fields) {
    const value = row[name]
    if (type === 'time') entry[api ?? name] = new Date(value as number).toISOString()
    else entry[api ?? name] = type === 'attempts' ? (value as readonly unknown[]).length : value
  }
  return entry as Omit<Entry, 'captured'>
}
