import { randomUUID } from 'node:crypto'
import type { Static } from 'typebox'
import type { Department as ShownDepartment, DEPARTMENTS } from '../../shared/api/operations/departments.ts'
import { GatewayError } from '../../shared/core/errors.ts'
import type { Database } from '../store/database.ts'
import {
  changeDepartment,
  deleteDepartment,
  findDepartment,
  insertDepartment,
  listDepartments,
  lockedAncestry,
} from '../store/departments.ts'
import type { Department } from '../store/departments.ts'
import type { Handlers } from './call.ts'
import { renderedModelBudgets } from './model-budgets.ts'
import type { ModelBudgets } from './model-budgets.ts'
import { orNotFound } from './or-not-found.ts'
import { mapConstraintErrors } from './constraint-errors.ts'

const NO_PARENT = { message: 'There is no such department.', param: '/parent_id' }

/** The tree of departments of an enterprise. */
export function departmentHandlers(database: Database, modelBudgets: ModelBudgets): Handlers<keyof typeof DEPARTMENTS> {
  return {
    listDepartments: async ({ params }) => ({ data: (await listDepartments(database, params.id)).map(rendered) }),

    createDepartment: async ({ params, body }) => {
      const id = `dep_${randomUUID()}`
      const department = {
        id,
        name: body.name,
        parentId: body.parent_id ?? null,
        monthlyBudget: body.monthly_budget ?? null,
        monthlyTokens: body.monthly_tokens ?? null,
        modelBudgets: (await modelBudgets.read(body)) ?? null,
        rpm: body.rpm ?? null,
        tpm: body.tpm ?? null,
        maxConcurrency: body.max_concurrency ?? null,
      }
      await mapConstraintErrors({ reference: NO_PARENT }, insertDepartment(database, params.id, department))
      return rendered(orNotFound(await findDepartment(database, params.id, id)))
    },

    getDepartment: async ({ params }) =>
      rendered(orNotFound(await findDepartment(database, params.id, params.departmentId))),

    updateDepartment: async ({ params, body }) => {
      const { id, departmentId } = params
      const { name, parent_id: parentId, monthly_budget: monthlyBudget, monthly_tokens: monthlyTokens } = body
      const { rpm, tpm, max_concurrency: maxConcurrency } = body
      const budgets = await modelBudgets.read(body)
      await database.transaction(async (tx) => {
        if (typeof parentId === 'string' && (await lockedAncestry(tx, id, parentId)).has(departmentId)) {
          throw new GatewayError('INVALID_FIELD', {
            message: 'A department cannot be below itself.',
            param: '/parent_id',
          })
        }
        const limits = { rpm, tpm, maxConcurrency }
        const change = { name, parentId, monthlyBudget, monthlyTokens, modelBudgets: budgets, ...limits }
        orNotFound(
          (await mapConstraintErrors({ reference: NO_PARENT }, changeDepartment(tx, id, departmentId, change))) || null,
        )
      })
      await modelBudgets.countEarlier({ owner: 'department', id: departmentId, enterpriseId: id }, budgets)
      return rendered(orNotFound(await findDepartment(database, id, departmentId)))
    },

    deleteDepartment: async ({ params }) => {
      const inUse = { message: 'The department still has members, keys or departments.' }
      const outcome = await mapConstraintErrors(
        { reference: inUse },
        deleteDepartment(database, params.id, params.departmentId),
      )
      if (outcome === 'missing') throw new GatewayError('NOT_FOUND')
      if (outcome === 'used') throw new GatewayError('CONFLICT', inUse)
      return null
    },
  }
}

function rendered(department: Department): Static<typeof ShownDepartment> {
  return {
    id: department.id,
    name: department.name,
    parent_id: department.parentId,
    monthly_budget: department.monthlyBudget,
    monthly_tokens: department.monthlyTokens,
    model_budgets: renderedModelBudgets(department.modelBudgets),
    rpm: department.rpm,
    tpm: department.tpm,
    max_concurrency: department.maxConcurrency,
    spend: null,
    members: department.members,
    created_at: department.createdAt.toISOString(),
  }
}
