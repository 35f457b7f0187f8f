import { keepPreviousData, QueryClient, useQuery } from '@tanstack/react-query'
import type { UseQueryResult } from '@tanstack/react-query'
import { ApiError } from '../../client/index.ts'
import type { AnswerWithHeaders, ClientOperation, RequestOf, ResultOf } from '../../client/index.ts'
import { call, callWithHeaders, LoggedOut } from './session.ts'

const STALE_MS = 15_000

/** The client of the API retries already; a second layer would wait for minutes. */
export const queryClient = new QueryClient({
  defaultOptions: {
    queries: { staleTime: STALE_MS, retry: false, refetchOnWindowFocus: true, throwOnError: false },
    mutations: { retry: false },
  },
})

interface ReadOptions {
  /** False: nothing is asked yet. */
  readonly isEnabled?: boolean
  /** Keeps showing the answer to the request before while a new one is under way. */
  readonly keepsOld?: boolean
  readonly staleMs?: number
  readonly everyMs?: number
}

/** Reads an operation. A request that is superseded is aborted. */
export function useRead<Name extends ClientOperation>(
  name: Name,
  request: RequestOf<Name>,
  { isEnabled = true, keepsOld = false, staleMs = STALE_MS, everyMs }: ReadOptions = {},
): UseQueryResult<ResultOf<Name>> {
  return useQuery<ResultOf<Name>>({
    queryKey: readKey(name, request),
    queryFn: ({ signal }) => call(name, request, { signal }),
    enabled: isEnabled,
    staleTime: staleMs,
    ...(keepsOld ? { placeholderData: keepPreviousData } : {}),
    ...(everyMs === undefined ? {} : { refetchInterval: everyMs }),
  })
}

/** Reads one thing with its ETag, so that a change meets only what was shown. */
export function useDetail<Name extends ClientOperation>(
  name: Name,
  request: RequestOf<Name>,
): UseQueryResult<AnswerWithHeaders<ResultOf<Name>>> {
  return useQuery<AnswerWithHeaders<ResultOf<Name>>>({
    queryKey: [...readKey(name, request), 'detail'],
    queryFn: ({ signal }) => callWithHeaders(name, request, { signal }),
  })
}

export function readKey<Name extends ClientOperation>(name: Name, request: RequestOf<Name>): readonly unknown[] {
  return [name, request]
}

/** The first part of a query's key: an operation, or the name of a read that is put together of several. */
type ReadName = ClientOperation | 'enterpriseSettings' | 'latest' | 'logDetail'

/**
 * Asks again for all answers of these reads that are shown. Call it after a change. An answer under way may be older than the change and is
 * dropped: TanStack Query would keep it where it has nothing to show yet, and take it for the answer to the new question.
 */
export async function refresh(...names: readonly ReadName[]): Promise<void> {
  await Promise.all(
    names.map(async (name) => {
      await queryClient.cancelQueries({ queryKey: [name] })
      await queryClient.invalidateQueries({ queryKey: [name] })
    }),
  )
}

/** Asks again after news from elsewhere. News may come faster than answers: an answer under way is waited for. */
export async function renew(...names: readonly ReadName[]): Promise<void> {
  await Promise.all(names.map((name) => queryClient.invalidateQueries({ queryKey: [name] }, { cancelRefetch: false })))
}

/** True for a failure that tells nothing new: the person left, or the request was superseded. */
export function isSilent(cause: unknown): boolean {
  return cause instanceof LoggedOut || (cause instanceof DOMException && cause.name === 'AbortError')
}

export function isNotFound(cause: unknown): boolean {
  return cause instanceof ApiError && cause.statusCode === 404
}
