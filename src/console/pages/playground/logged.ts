import { useQuery } from '@tanstack/react-query'
import { useMemo } from 'react'
import { call } from '../../api/session.ts'
import type { Scope } from '../../shell/scope.ts'
import { NO_SETTINGS } from './controls.tsx'
import type { Settings } from './controls.tsx'
import { dialectOf, promptOf } from './prompt.ts'
import type { Dialect, Turn } from './prompt.ts'

export interface Logged {
  readonly dialect: Dialect | null
  readonly model: string | null
  readonly prompt: ReturnType<typeof promptOf>
  /** The parts of the request that cannot be sent again. */
  readonly note: 'noBody' | 'partial' | 'otherEndpoint' | null
  readonly cause: unknown
}

/** A request of the log, to be sent again: with its content, where it was captured and the person may read it. */
export function useLogged(scope: Scope, id: string | null): Logged {
  const found = useQuery({
    queryKey: ['playgroundRequest', scope.kind, scope.kind === 'enterprise' ? scope.id : '', id],
    enabled: id !== null,
    staleTime: Infinity,
    gcTime: 0,
    queryFn: async ({ signal }) => {
      const wanted = id ?? ''
      if (scope.kind !== 'enterprise') {
        return call('getLog', { params: { id: wanted }, query: { bodies: true } }, { signal })
      }
      const params = { id: scope.id, logId: wanted }
      // Only owners may read bodies; the rest of the request is for others too.
      const bodies = scope.role === 'owner'
      return call('getEnterpriseLog', { params, ...(bodies ? { query: { bodies } } : {}) }, { signal })
    },
  })
  const { data } = found
  const dialect = dialectOf(data?.endpoint ?? null)
  const text = data?.bodies?.request?.text ?? null
  const prompt = useMemo(() => (text === null || dialect === null ? null : promptOf(dialect, text)), [text, dialect])
  const note =
    data === undefined
      ? null
      : dialect === null
        ? 'otherEndpoint'
        : prompt === null
          ? 'noBody'
          : prompt.isPartial
            ? 'partial'
            : null
  return { dialect, model: data?.model ?? null, prompt, note, cause: found.isError ? found.error : null }
}

/** The last message of a logged request is there to be sent again. */
export function begunBy(prompt: Logged['prompt']): {
  readonly settings: Settings
  readonly question: string
  readonly before: readonly Turn[]
} {
  if (prompt === null) return { settings: NO_SETTINGS, question: '', before: [] }
  const text = (value: number | null): string => (value === null ? '' : String(value))
  const { system, maxTokens, temperature, turns } = prompt
  const last = turns.at(-1)
  const isAsked = last?.role === 'user'
  return {
    settings: { system, maxTokens: text(maxTokens), temperature: text(temperature) },
    question: isAsked ? last.text : '',
    before: isAsked ? turns.slice(0, -1) : turns,
  }
}
