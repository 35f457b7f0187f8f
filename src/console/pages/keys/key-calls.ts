import { useQuery } from '@tanstack/react-query'
import type { UseQueryResult } from '@tanstack/react-query'
import type { AnswerWithHeaders, RequestOf, ResultOf } from '../../../client/index.ts'
import { queryClient, readKey, refresh, useRead } from '../../api/queries.ts'
import { call, callWithHeaders } from '../../api/session.ts'
import type { Scope } from '../../shell/scope.ts'

type OwnKey = ResultOf<'getKey'>
type EnterpriseKey = ResultOf<'getEnterpriseKey'>

/** A key of a person or of an enterprise: the latter also has budgets and a holder. */
export type AnyKey = OwnKey & Partial<Omit<EnterpriseKey, keyof OwnKey>>
export type NewKey = AnyKey & { readonly key: string }
export type KeyBody = RequestOf<'createEnterpriseKey'>['body']
export type KeyQuery = NonNullable<RequestOf<'listEnterpriseKeys'>['query']>

type KeyList = Omit<ResultOf<'listKeys'>, 'data'> & { readonly data: readonly AnyKey[] }

/** `isEnabled: false` in the other scope needs an id too; nothing is asked with it. */
function idOf(scope: Scope): string {
  return scope.kind === 'enterprise' ? scope.id : ''
}

export function useKeyList(scope: Scope, query: KeyQuery): UseQueryResult<KeyList> {
  const isEnterprise = scope.kind === 'enterprise'
  const { department_id: _, member_id: __, ...ownQuery } = query
  const own = useRead('listKeys', { query: ownQuery }, { isEnabled: !isEnterprise, keepsOld: true })
  const enterprise = useRead(
    'listEnterpriseKeys',
    { params: { id: idOf(scope) }, query },
    { isEnabled: isEnterprise, keepsOld: true },
  )
  return isEnterprise ? enterprise : own
}

/** With its ETag, so that a change meets only the key that was shown. */
export function useKeyDetail(scope: Scope, keyId: string): UseQueryResult<AnswerWithHeaders<AnyKey>> {
  return useQuery<AnswerWithHeaders<AnyKey>>({
    queryKey: ['getKey', scope.kind, idOf(scope), keyId],
    queryFn: async ({ signal }) =>
      scope.kind === 'enterprise'
        ? callWithHeaders('getEnterpriseKey', { params: { id: scope.id, keyId } }, { signal })
        : callWithHeaders('getKey', { params: { id: keyId } }, { signal }),
  })
}

export async function createKey(scope: Scope, body: KeyBody): Promise<NewKey> {
  const made =
    scope.kind === 'enterprise'
      ? await call('createEnterpriseKey', { params: { id: scope.id }, body })
      : await call('createKey', { body })
  await refreshKeys()
  return made
}

export async function updateKey(
  scope: Scope,
  keyId: string,
  body: Partial<KeyBody>,
  etag: string | null,
): Promise<void> {
  const options = etag === null ? {} : { ifMatch: etag }
  if (scope.kind === 'enterprise') await call('updateEnterpriseKey', { params: { id: scope.id, keyId }, body }, options)
  else await call('updateKey', { params: { id: keyId }, body }, options)
  await refreshKeys()
}

export async function rotateKey(scope: Scope, keyId: string, graceSeconds: number): Promise<NewKey> {
  const body = { grace_seconds: graceSeconds }
  const made =
    scope.kind === 'enterprise'
      ? await call('rotateEnterpriseKey', { params: { id: scope.id, keyId }, body })
      : await call('rotateKey', { params: { id: keyId }, body })
  await refreshKeys()
  return made
}

export async function deleteKey(scope: Scope, keyId: string): Promise<void> {
  if (scope.kind === 'enterprise') await call('deleteEnterpriseKey', { params: { id: scope.id, keyId } })
  else await call('deleteKey', { params: { id: keyId } })
  await refreshKeys()
}

/** Shows the new state at once; a failure shows the old one again, and rejects. */
export async function toggleKey(scope: Scope, keyId: string, enabled: boolean): Promise<void> {
  showState(keyId, enabled)
  try {
    if (scope.kind === 'enterprise') {
      await call('toggleEnterpriseKey', { params: { id: scope.id, keyId }, body: { enabled } })
    } else await call('toggleKey', { params: { id: keyId }, body: { enabled } })
  } catch (cause) {
    showState(keyId, !enabled)
    throw cause
  } finally {
    await refreshKeys()
  }
}

function showState(keyId: string, enabled: boolean): void {
  for (const name of ['listKeys', 'listEnterpriseKeys'] as const) {
    queryClient.setQueriesData<KeyList>({ queryKey: [name] }, (list) =>
      list === undefined
        ? list
        : { ...list, data: list.data.map((key) => (key.id === keyId ? { ...key, enabled } : key)) },
    )
  }
  queryClient.setQueriesData<AnswerWithHeaders<AnyKey>>({ queryKey: ['getKey'] }, (answer) =>
    answer?.data.id === keyId ? { ...answer, data: { ...answer.data, enabled } } : answer,
  )
}

async function refreshKeys(): Promise<void> {
  await refresh('listKeys', 'listEnterpriseKeys', 'getKey')
}

export interface RecentUse {
  readonly requests: number
  readonly cost: number
}

/** The use of a key in the last days, for the count of what a deletion would stop. */
export function useRecentUse(scope: Scope, keyId: string): UseQueryResult<RecentUse> {
  return useQuery<RecentUse>({
    queryKey: ['recentUse', ...readKey('usage', { query: { key_id: keyId } })],
    queryFn: async ({ signal }) => {
      const query = { period: '7d', key_id: keyId } as const
      const { totals } =
        scope.kind === 'enterprise'
          ? await call('enterpriseUsage', { params: { id: scope.id }, query }, { signal })
          : await call('usage', { query }, { signal })
      return totals
    },
  })
}
