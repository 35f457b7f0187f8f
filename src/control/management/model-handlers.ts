import type { CATALOGUE } from '../../shared/api/operations/catalogue.ts'
import { resolveStoredModel } from '../../shared/config/stored.ts'
import type { SetModel, StoredModel } from '../../shared/config/stored.ts'
import type { Book, Stored, UpstreamBook } from '../../shared/config/upstream-book.ts'
import { GatewayError } from '../../shared/core/errors.ts'
import type { JsonObject } from '../../shared/core/json-object.ts'
import { deleteModel, deleteOtherModels, listStored, lockStored, putModels } from '../store/upstreams.ts'
import type { Handlers } from './call.ts'
import { validateAsConfiguration, checkStorable, pointerTo } from './validate-as-configuration.ts'
import { orNotFound } from './or-not-found.ts'
import { ModelViews } from './model-views.ts'
import type { ModelGroupOperation } from './model-group-handlers.ts'
import { offsetOf, pageOf } from './pages.ts'
import type { UpstreamParts } from './upstream-handlers.ts'

const MAX_MODELS = 10_000
const MAX_ID_LENGTH = 256

type NewModel = Pick<StoredModel, 'id' | 'entry'>
type Place = ReadonlyArray<string | number>

/** Prices, deployments and aliases of models. These settings override the configuration and the catalogue. */
export function modelHandlers({
  database,
  book,
  seal,
}: UpstreamParts): Handlers<Exclude<keyof typeof CATALOGUE, ModelGroupOperation>> {
  const views = async (): Promise<ModelViews> => new ModelViews(book, book.merge(await listStored(database, seal)))

  return {
    adminListModels: async ({ query }) => {
      const all = await views()
      const { prices = null } = query
      const named = all.ids(query.search)
      const isKnown = (id: string): boolean => (all.find(id)?.prices ?? null) !== null
      const ids = prices === null ? named : named.filter((id) => isKnown(id) === (prices === 'known'))
      const { offset, limit } = offsetOf(query)
      return pageOf(ids.slice(offset, offset + limit), ids.length, query, (id) => orNotFound(all.find(id)))
    },

    adminReplaceModels: async ({ body, audit }) => {
      checkStorable(body)
      const models = body.models.map(({ id, ...entry }) => ({ id, entry }))
      return database.transaction(async (tx) => {
        await lockStored(tx)
        const stored = await listStored(tx, seal)
        const ids = models.map(({ id }) => id)
        refuseTwice(ids)
        checkModels(book, { ...stored, models: models.map(asStored) }, models, (index) => ['models', index])
        await deleteOtherModels(tx, ids)
        await putModels(tx, models)
        audit({ before: entriesOf(stored.models), after: entriesOf(models) })
        const kept = new Set(ids)
        return { set: ids.length, removed: stored.models.filter(({ id }) => !kept.has(id)).length }
      })
    },

    adminGetModel: async ({ params }) => orNotFound((await views()).find(params.id)),

    adminUpdateModel: async ({ params, body }) => {
      const { id } = params
      checkStorable({ id, body })
      if (id.length > MAX_ID_LENGTH) {
        throw new GatewayError('INVALID_FIELD', { message: `An id has at most ${MAX_ID_LENGTH} characters.` })
      }
      return database.transaction(async (tx) => {
        await lockStored(tx)
        const stored = await listStored(tx, seal)
        const others = stored.models.filter((model) => model.id !== id)
        if (others.length >= MAX_MODELS) {
          throw new GatewayError('CONFLICT', {
            message: `${MAX_MODELS} models have settings already, which is the limit.`,
          })
        }
        const before = stored.models.find((model) => model.id === id)?.entry ?? {}
        const model = { id, entry: changedBy(before, body) }
        checkModels(book, { ...stored, models: [...others, asStored(model)] }, [model], () => [])
        await putModels(tx, [model])
        return orNotFound(new ModelViews(book, book.merge(await listStored(tx, seal))).find(id))
      })
    },

    adminDeleteModel: async ({ params }) => {
      if (!(await deleteModel(database, params.id))) throw new GatewayError('NOT_FOUND')
      return null
    },
  }
}

/** A missing field keeps its value; null removes it. */
function changedBy(entry: JsonObject, change: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries({ ...entry, ...change }).filter(([, value]) => value !== null))
}

function entriesOf(models: readonly NewModel[]): object {
  return Object.fromEntries(models.map(({ id, entry }) => [id, entry]))
}

function asStored(model: NewModel): StoredModel {
  const now = new Date()
  return { ...model, createdAt: now, updatedAt: now }
}

function refuseTwice(ids: readonly string[]): void {
  const index = ids.findIndex((id, place) => ids.indexOf(id) < place)
  if (index < 0) return
  const param = pointerTo(['models', index, 'id'])
  throw new GatewayError('INVALID_FIELD', { message: 'A model is listed twice.', param })
}

/**
 * Throws INVALID_FIELD for settings that the configuration file could not contain and for unknown upstreams, and CONFLICT for
 * names that another model has.
 *
 * @param stored the stored entries after the change
 * @param placeOf the path of a model in the request
 */
function checkModels(
  book: UpstreamBook,
  stored: Stored,
  models: readonly NewModel[],
  placeOf: (index: number) => Place,
): void {
  const set = models.map((model, index) => validateAsConfiguration(() => resolveStoredModel(model), placeOf(index)))
  const merged = book.merge(stored)
  const upstreams = new Set([...book.configured, ...book.simulated, ...stored.upstreams].map(({ id }) => id))
  for (const [index, model] of set.entries()) {
    const place = placeOf(index)
    for (const [position, { providerId }] of (model.deployments ?? []).entries()) {
      if (upstreams.has(providerId)) continue
      const param = pointerTo([...place, 'deployments', position, 'upstream'])
      throw new GatewayError('INVALID_FIELD', { message: 'There is no upstream with this id.', param })
    }
    checkNames(model, merged, place)
  }
}

function checkNames({ facts, aliases }: SetModel, { parts }: Book, place: Place): void {
  const { id } = facts
  const aliasOf = parts.aliases.get(id)
  if (aliasOf !== undefined) {
    const message = `This id is an alias of ${JSON.stringify(aliasOf)}: change that model, or give this id its own deployments.`
    throw new GatewayError('CONFLICT', { message })
  }
  const served = new Set(parts.models.map((model) => model.id))
  for (const [index, alias] of (aliases ?? []).entries()) {
    const of = parts.aliases.get(alias)
    if (of === id || !served.has(alias)) continue
    const message = of === undefined ? 'This alias is the id of a model.' : `This is an alias of ${JSON.stringify(of)}.`
    throw new GatewayError('CONFLICT', { message, param: pointerTo([...place, 'aliases', index]) })
  }
}
