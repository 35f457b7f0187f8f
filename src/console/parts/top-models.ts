import type { Scope } from '../shell/scope.ts'
import { useUsage } from './usage.ts'

const STALE_MS = 300_000
const QUERY = { period: '30d', group_by: 'model', status: 200, limit: 50 } as const

/** `chats`: models that answered chat completions. `models`: of all endpoints. `log`: also tools, which are the models of their calls there. */
type Kind = 'chats' | 'models' | 'log'

/** The names of the last 30 days in a scope that answered, the most used first; undefined while they are looked up. */
export function useTopModels(scope: Scope, kind: Kind, isWanted = true): readonly string[] | undefined {
  const query = kind === 'chats' ? { ...QUERY, endpoint: 'chat.completions' } : QUERY
  const named = useUsage(scope, query, { isEnabled: isWanted, staleMs: STALE_MS })
  const tools = useUsage(
    scope,
    { ...QUERY, endpoint: 'tools.call' },
    { isEnabled: isWanted && kind === 'models', staleMs: STALE_MS },
  )
  if (named.isError) return []
  if (named.data === undefined || tools.isLoading) return undefined
  const toolNames = new Set(tools.data?.groups.map(({ group }) => group))
  return named.data.groups.flatMap(({ group }) =>
    group === null || group === '' || toolNames.has(group) ? [] : [group],
  )
}
