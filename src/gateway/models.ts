import { GatewayError } from '../core/errors.ts'
import type { Principal } from '../core/principal.ts'
import type { RequestContext } from '../core/request-context.ts'
import type { Model, Snapshot } from '../core/snapshot.ts'
import type { ModelEntry, ModelList } from '../api/models.ts'
import type { Clock } from '../core/clock.ts'
import { createUnknownPath } from '../core/unknown-path.ts'
import { answerHeaders } from './answer-headers.ts'

/** Where single models are told of; the rest of the path is the id. */
export const MODEL_PATH = '/v1/models/'

const unknownPath = createUnknownPath(['/v1/models'])

/** Answers the model list and single models: what the caller's key may use. */
export class ModelDirectory {
  readonly #clock: Clock
  #models: readonly Model[] = []

  constructor(clock: Clock) {
    this.#clock = clock
  }

  update(snapshot: Snapshot): void {
    this.#models = [...snapshot.models].sort((a, b) => (a.id < b.id ? -1 : 1))
  }

  readonly list = (ctx: RequestContext): void => {
    const data = this.#models.filter((model) => mayUse(ctx.principal, model.id)).map(entry)
    this.#answer(ctx, {
      object: 'list',
      data,
      has_more: false,
      first_id: data[0]?.id ?? null,
      last_id: data[data.length - 1]?.id ?? null,
    })
  }

  /** Throws MODEL_NOT_FOUND, also for models that exist but are not this key's. */
  readonly get = (ctx: RequestContext): void => {
    const { path } = ctx.exchange.request
    const id = decoded(path.slice(path.indexOf(MODEL_PATH) + MODEL_PATH.length))
    if (id === '') throw unknownPath(path)
    const model = this.#find(id)
    ctx.model = id
    if (model === undefined || !mayUse(ctx.principal, id)) {
      throw new GatewayError('MODEL_NOT_FOUND', { message: `The model ${JSON.stringify(id)} does not exist here.` })
    }
    this.#answer(ctx, entry({ ...model, id }))
  }

  /** The model of this id, else the longest pattern (`gpt-*`) that it fits. */
  #find(id: string): Model | undefined {
    const exact = this.#models.find((model) => model.id === id)
    if (exact !== undefined) return exact
    const fitting = this.#models.filter((model) => model.id.endsWith('*') && id.startsWith(model.id.slice(0, -1)))
    return fitting.sort((a, b) => b.id.length - a.id.length)[0]
  }

  #answer(ctx: RequestContext, value: ModelEntry | ModelList): void {
    ctx.status = 200
    ctx.finishWith(() => {
      const headers = answerHeaders(ctx, 'application/json', this.#clock.monotonicUs())
      ctx.exchange.response.send(200, headers, JSON.stringify(value))
    })
  }
}

function mayUse(principal: Principal | null, id: string): boolean {
  return principal !== null && (principal.models === null || principal.models.has(id))
}

/** As it stands when it is no valid encoding: no model has such an id then. */
function decoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

/** With the members of both protocols' entries. */
function entry(model: Model): ModelEntry {
  return {
    id: model.id,
    object: 'model',
    created: model.created,
    owned_by: model.ownedBy,
    type: 'model',
    display_name: model.id,
    created_at: new Date(model.created * 1000).toISOString(),
  }
}
