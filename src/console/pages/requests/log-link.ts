import { mayIn, pathIn } from '../../shell/scope.ts'
import type { Scope } from '../../shell/scope.ts'
import type { FilterName } from './filter.ts'

/** The log of a scope with these filters and this range; null where the person may not read it. */
export function logLink(
  scope: Scope,
  filters: Readonly<Partial<Record<FilterName, string>>>,
  range: Readonly<Record<string, string>> = {},
): string | null {
  if (!mayIn(scope, 'logs.read')) return null
  const query = new URLSearchParams({ ...filters, ...range })
  return `${pathIn(scope, '/requests')}${query.size === 0 ? '' : `?${query.toString()}`}`
}
