import { useInfiniteQuery, useQuery } from '@tanstack/react-query'
import type { InfiniteData, UseInfiniteQueryResult, UseQueryResult } from '@tanstack/react-query'
import type { ByteStream, ItemOf, ResultOf } from '../../../client/index.ts'
import { queryClient, refresh, useRead } from '../../api/queries.ts'
import { call } from '../../api/session.ts'
import type { Scope } from '../../shell/scope.ts'
import type { LogQuery } from './filter.ts'

type AdminRow = ItemOf<'adminListLogs'>
type OwnRow = ItemOf<'listLogs'>

/** A row of the log; what only admins of the platform see may be absent. */
export type LogRow = OwnRow & Partial<Omit<AdminRow, keyof OwnRow>>

/** An attempt at an upstream, as the journal has it. */
export interface Attempt {
  readonly providerId: string
  readonly upstreamKeyId: string
  readonly status: number
  readonly outcome: string
  readonly startUs: number
  readonly durationUs: number
  readonly model: string | null
  readonly choice: null | {
    readonly how: 'affinity' | 'load' | 'only' | 'probe'
    readonly score: number | null
    readonly waitUs: number
    readonly others: ReadonlyArray<readonly [keyId: string, why: number | string]>
  }
  readonly dropped: readonly string[]
}

/** `attempts` is their number, or, for admins of the platform, all of them. */
export type LogDetail = Omit<LogRow, 'attempts'> & { readonly attempts: number | readonly Attempt[] }

export interface LogPage {
  readonly data: readonly LogRow[]
  readonly total?: number | undefined
  readonly next_cursor: string | null
}

export const PAGE_ROWS = 100
/** Of 100 rows each: what a browser keeps. */
export const MAX_PAGES = 20

/** Of the page at `index`; null for the first one. */
interface PageParam {
  readonly index: number
  readonly cursor: string | null
}

export type LogPages = InfiniteData<LogPage, PageParam>

async function pageOf(
  scope: Scope,
  filter: LogQuery,
  cursor: string | null,
  signal?: AbortSignal,
  limit = PAGE_ROWS,
): Promise<LogPage> {
  const query = { ...filter, limit, ...(cursor === null ? {} : { cursor }) }
  const options = signal === undefined ? {} : { signal }
  if (scope.kind === 'platform') return call('adminListLogs', { query }, options)
  if (scope.kind === 'enterprise') return call('enterpriseLogs', { params: { id: scope.id }, query }, options)
  return call('listLogs', { query }, options)
}

/** The cursors of the shown list, also those of pages that are dropped, so that scrolling back finds them again. */
let known: { readonly name: string; readonly cursors: Map<number, string> } = { name: '', cursors: new Map() }

function cursorsOf(name: string): Map<number, string> {
  if (known.name !== name) known = { name, cursors: new Map() }
  return known.cursors
}

/** The list, page by page; at most 2,000 rows are kept, the others are read again when they are scrolled to. */
export function useLog(scope: Scope, filter: LogQuery): UseInfiniteQueryResult<LogPages> {
  const queryKey = ['log', scope.kind, scope.kind === 'enterprise' ? scope.id : '', filter] as const
  const name = JSON.stringify(queryKey)
  return useInfiniteQuery<LogPage, Error, LogPages, typeof queryKey, PageParam>({
    queryKey,
    queryFn: ({ pageParam, signal }) => pageOf(scope, filter, pageParam.cursor, signal),
    initialPageParam: { index: 0, cursor: null },
    maxPages: MAX_PAGES,
    getNextPageParam: ({ next_cursor: cursor }, _pages, { index }) => {
      if (cursor === null) return null
      cursorsOf(name).set(index + 1, cursor)
      return { index: index + 1, cursor }
    },
    getPreviousPageParam: (_first, _pages, { index }) =>
      index === 0 ? null : { index: index - 1, cursor: cursorsOf(name).get(index - 1) ?? null },
    // A list that renews itself would move below the reader.
    staleTime: Infinity,
    refetchOnWindowFocus: false,
    placeholderData: (before) => before,
  })
}

