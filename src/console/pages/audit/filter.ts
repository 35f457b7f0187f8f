import { useUrlState } from '../../parts/url-state.ts'
import type { Scope } from '../../shell/scope.ts'
import type { AuditQuery } from './audit-calls.ts'

const HOUR_MS = 3_600_000
const RANGES = { '24h': 24 * HOUR_MS, '7d': 7 * 24 * HOUR_MS, '30d': 30 * 24 * HOUR_MS } as const
type Range = keyof typeof RANGES

const NAMES = ['user', 'operation', 'target', 'outcome', 'range', 'enterprise', 'of'] as const
type Name = (typeof NAMES)[number]

interface Filter {
  readonly isSet: boolean
  readonly key: string
  /** Of one filter, as the URL has it; empty: it is not set. */
  readonly valueOf: (name: Name) => string
  readonly range: Range | null
  /** Whether the platform's log shows what others did as well. */
  readonly isOfAll: boolean
  /** A relative range ends now. */
  readonly queryNow: () => AuditQuery
  readonly set: (name: Name, value: string | null, as?: 'push' | 'replace') => void
  readonly clear: () => void
}

/** The filter of the audit log, in the URL. On the platform it is what admins changed of the platform, until somebody asks for all. */
export function useFilter(scope: Scope): Filter {
  const url = useUrlState()
  const valueOf = (name: Name): string => url.query.get(name) ?? ''
  const range = rangeOf(valueOf('range'))
  const isOfAll = valueOf('of') === 'all'
  return {
    isSet: NAMES.some((name) => name !== 'of' && valueOf(name) !== ''),
    key: NAMES.map(valueOf).join('\n'),
    valueOf,
    range,
    isOfAll,
    queryNow: () => {
      const outcome = valueOf('outcome')
      const isPlatform = scope.kind === 'platform'
      return {
        ...(valueOf('user') === '' ? {} : { user_id: valueOf('user') }),
        ...(valueOf('operation') === '' ? {} : { operation: valueOf('operation') }),
        ...(valueOf('target') === '' ? {} : { target: valueOf('target') }),
        ...(outcome === 'done' || outcome === 'refused' ? { outcome } : {}),
        ...(range === null ? {} : { from: new Date(Date.now() - RANGES[range]).toISOString() }),
        ...(!isPlatform || valueOf('enterprise') === '' ? {} : { enterprise_id: valueOf('enterprise') }),
        ...(!isPlatform || isOfAll ? {} : { access: 'platform-admin' as const }),
      }
    },
    set: (name, value, as = 'push') => {
      url.set({ [name]: value }, as)
    },
    clear: () => {
      url.set(Object.fromEntries(NAMES.filter((name) => name !== 'of').map((name) => [name, null])))
    },
  }
}

function rangeOf(text: string): Range | null {
  return Object.hasOwn(RANGES, text) ? (text as Range) : null
}
