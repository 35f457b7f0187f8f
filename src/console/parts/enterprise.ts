import type { UseQueryResult } from '@tanstack/react-query'
import type { ResultOf } from '../../client/index.ts'
import { useRead } from '../api/queries.ts'
import type { Scope } from '../shell/scope.ts'

export type Enterprise = ResultOf<'getEnterprise'>
export type Department = ResultOf<'getDepartment'>

/** The id of the enterprise; nothing is asked with the empty one of other scopes. */
export function enterpriseIdOf(scope: Scope): string {
  return scope.kind === 'enterprise' ? scope.id : ''
}

export function useEnterprise(scope: Scope): UseQueryResult<Enterprise> {
  const params = { id: enterpriseIdOf(scope) }
  return useRead('getEnterprise', { params }, { isEnabled: scope.kind === 'enterprise', staleMs: 60_000 })
}

/** All departments; undefined while they are looked up. */
export function useDepartments(scope: Scope): readonly Department[] | undefined {
  const params = { id: enterpriseIdOf(scope) }
  return useRead('listDepartments', { params }, { isEnabled: scope.kind === 'enterprise' }).data?.data
}
