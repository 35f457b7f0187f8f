import { useRead } from '../api/queries.ts'
import { mayIn } from '../shell/scope.ts'
import type { Scope } from '../shell/scope.ts'
import { useHolderNames } from './holder-names.ts'

const MOST = 100
const STALE_MS = 60_000

/** Names a group of statistics by its value; what is not known stays an id. */
export function useGroupNames(scope: Scope, groupBy: string): (value: string) => string {
  const isOf = (kind: Scope['kind'], group: string, isAllowed = true): { isEnabled: boolean; staleMs: number } => ({
    isEnabled: scope.kind === kind && groupBy === group && isAllowed,
    staleMs: STALE_MS,
  })
  const query = { limit: MOST }
  const id = scope.kind === 'enterprise' ? scope.id : ''
  const own = useRead('listKeys', { query: { ...query, sort: 'last_used' } }, isOf('own', 'key'))
  const keys = useRead(
    'listEnterpriseKeys',
    { params: { id }, query: { ...query, sort: 'last_used' } },
    isOf('enterprise', 'key', mayIn(scope, 'keys.read')),
  )
  const used = useRead('adminKeyStats', { query: { ...query, period: '30d' } }, isOf('platform', 'key'))
  const enterprises = useRead('adminListEnterprises', { query }, isOf('platform', 'enterprise'))
  const users = useRead('adminListUsers', { query }, isOf('platform', 'user'))
  const holders = useHolderNames(scope)
  return (value) => {
    const nameIn = (list: ReadonlyArray<{ readonly id: string; readonly name: string }> | undefined): string =>
      list?.find((one) => one.id === value)?.name ?? value
    switch (groupBy) {
      case 'key':
        return nameIn(own.data?.data ?? keys.data?.data ?? used.data?.data)
      case 'enterprise':
        return nameIn(enterprises.data?.data)
      case 'user':
        return nameIn(users.data?.data)
      case 'member':
        return holders.member(value) ?? value
      case 'department':
        return holders.department(value) ?? value
      default:
        return value
    }
  }
}
