import { randomUUID } from 'node:crypto'
import type { Static } from 'typebox'
import type {
  Enterprise as ShownEnterprise,
  ENTERPRISES,
  OwnJoinRequest as ShownOwnJoinRequest,
} from '../../shared/api/operations/enterprises.ts'
import { GatewayError } from '../../shared/core/errors.ts'
import type { Database } from '../store/database.ts'
import {
  changeEnterprise,
  deleteEnterprise,
  findEnterprise,
  findEnterprisesByPhone,
  findStanding,
  insertEnterprise,
  listEnterprises,
} from '../store/enterprises.ts'
import type { Enterprise } from '../store/enterprises.ts'
import {
  decideJoinRequest,
  findJoinRequest,
  insertJoinRequest,
  listJoinRequests,
  listJoinRequestsOf,
} from '../store/invitations.ts'
import type { JoinRequest, OwnJoinRequest } from '../store/invitations.ts'
import { findMemberOfUser } from '../store/members.ts'
import { findUserByPhone } from '../store/users.ts'
import type { Handlers } from './call.ts'
import { renderedModelBudgets } from './model-budgets.ts'
import type { ModelBudgets } from './model-budgets.ts'
import { enterpriseDeleted } from './guard.ts'
import { orNotFound } from './or-not-found.ts'
import { addMember, onlyOwners, removeUnlessLastOwner } from './add-member.ts'
import { checkTimeZone } from './calendar.ts'
import { offsetOf, pageOf } from './pages.ts'
import { normalisePhone } from './phone.ts'
import type { CaptureParts } from './capture-parts.ts'
import { captureSettingsOf, renderedCapture } from './capture-settings.ts'
import { mapConstraintErrors } from './constraint-errors.ts'

/** A join request or an invitation that nobody decided on yet, for the audit log. */
export const PENDING = { status: 'pending' }

