import { createHash, randomUUID } from 'node:crypto'
import type { EnterpriseRole } from '../../shared/api/roles.ts'
import { GatewayError } from '../../shared/core/errors.ts'
import type { Queryable } from '../store/database.ts'
import { takeInvitation } from '../store/invitations.ts'
import { insertMember } from '../store/members.ts'
import { mapConstraintErrors } from './constraint-errors.ts'

/** Makes the user a member and marks the invitation as used. Call it in a transaction. Throws NOT_FOUND or CONFLICT. */
export async function acceptInvitation(
  tx: Queryable,
  userId: string,
  token: string,
): Promise<{ enterpriseId: string; role: EnterpriseRole }> {
  const invitation = await takeInvitation(tx, digestOfToken(token))
  if (invitation === null) {
    throw new GatewayError('NOT_FOUND', { message: 'The invitation is unknown, used, cancelled or expired.' })
  }
  const { enterpriseId, role, departmentId } = invitation
  await addMember(tx, enterpriseId, { userId, role, departmentId })
  return { enterpriseId, role }
}

/** Throws CONFLICT when the user is a member already. */
export async function addMember(
  tx: Queryable,
  enterpriseId: string,
  member: { readonly userId: string; readonly role: EnterpriseRole; readonly departmentId: string | null },
): Promise<void> {
  await mapConstraintErrors(
    { unique: { message: 'This user is a member already.' } },
    insertMember(tx, enterpriseId, { id: `member_${randomUUID()}`, ...member }),
  )
}

export function digestOfToken(token: string): string {
  return createHash('sha256').update(token).digest('hex')
}
