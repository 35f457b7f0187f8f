import { randomBytes, randomUUID } from 'node:crypto'
import type { Static } from 'typebox'
import type {
  Invitation as ShownInvitation,
  Member as ShownMember,
  MEMBERS,
} from '../../shared/api/operations/members.ts'
import { GatewayError } from '../../shared/core/errors.ts'
import { systemClock } from '../../shared/runtime/clock.ts'
import type { Database } from '../store/database.ts'
import { findEnterprise } from '../store/enterprises.ts'
import { cancelInvitation, insertInvitation, listInvitations, renewInvitation } from '../store/invitations.ts'
import type { Invitation } from '../store/invitations.ts'
import { changeMember, countOwners, findMember, listMembers } from '../store/members.ts'
import type { Member } from '../store/members.ts'
import type { Handlers } from './call.ts'
import { PENDING, renderedEnterprise } from './enterprise-handlers.ts'
import { orNotFound } from './or-not-found.ts'
import {
  acceptInvitation,
  digestOfToken,
  lastOwner,
  NO_DEPARTMENT,
  onlyOwners,
  removeUnlessLastOwner,
} from './add-member.ts'
import { invitationEmail } from './emails.ts'
import type { Mailer } from './mailer.ts'
import { RateWindow } from './rate-window.ts'
import { offsetOf, pageOf } from './pages.ts'
import { normalisePhone } from './phone.ts'
import { renderedModelBudgets } from './model-budgets.ts'
import type { ModelBudgets } from './model-budgets.ts'
import { mapConstraintErrors } from './constraint-errors.ts'

const HOUR_MS = 3_600_000
const INVITATION_MS = 7 * 24 * HOUR_MS

interface InvitationParts {
  /** Null: no e-mail is sent. */
  readonly mailer: Mailer | null
  /** Null: it is not configured. */
  readonly consoleUrl: string | null
}

