import type { PlatformRole } from '../../../shared/api/roles.ts'
import type { EntryKey } from '../../../shared/core/snapshot.ts'
import type { ToolAccessRule, ToolServer } from '../../../shared/core/tool-server.ts'
import type { Queryable } from '../../store/database.ts'
import { listToolHoldersOfKey, listToolHoldersOfUser } from '../../store/tool-servers.ts'
import type { ToolHolder } from '../../store/tool-servers.ts'
import type { McpCaller } from '../callers.ts'

/** The facts about a caller that give rights to upstream servers. */
export interface ToolRights {
  readonly isAdmin: boolean
  readonly keyId: string | null
  readonly holders: readonly ToolHolder[]
}

/** The rights of a caller. Those of a key are of its enterprise; of a key without one, those of its user, but for admins. */
export async function rightsOf(database: Queryable, caller: McpCaller): Promise<ToolRights> {
  if (caller.kind === 'key') return rightsOfKey(database, caller.key)
  return rightsOfUser(database, caller.user)
}

export async function rightsOfUser(
  database: Queryable,
  { userId, role }: { readonly userId: string; readonly role: PlatformRole },
): Promise<ToolRights> {
  return { isAdmin: role === 'admin', keyId: null, holders: await listToolHoldersOfUser(database, userId) }
}

export async function rightsOfKey(database: Queryable, key: EntryKey): Promise<ToolRights> {
  const { id, enterpriseId, departmentId, memberId, userId } = key
  const ofUser = (): Promise<ToolHolder[]> | [] => (userId === null ? [] : listToolHoldersOfUser(database, userId))
  const holders =
    enterpriseId === null
      ? await ofUser()
      : await listToolHoldersOfKey(database, { enterpriseId, departmentId, memberId })
  return { isAdmin: false, keyId: id, holders }
}

/** Whether the server is for somebody with these rights. */
export function mayUse({ access }: ToolServer, { isAdmin, keyId, holders }: ToolRights): boolean {
  if (isAdmin) return true
  return access.some((rule) => isFor(rule, keyId, holders))
}

function isFor(rule: ToolAccessRule, keyId: string | null, holders: readonly ToolHolder[]): boolean {
  if (rule.keyId !== undefined && rule.keyId !== keyId) return false
  const { role, enterpriseId, departmentId } = rule
  const asksPlace = role !== undefined || enterpriseId !== undefined || departmentId !== undefined
  if (!asksPlace) return rule.keyId !== undefined || rule.everyone === true
  return holders.some(
    (holder) =>
      (role === undefined || holder.role === role) &&
      (enterpriseId === undefined || holder.enterpriseId === enterpriseId) &&
      (departmentId === undefined || holder.departmentIds.includes(departmentId)),
  )
}
