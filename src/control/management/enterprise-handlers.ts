import { randomUUID } from 'node:crypto'
import type { Static } from 'typebox'
import type { Enterprise as ShownEnterprise, ENTERPRISES } from '../../shared/api/operations/enterprises.ts'
import { GatewayError } from '../../shared/core/errors.ts'
import type { Database } from '../store/database.ts'
import {
  changeEnterprise,
  findEnterprise,
  findEnterprisesByPhone,
  findStanding,
  insertEnterprise,
  listEnterprises,
} from '../store/enterprises.ts'
import type { Enterprise } from '../store/enterprises.ts'
import { decideJoinRequest, findJoinRequest, insertJoinRequest, listJoinRequests } from '../store/invitations.ts'
import type { JoinRequest } from '../store/invitations.ts'
import { findUserByPhone } from '../store/users.ts'
import type { Handlers } from './call.ts'
import { orNotFound } from './or-not-found.ts'
import { addMember } from './add-member.ts'
import { offsetOf, pageOf } from './pages.ts'
import { normalisePhone } from './phone.ts'
import { mapConstraintErrors } from './constraint-errors.ts'

/** Enterprises and requests to join them. `installed` names the currency of this installation. */
export function enterpriseHandlers(
  database: Database,
  installed: { readonly currency: string },
): Handlers<keyof typeof ENTERPRISES> {
  const joinRequest = async (enterpriseId: string, id: string): Promise<ReturnType<typeof renderedRequest>> =>
    renderedRequest(orNotFound(await findJoinRequest(database, enterpriseId, id)))
  return {
    searchEnterprises: async ({ query }) => ({
      data: await findEnterprisesByPhone(database, normalisePhone(query.phone)),
    }),

    adminListEnterprises: async ({ query }) => {
      const { enterprises, total } = await listEnterprises(database, query.search, offsetOf(query))
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
      return renderedEnterprise(
        orNotFound(
          await changeEnterprise(database, params.id, {
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
          }),
        ),
      )
    },

    getEnterprise: async ({ params }) => renderedEnterprise(orNotFound(await findEnterprise(database, params.id))),

    updateEnterprise: async ({ params, body }) => {
      checkTimeZone(body.time_zone)
      const { name, time_zone: timeZone, monthly_budget: monthlyBudget, monthly_tokens: monthlyTokens } = body
      const change = { name, timeZone, monthlyBudget, monthlyTokens }
      return renderedEnterprise(orNotFound(await changeEnterprise(database, params.id, change)))
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
      const { requests, total } = await listJoinRequests(database, params.id, offsetOf(query))
      return pageOf(requests, total, query, renderedRequest)
    },

    approveJoinRequest: async ({ params, caller }) => {
      const { id, requestId } = params
      await database.transaction(async (tx) => {
        const request = orNotFound(await findJoinRequest(tx, id, requestId))
        const decision = { status: 'approved', by: caller.userId, userId: null } as const
        if (!(await decideJoinRequest(tx, id, requestId, decision))) throw decided()
        await addMember(tx, id, { userId: request.userId, role: 'employee', departmentId: null })
      })
      return joinRequest(id, requestId)
    },

    rejectJoinRequest: async ({ params, caller }) => {
      const { id, requestId } = params
      orNotFound(await findJoinRequest(database, id, requestId))
      const decision = { status: 'rejected', by: caller.userId, userId: null } as const
      if (!(await decideJoinRequest(database, id, requestId, decision))) throw decided()
      return joinRequest(id, requestId)
    },

    withdrawJoinRequest: async ({ params, caller }) => {
      const decision = { status: 'cancelled', by: caller.userId, userId: caller.userId } as const
      if (await decideJoinRequest(database, params.id, params.requestId, decision)) return null
      throw new GatewayError('NOT_FOUND')
    },
  }
}

function decided(): GatewayError {
  return new GatewayError('CONFLICT', { message: 'This request has been decided already.' })
}

function checkTimeZone(name: string | undefined): void {
  if (name === undefined) return
  try {
    Intl.DateTimeFormat('en', { timeZone: name })
  } catch (cause) {
    throw new GatewayError('INVALID_FIELD', {
      message: 'time_zone must be an IANA name, like Europe/Berlin.',
      param: '/time_zone',
      cause,
    })
  }
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
    spend: null,
    created_at: enterprise.createdAt.toISOString(),
  }
}

function renderedRequest({ id, userId, userName, phone, message, status, createdAt }: JoinRequest) {
  return { id, user: { id: userId, name: userName, phone }, message, status, created_at: createdAt.toISOString() }
}