/** Enterprises and requests to join them. `installed` names the currency of this installation. */
export function enterpriseHandlers(
  database: Database,
  installed: { readonly currency: string },
  modelBudgets: ModelBudgets,
  captures: Pick<CaptureParts, 'isAllowed' | 'onErased'>,
): Handlers<keyof typeof ENTERPRISES> {
  const joinRequest = async (enterpriseId: string, id: string): Promise<ReturnType<typeof renderedRequest>> =>
    renderedRequest(orNotFound(await findJoinRequest(database, enterpriseId, id)))
  const remove = async (id: string, deletedBy: string, afterCommit: (work: () => void) => void): Promise<null> => {
    if (!(await database.transaction((tx) => deleteEnterprise(tx, id, deletedBy)))) throw new GatewayError('NOT_FOUND')
    afterCommit(captures.onErased)
    return null
  }
  return {
    searchEnterprises: async ({ query }) => ({
      data: await findEnterprisesByPhone(database, normalisePhone(query.phone)),
    }),

    adminListEnterprises: async ({ query }) => {
      const { enterprises, total } = await listEnterprises(
        database,
        { search: query.search, status: query.status },
        offsetOf(query),
      )
      return pageOf(enterprises, total, query, renderedEnterprise)
    },

    adminCreateEnterprise: async ({ body }) => {
      const { name, owner_phone: ownerPhone, time_zone: timeZone = 'UTC', is_prepaid = false } = body
      const { currency } = installed
      if (body.currency !== undefined && body.currency !== currency) {
        throw new GatewayError('INVALID_FIELD', {
          message: `This installation counts money in ${currency} (money.currency), not in ${body.currency}.`,
          param: '/currency',
        })
      }
      checkTimeZone(timeZone)
      const budgets = (await modelBudgets.read(body)) ?? null
      const capture = (await captureSettingsOf(body.capture, captures.isAllowed)) ?? null
      const id = `ent_${randomUUID()}`
      await database.transaction(async (tx) => {
        const enterprise = { id, name, status: 'active', currency, timeZone, isPrepaid: is_prepaid } as const
        await insertEnterprise(tx, {
          ...enterprise,
          rpm: body.rpm ?? null,
          tpm: body.tpm ?? null,
          maxConcurrency: body.max_concurrency ?? null,
          monthlyBudget: body.monthly_budget ?? null,
          monthlyTokens: body.monthly_tokens ?? null,
          platformMonthlyBudget: body.platform_monthly_budget ?? null,
          modelBudgets: budgets,
          capture,
        })
        if (ownerPhone === undefined) return
        const owner = await findUserByPhone(tx, normalisePhone(ownerPhone))
        if (owner === null) {
          throw new GatewayError('INVALID_FIELD', {
            message: 'No user has this phone number: create the user first.',
            param: '/owner_phone',
          })
        }
        await addMember(tx, id, { userId: owner.id, role: 'owner', departmentId: null })
      })
      return renderedEnterprise(orNotFound(await findEnterprise(database, id)))
    },

    adminGetEnterprise: async ({ params }) => renderedEnterprise(orNotFound(await findEnterprise(database, params.id))),

    adminUpdateEnterprise: async ({ params, body }) => {
      checkTimeZone(body.time_zone)
      const budgets = await modelBudgets.read(body)
      const changed = await changeEnterprise(database, params.id, {
        name: body.name,
        status: body.status,
        timeZone: body.time_zone,
        isPrepaid: body.is_prepaid,
        rpm: body.rpm,
        tpm: body.tpm,
        maxConcurrency: body.max_concurrency,
        monthlyBudget: body.monthly_budget,
        monthlyTokens: body.monthly_tokens,
        platformMonthlyBudget: body.platform_monthly_budget,
        modelBudgets: budgets,
        capture: await captureSettingsOf(body.capture, captures.isAllowed),
      })
      if (changed === null && (await findEnterprise(database, params.id)) !== null) throw enterpriseDeleted()
      const { id } = orNotFound(changed)
      await modelBudgets.countEarlier({ owner: 'enterprise', id, enterpriseId: id }, budgets)
      return renderedEnterprise(orNotFound(changed))
    },

    getEnterprise: async ({ params }) => renderedEnterprise(orNotFound(await findEnterprise(database, params.id))),

    updateEnterprise: async ({ params, body }) => {
      checkTimeZone(body.time_zone)
      const { name, time_zone: timeZone, monthly_budget: monthlyBudget, monthly_tokens: monthlyTokens } = body
      const budgets = await modelBudgets.read(body)
      const capture = await captureSettingsOf(body.capture, captures.isAllowed)
      const change = { name, timeZone, monthlyBudget, monthlyTokens, modelBudgets: budgets, capture }
      const changed = orNotFound(await changeEnterprise(database, params.id, change))
      await modelBudgets.countEarlier({ owner: 'enterprise', id: params.id, enterpriseId: params.id }, budgets)
      return renderedEnterprise(changed)
    },

    deleteEnterprise: ({ params, caller, afterCommit }) => remove(params.id, caller.userId, afterCommit),

    adminDeleteEnterprise: ({ params, caller, afterCommit }) => remove(params.id, caller.userId, afterCommit),

    leaveEnterprise: async ({ params, caller, audit }) => {
      const member = await database.transaction((tx) =>
        removeUnlessLastOwner(tx, params.id, async () =>
          orNotFound(await findMemberOfUser(tx, params.id, caller.userId)),
        ),
      )
      audit({ before: { member: member.id, role: member.role }, after: null })
      return null
    },

    listOwnJoinRequests: async ({ query, caller }) => {
      const { requests, total } = await listJoinRequestsOf(database, caller.userId, offsetOf(query))
      return pageOf(requests, total, query, renderedOwnRequest)
    },

    askToJoin: async ({ params, body, caller }) => {
      const standing = await findStanding(database, caller.userId, params.id)
      if (standing?.status !== 'active') throw new GatewayError('NOT_FOUND')
      if (standing.role !== null) throw new GatewayError('CONFLICT', { message: 'You are a member already.' })
      const id = `join_${randomUUID()}`
      const request = { id, enterpriseId: params.id, userId: caller.userId, message: body.message ?? null }
      await mapConstraintErrors(
        { unique: { message: 'You have asked already.' } },
        insertJoinRequest(database, request),
      )
      return joinRequest(params.id, id)
    },

    listJoinRequests: async ({ params, query }) => {
      const { requests, total } = await listJoinRequests(database, params.id, query.status ?? null, offsetOf(query))
      return pageOf(requests, total, query, renderedRequest)
    },

    approveJoinRequest: async ({ params, body, caller, audit }) => {
      const { id, requestId } = params
      const { role = 'employee', department_id: departmentId = null } = body
      if (role === 'owner') onlyOwners(caller)
      await database.transaction(async (tx) => {
        const request = orNotFound(await findJoinRequest(tx, id, requestId))
        const decision = { status: 'approved', by: caller.userId, userId: null } as const
        if (!(await decideJoinRequest(tx, id, requestId, decision))) throw decided()
        await addMember(tx, id, { userId: request.userId, role, departmentId })
      })
      audit({ before: PENDING, after: { status: 'approved', member: { role, department_id: departmentId } } })
      return joinRequest(id, requestId)
    },

    rejectJoinRequest: async ({ params, body, caller, audit }) => {
      const { id, requestId } = params
      orNotFound(await findJoinRequest(database, id, requestId))
      const { reason = null } = body
      const decision = { status: 'rejected', by: caller.userId, userId: null, reason } as const
      if (!(await decideJoinRequest(database, id, requestId, decision))) throw decided()
      audit({ before: PENDING, after: { status: 'rejected', ...(reason === null ? {} : { reason }) } })
      return joinRequest(id, requestId)
    },

    withdrawJoinRequest: async ({ params, caller, audit }) => {
      const decision = { status: 'cancelled', by: caller.userId, userId: caller.userId } as const
      if (!(await decideJoinRequest(database, params.id, params.requestId, decision)))
        throw new GatewayError('NOT_FOUND')
      audit({ before: PENDING, after: { status: 'cancelled' } })
      return null
    },
  }
}

