import type { Static } from 'typebox'
import type { CATALOGUE, ModelGroup as ShownModelGroup } from '../../shared/api/operations/catalogue.ts'
import { KnownNames } from '../../shared/config/known-names.ts'
import { problemOf } from '../../shared/config/model-groups.ts'
import type { Book, Stored } from '../../shared/config/upstream-book.ts'
import { GatewayError } from '../../shared/core/errors.ts'
import { findModelBudgetOf } from '../store/model-budgets.ts'
import { deleteModelGroup, listStored, lockStored, putModelGroup } from '../store/upstreams.ts'
import type { Handlers } from './call.ts'
import { orNotFound } from './or-not-found.ts'
import { offsetOf, pageOf } from './pages.ts'
import type { UpstreamParts } from './upstream-handlers.ts'
import { checkStorable } from './validate-as-configuration.ts'

const MAX_GROUPS = 1_000
const ID = /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/

export type ModelGroupOperation = Extract<keyof typeof CATALOGUE, `${string}ModelGroup${string}`>

/** Named sets of models, for budgets. Groups of the configuration are shown here, and changed only in the configuration. */
export function modelGroupHandlers({ database, book, seal }: UpstreamParts): Handlers<ModelGroupOperation> {
  const shown = async (): Promise<Array<Static<typeof ShownModelGroup>>> => {
    const stored = await listStored(database, seal)
    return book.merge(stored).names.groups.map((group) => rendered(group, stored))
  }
  const find = async (id: string): Promise<Static<typeof ShownModelGroup>> =>
    orNotFound((await shown()).find((group) => group.id === id) ?? null)
  const refuseOfFile = (id: string): void => {
    if (!book.groups.some((group) => group.id === id)) return
    throw new GatewayError('CONFLICT', { message: 'The configuration has this group: change it there (model_groups).' })
  }

  return {
    adminListModelGroups: async ({ query }) => {
      const all = await shown()
      const { offset, limit } = offsetOf(query)
      return pageOf(all.slice(offset, offset + limit), all.length, query, (group) => group)
    },

    adminGetModelGroup: ({ params }) => find(params.id),

    adminPutModelGroup: async ({ params, body }) => {
      const { id } = params
      checkStorable({ id, body })
      if (!ID.test(id)) {
        throw new GatewayError('INVALID_FIELD', {
          message:
            'The id of a group has up to 64 letters, digits, ".", "_" or "-", and begins with a letter or digit.',
        })
      }
      refuseOfFile(id)
      await database.transaction(async (tx) => {
        await lockStored(tx)
        const stored = await listStored(tx, seal)
        checkMembers(book.merge(stored), id, body.models)
        if ((stored.groups ?? []).filter((group) => group.id !== id).length >= MAX_GROUPS) {
          throw new GatewayError('CONFLICT', { message: `There are ${MAX_GROUPS} groups already, which is the limit.` })
        }
        await putModelGroup(tx, { id, models: body.models })
      })
      return find(id)
    },

    adminDeleteModelGroup: async ({ params }) => {
      const { id } = params
      refuseOfFile(id)
      await database.transaction(async (tx) => {
        await lockStored(tx)
        const user = await findModelBudgetOf(tx, id)
        if (user !== null) {
          throw new GatewayError('CONFLICT', {
            message: `A budget of ${user.owner} ${user.id} is for this group: change its model_budgets first.`,
          })
        }
        if (!(await deleteModelGroup(tx, id))) throw new GatewayError('NOT_FOUND')
      })
      return null
    },

    listModelGroups: async () => ({ data: (await shown()).map(({ id, models }) => ({ id, models })) }),
  }
}

/** Throws CONFLICT for the id of a model, and INVALID_FIELD for a name that no model has. */
function checkMembers(merged: Book, id: string, models: readonly string[]): void {
  const known = new KnownNames(merged)
  if (known.isModel(id)) {
    throw new GatewayError('CONFLICT', { message: 'A model has this id: give the group another one.' })
  }
  for (const [index, name] of models.entries()) {
    const problem = problemOf(name, models, index) ?? (known.hasModel(name) ? null : 'there is no such model')
    if (problem === null) continue
    throw new GatewayError('INVALID_FIELD', {
      message: `${JSON.stringify(name)}: ${problem}.`,
      param: `/models/${index}`,
    })
  }
}

function rendered({ id, models }: { id: string; models: readonly string[] }, { groups = [] }: Stored) {
  const stored = groups.find((group) => group.id === id && group.models === models)
  return {
    id,
    models: [...models],
    source: stored === undefined ? ('file' as const) : ('stored' as const),
    created_at: stored?.createdAt.toISOString() ?? null,
    updated_at: stored?.updatedAt.toISOString() ?? null,
  }
}
