import type { UseQueryResult } from '@tanstack/react-query'
import type { RequestOf, ResultOf } from '../../client/index.ts'
import { useRead } from '../api/queries.ts'
import type { Scope } from '../shell/scope.ts'

export type Usage = ResultOf<'usage'>
export type Sums = Usage['totals']
export type Latency = ResultOf<'latency'>
export type UsageQuery = NonNullable<RequestOf<'adminUsage'>['query']>
type LatencyQuery = NonNullable<RequestOf<'adminLatency'>['query']>

interface Options {
  readonly isEnabled?: boolean
  readonly keepsOld?: boolean
  readonly staleMs?: number
  readonly everyMs?: number
}

/** Sums of the requests in a scope. Fields that only platform admins may ask for are refused elsewhere. */
export function useUsage(scope: Scope, query: UsageQuery, options: Options = {}): UseQueryResult<Usage> {
  const of = (kind: Scope['kind']): Options => ({
    ...options,
    isEnabled: options.isEnabled !== false && scope.kind === kind,
  })
  const own = useRead('usage', { query }, of('own'))
  const enterprise = useRead('enterpriseUsage', { params: { id: idOf(scope) }, query }, of('enterprise'))
  const platform = useRead('adminUsage', { query }, of('platform'))
  return { own, enterprise, platform }[scope.kind]
}

/** Percentiles of durations in a scope. */
export function useLatency(scope: Scope, query: LatencyQuery, options: Options = {}): UseQueryResult<Latency> {
  const of = (kind: Scope['kind']): Options => ({
    ...options,
    isEnabled: options.isEnabled !== false && scope.kind === kind,
  })
  const own = useRead('latency', { query }, of('own'))
  const enterprise = useRead('enterpriseLatency', { params: { id: idOf(scope) }, query }, of('enterprise'))
  const platform = useRead('adminLatency', { query }, of('platform'))
  return { own, enterprise, platform }[scope.kind]
}

function idOf(scope: Scope): string {
  return scope.kind === 'enterprise' ? scope.id : ''
}