/** Opens the live stream of the same rows as the list. */
export async function streamLog(scope: Scope, filter: LogQuery, signal: AbortSignal): Promise<ByteStream> {
  const { from: _, to: __, ...query } = filter
  const options = { signal, maxRetries: 0 }
  if (scope.kind === 'platform') return call('adminLive', { query }, options)
  if (scope.kind === 'enterprise') return call('streamEnterpriseLogs', { params: { id: scope.id }, query }, options)
  return call('streamLogs', { query }, options)
}

/** A finished request never changes. */
export function useLogDetail(scope: Scope, id: string): UseQueryResult<LogDetail> {
  return useQuery<LogDetail>({
    queryKey: ['logDetail', scope.kind, scope.kind === 'enterprise' ? scope.id : '', id],
    staleTime: Infinity,
    queryFn: async ({ signal }) => {
      if (scope.kind === 'platform') {
        return (await call('adminGetLog', { params: { id } }, { signal })) as unknown as LogDetail
      }
      if (scope.kind === 'enterprise') {
        return call('getEnterpriseLog', { params: { id: scope.id, logId: id } }, { signal })
      }
      return call('getLog', { params: { id } }, { signal })
    },
  })
}

export type Bodies = NonNullable<NonNullable<ResultOf<'getLog'>['bodies']>>
export type Body = NonNullable<Bodies['request']>

/** Null: there are none any more. Each call has a row in the audit log; the answer is kept only as long as it is shown. */
export function useBodies(scope: Scope, id: string, isWanted: boolean): UseQueryResult<Bodies | null> {
  return useQuery<Bodies | null>({
    queryKey: ['bodies', scope.kind, scope.kind === 'enterprise' ? scope.id : '', id],
    enabled: isWanted,
    staleTime: Infinity,
    gcTime: 0,
    queryFn: async ({ signal }) => {
      const query = { bodies: true }
      if (scope.kind === 'platform')
        return (await call('adminGetLog', { params: { id }, query }, { signal })).bodies ?? null
      if (scope.kind === 'enterprise') {
        const params = { id: scope.id, logId: id }
        return (await call('getEnterpriseLog', { params, query }, { signal })).bodies ?? null
      }
      return (await call('getLog', { params: { id }, query }, { signal })).bodies ?? null
    },
  })
}

export async function eraseBodies(scope: Scope, id: string): Promise<void> {
  if (scope.kind === 'platform') await call('adminEraseBodies', { params: { id } })
  else if (scope.kind === 'enterprise') await call('eraseEnterpriseBodies', { params: { id: scope.id, logId: id } })
  else await call('eraseBodies', { params: { id } })
  queryClient.removeQueries({ queryKey: ['bodies'] })
  await refresh('logDetail')
}

export async function exportLog(
  scope: Scope,
  filter: LogQuery,
  format: 'csv' | 'ndjson',
  signal: AbortSignal,
): Promise<ByteStream> {
  const query = { ...filter, format }
  if (scope.kind === 'platform') return call('adminExportLogs', { query }, { signal })
  if (scope.kind === 'enterprise') return call('exportEnterpriseLogs', { params: { id: scope.id }, query }, { signal })
  return call('exportLogs', { query }, { signal })
}

export type ModelPrices = NonNullable<ResultOf<'adminGetModel'>['prices']>

/** The prices of a model at the upstream that served it; only admins of the platform see them. Null: not known. */
export function usePrices(scope: Scope, detail: LogDetail | undefined): ModelPrices | null {
  const model = detail?.model ?? null
  const found = useRead(
    'adminGetModel',
    { params: { id: model ?? '' } },
    {
      isEnabled: scope.kind === 'platform' && model !== null && typeof detail?.provider_id === 'string',
      staleMs: 300_000,
    },
  )
  const deployment = found.data?.deployments.find(({ upstream }) => upstream === detail?.provider_id)
  return deployment?.prices ?? found.data?.prices ?? null
}

/** The newest requests, for pages that show a few. */
export function useLatest(
  scope: Scope,
  filter: LogQuery,
  count: number,
  options: { readonly isEnabled?: boolean; readonly everyMs?: number } = {},
): UseQueryResult<LogPage> {
  return useQuery<LogPage>({
    queryKey: ['latest', scope.kind, scope.kind === 'enterprise' ? scope.id : '', filter, count],
    queryFn: ({ signal }) => pageOf(scope, filter, null, signal, count),
    enabled: options.isEnabled ?? true,
    ...(options.everyMs === undefined ? {} : { refetchInterval: options.everyMs }),
  })
}
