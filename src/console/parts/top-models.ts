import type { Scope } from '../shell/scope.ts'
import { useUsage } from './usage.ts'

const STALE_MS = 300_000

/** The models of the last 30 days in a scope that answered, the most used first; undefined while they are looked up. */
export function useTopModels(scope: Scope, isWanted: boolean): readonly string[] | undefined {
  const query = { period: '30d', group_by: 'model', status: 200, limit: 50 } as const
  const { data, isError } = useUsage(scope, query, { isEnabled: isWanted, staleMs: STALE_MS })
  if (data === undefined) return isError ? [] : undefined
  return data.groups.flatMap(({ group }) => (group === null || group === '' ? [] : [group]))
}
