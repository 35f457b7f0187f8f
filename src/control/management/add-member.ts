import { createHash, randomUUID } from 'node:crypto'
import type { EnterpriseRole } from '../../shared/api/roles.ts'
import { GatewayError } from '../../shared/core/errors.ts'
import type { Queryable } from '../store/database.ts'
import { takeInvitation } from '../store/invitations.ts'
import type { Invitation } from '../store/invitations.ts'
import { countOwners, insertMember, removeMember } from '../store/members.ts'
import type { Member } from '../store/members.ts'
import { findUser } from '../store/users.ts'
import type { User } from '../store/users.ts'
import type { Caller } from './call.ts'
import { mapConstraintErrors } from './constraint-errors.ts'

export const NO_DEPARTMENT = { message: 'There is no such department.', param: '/department_id' }

/** A user to whom an invitation can be addressed. */
type Addressee = Pick<User, 'id' | 'phone' | 'email'>

/**
 * Makes the user a member and marks the invitation as used. Call it in a transaction. Throws NOT_FOUND, INVITATION_DENIED when the
 * invitation is for another e-mail address or phone number, or CONFLICT.
 */
export async function acceptInvitation(
  tx: Queryable,
  userId: string,
  token: string,
): Promise<{ enterpriseId: string; role: EnterpriseRole }> {
  const invitation = await openInvitation(tx, token)
  const user = await findUser(tx, userId)
  if (user === null) throw new GatewayError('TOKEN_INVALID')
  await joinByInvitation(tx, user, invitation)
  return { enterpriseId: invitation.enterpriseId, role: invitation.role }
}

/** As `acceptInvitation`, for an invitation that `openInvitation` returned. */
export async function joinByInvitation(tx: Queryable, user: Addressee, invitation: Invitation): Promise<void> {
  const { enterpriseId, role, departmentId } = invitation
  checkAddressee(user, invitation)
  await addMember(tx, enterpriseId, { userId: user.id, role, departmentId })
}

/** Takes the invitation of a token. Call it in a transaction: when that fails, the invitation stays open. Throws NOT_FOUND. */
export async function openInvitation(tx: Queryable, token: string): Promise<Invitation> {
  const invitation = await takeInvitation(tx, digestOfToken(token))
  if (invitation === null) {
    throw new GatewayError('NOT_FOUND', { message: 'The invitation is unknown, used, cancelled or expired.' })
  }
  return invitation
}

/** Throws CONFLICT when the user is a member already. */
export async function addMember(
  tx: Queryable,
  enterpriseId: string,
  member: { readonly userId: string; readonly role: EnterpriseRole; readonly departmentId: string | null },
): Promise<void> {
  await mapConstraintErrors(
    { unique: { message: 'This user is a member already.' }, reference: NO_DEPARTMENT },
    insertMember(tx, enterpriseId, { id: `member_${randomUUID()}`, ...member }),
  )
}

/** Throws INVITATION_DENIED. */
function checkAddressee(user: Addressee, { email, phone }: Invitation): void {
  if (phone !== null && phone !== user.phone) {
    throw new GatewayError('INVITATION_DENIED', {
      message: 'This invitation is for another phone number: log in with the account of that number.',
    })
  }
  if (email !== null && email.toLowerCase() !== user.email?.toLowerCase()) {
    throw new GatewayError('INVITATION_DENIED', {
      message:
        'This invitation is for another e-mail address: log in with the account of that address, or make one with the ' +
        'invitation. A platform admin can set the address of an account.',
    })
  }
}

export function digestOfToken(token: string): string {
  return createHash('sha256').update(token).digest('hex')
}

/** Throws ROLE_DENIED for other roles: an admin of an enterprise must not take it over. */
export function onlyOwners({ enterpriseRole }: Pick<Caller, 'enterpriseRole'>): void {
  if (enterpriseRole !== 'owner') {
    throw new GatewayError('ROLE_DENIED', { message: 'Only an owner may add, change or remove an owner.' })
  }
}

/**
 * Removes the member that `find` resolves to, which is called when no role of the enterprise can change any more. Call it in a
 * transaction. Throws CONFLICT for the last owner.
 */
export async function removeUnlessLastOwner(
  tx: Queryable,
  enterpriseId: string,
  find: () => Promise<Member>,
): Promise<Member> {
  const before = await countOwners(tx, enterpriseId)
  const member = await find()
  await removeMember(tx, enterpriseId, member.id)
  if (before > 0 && (await countOwners(tx, enterpriseId)) === 0) throw lastOwner()
  return member
}

export function lastOwner(): GatewayError {
  return new GatewayError('CONFLICT', { message: 'An enterprise needs an owner: make another member an owner first.' })
}
