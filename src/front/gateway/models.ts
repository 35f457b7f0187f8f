import type { MessagesModelList, ModelList } from '../../shared/endpoints/models.ts'
import type { Clock } from '../../shared/runtime/clock.ts'
import { GatewayError } from '../../shared/core/errors.ts'
import type { Principal } from '../../shared/core/principal.ts'
import type { RequestContext } from '../../shared/core/request-context.ts'
import { createUnknownPath } from '../../shared/core/unknown-path.ts'
import type { Snapshot } from '../../shared/core/snapshot.ts'
import { answerHeaders } from './answer-headers.ts'
import { messagesModel, modelEntry } from './model-entry.ts'
import { ModelIndex } from '../../shared/core/model-index.ts'
import type { ListedModel } from '../../shared/core/model-index.ts'

/** The path of a single model; the rest of the path is its id. */
const MODEL_PATH = '/v1/models/'
/** The number of models on a page of the messages protocol. */
const DEFAULT_LIMIT = 20
const MAX_LIMIT = 1000

const unknownPath = createUnknownPath(['/v1/models'])

/** Answers the model list and single models: those that the caller's key may use, in the form of the caller's protocol. */
export class ModelDirectory {
  readonly #clock: Clock
  readonly #versionHeader: string
  #models = new ModelIndex({ models: [], providers: [] })

  /** @param vendor the header `<vendor>-version` identifies clients of the messages protocol */
  constructor(clock: Clock, vendor: string) {
    this.#clock = clock
    this.#versionHeader = `${vendor}-version`
  }

  update(snapshot: Snapshot): void {
    this.#models = new ModelIndex(snapshot)
  }

  /** Throws INVALID_FIELD for an invalid `limit`, `after_id` or `before_id`. */
  readonly list = (ctx: RequestContext): void => {
    const models = this.#models.all.filter(({ id }) => mayUse(ctx.principal, id))
    this.#answer(ctx, this.#speaksMessages(ctx) ? pageOf(models, ctx.exchange.request.query) : wholeList(models))
  }

  /** Throws MODEL_NOT_FOUND, also for a model that this key may not use. */
  readonly get = (ctx: RequestContext): void => {
    const { path } = ctx.exchange.request
    const id = decoded(path.slice(path.indexOf(MODEL_PATH) + MODEL_PATH.length))
    if (id === '') throw unknownPath(path)
    const model = this.#models.find(id)
    ctx.model = id
    if (model === undefined || !mayUse(ctx.principal, id)) {
      throw new GatewayError('MODEL_NOT_FOUND', { message: `The model ${JSON.stringify(id)} does not exist here.` })
    }
    this.#answer(ctx, this.#speaksMessages(ctx) ? messagesModel(model) : modelEntry(model))
  }

  #speaksMessages({ exchange }: RequestContext): boolean {
    return exchange.request.headers[this.#versionHeader] !== undefined
  }

  #answer(ctx: RequestContext, value: object): void {
    ctx.outcome.answered()
    ctx.finishWith(() => {
      const headers = answerHeaders(ctx, 'application/json', this.#clock.monotonicUs())
      ctx.exchange.response.send(200, headers, JSON.stringify(value))
    })
  }
}

function wholeList(models: readonly ListedModel[]): ModelList {
  return { object: 'list', data: models.map(modelEntry), has_more: false, ...endsOf(models) }
}

/** Up to `limit` models after `after_id`, or before `before_id`. */
function pageOf(models: readonly ListedModel[], query: string): MessagesModelList {
  const parameters = new URLSearchParams(query)
  const limit = limitOf(parameters.get('limit'))
  const after = placeOf(models, parameters, 'after_id')
  const before = placeOf(models, parameters, 'before_id')
  const rest = models.slice(after === null ? 0 : after + 1, before ?? models.length)
  const page = before === null ? rest.slice(0, limit) : rest.slice(-limit)
  return { data: page.map(messagesModel), has_more: page.length < rest.length, ...endsOf(page) }
}

function endsOf(models: readonly ListedModel[]): Pick<ModelList, 'first_id' | 'last_id'> {
  return { first_id: models[0]?.id ?? null, last_id: models.at(-1)?.id ?? null }
}

function limitOf(text: string | null): number {
  const limit = text === null ? DEFAULT_LIMIT : Number(text)
  if (Number.isInteger(limit) && limit >= 1 && limit <= MAX_LIMIT) return limit
  throw new GatewayError('INVALID_FIELD', { param: '/limit', message: `limit must be between 1 and ${MAX_LIMIT}.` })
}

function placeOf(
  models: readonly ListedModel[],
  parameters: URLSearchParams,
  name: 'after_id' | 'before_id',
): number | null {
  const id = parameters.get(name)
  if (id === null || id === '') return null
  const place = models.findIndex((model) => model.id === id)
  if (place >= 0) return place
  throw new GatewayError('INVALID_FIELD', { param: `/${name}`, message: `${name} must be the id of a listed model.` })
}

function mayUse(principal: Principal | null, id: string): boolean {
  return principal !== null && (principal.models === null || principal.models.has(id))
}

/** Decodes `text`, or returns it unchanged when the encoding is invalid: no model has such an id. */
function decoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}
