import { useRead } from '../api/queries.ts'
import type { Scope } from '../shell/scope.ts'

const MAX_MEMBERS = 100

interface HolderNames {
  /** Empty while the names load; the id itself where the name is not known; null for none. */
  readonly member: (id: string | null | undefined) => string | null
  readonly department: (id: string | null | undefined) => string | null
}

/** Names of the members and departments of an enterprise; elsewhere ids stay ids. */
export function useHolderNames(scope: Scope): HolderNames {
  const params = { id: scope.kind === 'enterprise' ? scope.id : '' }
  const options = { isEnabled: scope.kind === 'enterprise', staleMs: 60_000 }
  const members = useRead('listMembers', { params, query: { limit: MAX_MEMBERS } }, options)
  const departments = useRead('listDepartments', { params }, options)
  return {
    member: (id) => nameOf(id, members.isLoading, members.data?.data.find((one) => one.id === id)?.user.name),
    department: (id) => nameOf(id, departments.isLoading, departments.data?.data.find((one) => one.id === id)?.name),
  }
}

function nameOf(id: string | null | undefined, isLoading: boolean, name: string | undefined): string | null {
  return isLoading && typeof id === 'string' ? '' : (name ?? id ?? null)
}
