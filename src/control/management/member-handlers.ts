import { randomBytes, randomUUID } from 'node:crypto'
import type { Static } from 'typebox'
import type {
  Invitation as ShownInvitation,
  Member as ShownMember,
  MEMBERS,
} from '../../shared/api/operations/members.ts'
import { GatewayError } from '../../shared/core/errors.ts'
import type { Database } from '../store/database.ts'
import { findEnterprise } from '../store/enterprises.ts'
import { cancelInvitation, insertInvitation, listInvitations } from '../store/invitations.ts'
import type { Invitation } from '../store/invitations.ts'
import { changeMember, countOwners, findMember, listMembers, removeMember } from '../store/members.ts'
import type { Member } from '../store/members.ts'
import type { Caller, Handlers } from './call.ts'
import { renderedEnterprise } from './enterprise-handlers.ts'
import { orNotFound } from './or-not-found.ts'
import { digestOfToken, acceptInvitation } from './add-member.ts'
import { invitationEmail } from './emails.ts'
import type { Mailer } from './mailer.ts'
import { offsetOf, pageOf } from './pages.ts'
import { mapConstraintErrors } from './constraint-errors.ts'

const INVITATION_MS = 7 * 24 * 3_600_000
const NO_DEPARTMENT = { message: 'There is no such department.', param: '/department_id' }

/** The members and invitations of an enterprise. */
export function memberHandlers(database: Database, mailer: Mailer | null): Handlers<keyof typeof MEMBERS> {
  return {
    acceptInvitation: async ({ body, caller }) => {
      const { enterpriseId, role } = await database.transaction((tx) => acceptInvitation(tx, caller.userId, body.token))
      return { enterprise: renderedEnterprise(orNotFound(await findEnterprise(database, enterpriseId))), role }
    },

    listMembers: async ({ params, query }) => {
      const { members, total } = await listMembers(database, params.id, offsetOf(query))
      return pageOf(members, total, query, renderedMember)
    },

    invite: async ({ params, body, caller, afterCommit }) => {
      if (body.role === 'owner') onlyOwners(caller)
      const token = randomBytes(24).toString('base64url')
      const invitation = await mapConstraintErrors(
        { reference: NO_DEPARTMENT },
        insertInvitation(database, {
          id: `inv_${randomUUID()}`,
          enterpriseId: params.id,
          email: body.email,
          role: body.role,
          departmentId: body.department_id ?? null,
          tokenDigest: digestOfToken(token),
          invitedBy: caller.userId,
          expiresAt: new Date(Date.now() + INVITATION_MS),
        }),
      )
      const { name } = orNotFound(await findEnterprise(database, params.id))
      const mailed = mailer?.hasRoom === true
      if (mailed) afterCommit(() => mailer.send(invitationEmail(body.email, name, token)))
      return { ...renderedInvitation(invitation), token, mailed }
    },

    listInvitations: async ({ params, query }) => {
      const { invitations, total } = await listInvitations(database, params.id, offsetOf(query))
      return pageOf(invitations, total, query, renderedInvitation)
    },

    cancelInvitation: async ({ params }) => {
      if (await cancelInvitation(database, params.id, params.invitationId)) return null
      throw new GatewayError('NOT_FOUND')
    },

    getMember: async ({ params }) => renderedMember(orNotFound(await findMember(database, params.id, params.memberId))),

    updateMember: async ({ params, body, caller }) => {
      const { id, memberId } = params
      const { role, status, department_id: departmentId } = body
      const { monthly_budget: monthlyBudget, monthly_tokens: monthlyTokens } = body
      await database.transaction(async (tx) => {
        const before = await countOwners(tx, id)
        const member = orNotFound(await findMember(tx, id, memberId))
        if (member.role === 'owner' || role === 'owner') onlyOwners(caller)
        const change = { role, status, departmentId, monthlyBudget, monthlyTokens }
        await mapConstraintErrors({ reference: NO_DEPARTMENT }, changeMember(tx, id, memberId, change))
        if (before > 0 && (await countOwners(tx, id)) === 0) throw lastOwner()
      })
      return renderedMember(orNotFound(await findMember(database, id, memberId)))
    },

    removeMember: async ({ params, caller }) => {
      await database.transaction(async (tx) => {
        const before = await countOwners(tx, params.id)
        const member = orNotFound(await findMember(tx, params.id, params.memberId))
        if (member.role === 'owner') onlyOwners(caller)
        await removeMember(tx, params.id, params.memberId)
        if (before > 0 && (await countOwners(tx, params.id)) === 0) throw lastOwner()
      })
      return null
    },
  }
}

/** Throws ROLE_DENIED for other roles: an admin of an enterprise must not take it over. */
function onlyOwners({ enterpriseRole }: Caller): void {
  if (enterpriseRole !== 'owner') {
    throw new GatewayError('ROLE_DENIED', { message: 'Only an owner may add, change or remove an owner.' })
  }
}

function lastOwner(): GatewayError {
  return new GatewayError('CONFLICT', { message: 'An enterprise needs an owner: make another member an owner first.' })
}

function renderedMember(member: Member): Static<typeof ShownMember> {
  const { id, userId, userName, phone, role, status, departmentId, monthlyBudget, monthlyTokens, createdAt } = member
  return {
    id,
    user: { id: userId, name: userName, phone },
    role,
    status,
    department_id: departmentId,
    monthly_budget: monthlyBudget,
    monthly_tokens: monthlyTokens,
    spend: null,
    created_at: createdAt.toISOString(),
  }
}

function renderedInvitation(invitation: Invitation): Static<typeof ShownInvitation> {
  const { id, email, role, departmentId, status, expiresAt, createdAt } = invitation
  return {
    id,
    email,
    role,
    department_id: departmentId,
    status,
    expires_at: expiresAt.toISOString(),
    created_at: createdAt.toISOString(),
  }
}