function decided(): GatewayError {
  return new GatewayError('CONFLICT', { message: 'This request has been decided already.' })
}

export function renderedEnterprise(enterprise: Enterprise): Static<typeof ShownEnterprise> {
  return {
    id: enterprise.id,
    name: enterprise.name,
    status: enterprise.status,
    currency: enterprise.currency,
    time_zone: enterprise.timeZone,
    is_prepaid: enterprise.isPrepaid,
    rpm: enterprise.rpm,
    tpm: enterprise.tpm,
    max_concurrency: enterprise.maxConcurrency,
    monthly_budget: enterprise.monthlyBudget,
    monthly_tokens: enterprise.monthlyTokens,
    platform_monthly_budget: enterprise.platformMonthlyBudget,
    model_budgets: renderedModelBudgets(enterprise.modelBudgets),
    capture: renderedCapture(enterprise.capture),
    spend: null,
    created_at: enterprise.createdAt.toISOString(),
    deleted_at: enterprise.deletedAt?.toISOString() ?? null,
  }
}

function renderedRequest({ id, userId, userName, phone, message, status, reason, createdAt }: JoinRequest) {
  const user = { id: userId, name: userName, phone }
  return { id, user, message, status, reason, created_at: createdAt.toISOString() }
}

function renderedOwnRequest(request: OwnJoinRequest): Static<typeof ShownOwnJoinRequest> {
  const { id, enterpriseId, enterpriseName, message, status, reason, createdAt } = request
  const enterprise = { id: enterpriseId, name: enterpriseName }
  return { id, enterprise, message, status, reason, created_at: createdAt.toISOString() }
}