/** The members and invitations of an enterprise. */
export function memberHandlers(
  database: Database,
  { mailer, consoleUrl }: InvitationParts,
  modelBudgets: ModelBudgets,
): Handlers<keyof typeof MEMBERS> {
  const ofEnterprises = new RateWindow(systemClock, { calls: 100, perMs: HOUR_MS })
  const ofAddresses = new RateWindow(systemClock, { calls: 5, perMs: HOUR_MS })

  /** Counts an e-mail of the enterprise to the address. Throws EMAILS_THROTTLED. */
  const countEmail = (enterpriseId: string, email: string): void => {
    const address = JSON.stringify([enterpriseId, email.toLowerCase()])
    const waitMs = Math.max(ofEnterprises.waitMs(enterpriseId), ofAddresses.waitMs(address))
    if (waitMs > 0) {
      throw new GatewayError('EMAILS_THROTTLED', {
        message: 'Too many e-mails with invitations: an hour has 100 of an enterprise, and 5 of them to one address.',
        retryAfterSeconds: waitMs / 1000,
      })
    }
    ofEnterprises.take(enterpriseId)
    ofAddresses.take(address)
  }

  const sent = async (invitation: Invitation, token: string, afterCommit: (work: () => void) => void) => {
    const { email, enterpriseId } = invitation
    const { name } = orNotFound(await findEnterprise(database, enterpriseId))
    const mailed = email !== null && mailer?.isBusy === false
    if (mailed) countEmail(enterpriseId, email)
    if (mailed) afterCommit(() => mailer.send(invitationEmail(email, name, { token, consoleUrl })))
    return { ...renderedInvitation(invitation), token, mailed }
  }
  return {
    acceptInvitation: async ({ body, caller, audit }) => {
      const { enterpriseId, role } = await database.transaction((tx) => acceptInvitation(tx, caller.userId, body.token))
      audit({ before: PENDING, after: { status: 'accepted', enterprise_id: enterpriseId, role }, enterpriseId })
      return { enterprise: renderedEnterprise(orNotFound(await findEnterprise(database, enterpriseId))), role }
    },

    listMembers: async ({ params, query }) => {
      const { members, total } = await listMembers(
        database,
        params.id,
        { search: query.search, departmentId: query.department_id },
        offsetOf(query),
      )
      return pageOf(members, total, query, renderedMember)
    },

    invite: async ({ params, body, caller, afterCommit }) => {
      if (body.role === 'owner') onlyOwners(caller)
      const { email = null } = body
      const phone = body.phone === undefined ? null : normalisePhone(body.phone)
      if ((email === null) === (phone === null)) {
        throw new GatewayError('INVALID_FIELD', {
          message: 'Give either email or phone: only the user with that address can accept the invitation.',
          param: email === null ? '/email' : '/phone',
        })
      }
      const token = newToken()
      const invitation = await mapConstraintErrors(
        { reference: NO_DEPARTMENT },
        insertInvitation(database, {
          id: `inv_${randomUUID()}`,
          enterpriseId: params.id,
          email,
          phone,
          role: body.role,
          departmentId: body.department_id ?? null,
          tokenDigest: digestOfToken(token),
          invitedBy: caller.userId,
          expiresAt: new Date(Date.now() + INVITATION_MS),
        }),
      )
      return sent(invitation, token, afterCommit)
    },

    listInvitations: async ({ params, query }) => {
      const { invitations, total } = await listInvitations(database, params.id, offsetOf(query))
      return pageOf(invitations, total, query, renderedInvitation)
    },

    resendInvitation: async ({ params, caller, audit, afterCommit }) => {
      const token = newToken()
      const renewed = { tokenDigest: digestOfToken(token), expiresAt: new Date(Date.now() + INVITATION_MS) }
      const invitation = orNotFound(await renewInvitation(database, params.id, params.invitationId, renewed))
      if (invitation.role === 'owner') onlyOwners(caller)
      audit({ before: null, after: { expires_at: invitation.expiresAt.toISOString() } })
      return sent(invitation, token, afterCommit)
    },

    cancelInvitation: async ({ params, audit }) => {
      if (!(await cancelInvitation(database, params.id, params.invitationId))) throw new GatewayError('NOT_FOUND')
      audit({ before: PENDING, after: { status: 'cancelled' } })
      return null
    },

    getMember: async ({ params }) => renderedMember(orNotFound(await findMember(database, params.id, params.memberId))),

    updateMember: async ({ params, body, caller }) => {
      const { id, memberId } = params
      const { role, status, department_id: departmentId } = body
      const { monthly_budget: monthlyBudget, monthly_tokens: monthlyTokens } = body
      const { rpm, tpm, max_concurrency: maxConcurrency } = body
      const budgetsForModels = await modelBudgets.read(body)
      await database.transaction(async (tx) => {
        const before = await countOwners(tx, id)
        const member = orNotFound(await findMember(tx, id, memberId))
        if (member.role === 'owner' || role === 'owner') onlyOwners(caller)
        const budgets = { monthlyBudget, monthlyTokens, modelBudgets: budgetsForModels }
        const change = { role, status, departmentId, ...budgets, rpm, tpm, maxConcurrency }
        await mapConstraintErrors({ reference: NO_DEPARTMENT }, changeMember(tx, id, memberId, change))
        if (before > 0 && (await countOwners(tx, id)) === 0) throw lastOwner()
      })
      await modelBudgets.countEarlier({ owner: 'member', id: memberId, enterpriseId: id }, budgetsForModels)
      return renderedMember(orNotFound(await findMember(database, id, memberId)))
    },

    removeMember: async ({ params, caller }) => {
      await database.transaction((tx) =>
        removeUnlessLastOwner(tx, params.id, async () => {
          const member = orNotFound(await findMember(tx, params.id, params.memberId))
          if (member.role === 'owner') onlyOwners(caller)
          return member
        }),
      )
      return null
    },
  }
}

function newToken(): string {
  return randomBytes(24).toString('base64url')
}

function renderedMember(member: Member): Static<typeof ShownMember> {
  const { id, userId, userName, phone, role, status, departmentId, monthlyBudget, monthlyTokens, createdAt } = member
  const { rpm, tpm, maxConcurrency } = member
  return {
    id,
    user: { id: userId, name: userName, phone },
    role,
    status,
    department_id: departmentId,
    monthly_budget: monthlyBudget,
    monthly_tokens: monthlyTokens,
    model_budgets: renderedModelBudgets(member.modelBudgets),
    rpm,
    tpm,
    max_concurrency: maxConcurrency,
    spend: null,
    created_at: createdAt.toISOString(),
  }
}

function renderedInvitation(invitation: Invitation): Static<typeof ShownInvitation> {
  const { id, email, phone, role, departmentId, status, expiresAt, createdAt } = invitation
  return {
    id,
    email,
    phone,
    role,
    department_id: departmentId,
    status,
    expires_at: expiresAt.toISOString(),
    created_at: createdAt.toISOString(),
  }
}
