import { ModelIndex } from '../../shared/core/model-index.ts'
import type { ListedModel } from '../../shared/core/model-index.ts'
import type { ModelPrices, TokenPrices } from '../../shared/core/model-facts.ts'
import type { Snapshot } from '../../shared/core/snapshot.ts'
import type { Json, ObjectSchema } from './tool-source.ts'

const MICRO = { type: ['integer', 'null'], description: 'In millionths of the currency per million tokens.' }

export const MODEL_LIST_SCHEMA: ObjectSchema = {
  type: 'object',
  properties: {
    currency: { type: 'string' },
    data: {
      type: 'array',
      items: {
        type: 'object',
        properties: {
          id: { type: 'string' },
          owned_by: { type: 'string' },
          context_window: { type: ['integer', 'null'] },
          max_output_tokens: { type: ['integer', 'null'] },
          images: { type: ['boolean', 'null'] },
          tools: { type: ['boolean', 'null'] },
          prices: {
            type: ['object', 'null'],
            description: 'Null: no price is known.',
            properties: { input: MICRO, output: MICRO, cached_input: MICRO, cache_write: MICRO },
          },
        },
        required: ['id', 'owned_by', 'context_window', 'max_output_tokens', 'images', 'tools', 'prices'],
      },
    },
  },
  required: ['currency', 'data'],
}

/** The models that clients may ask for, with limits and prices, from the snapshot that fronts have. */
export class ModelList {
  readonly #snapshot: () => Snapshot | null
  readonly #currency: string
  #of: Snapshot | null = null
  #index = new ModelIndex({ models: [], providers: [] })

  constructor(snapshot: () => Snapshot | null, currency: string) {
    this.#snapshot = snapshot
    this.#currency = currency
  }

  /** The list prices of a model; null: none are known. */
  pricesOf(model: string): ModelPrices | null {
    return this.#current().find(model)?.facts?.prices ?? null
  }

  /** @param allowed null: all models */
  list(allowed: readonly string[] | null, search = ''): Json {
    const shown = this.#current().all.filter(
      ({ id }) => (allowed === null || allowed.includes(id)) && id.toLowerCase().includes(search.toLowerCase()),
    )
    return { currency: this.#currency, data: shown.map(rendered) }
  }

  #current(): ModelIndex {
    const current = this.#snapshot()
    if (current !== null && current !== this.#of) {
      this.#of = current
      this.#index = new ModelIndex(current)
    }
    return this.#index
  }

  /** The prices of all models that have one. */
  prices(allowed: readonly string[] | null): Json {
    const { data, currency } = this.list(allowed) as {
      data: ReadonlyArray<{ id: string; prices: object | null }>
      currency: string
    }
    return {
      currency,
      unit: 'millionths of the currency per million tokens',
      data: data.flatMap(({ id, prices }) => (prices === null ? [] : [{ id, ...prices }])),
    }
  }
}

function rendered({ id, ownedBy, facts }: ListedModel): Json {
  const prices = facts?.prices ?? null
  return {
    id,
    owned_by: ownedBy,
    context_window: facts?.contextTokens ?? null,
    max_output_tokens: facts?.target.maxOutputTokens ?? null,
    images: facts?.takesImages ?? null,
    tools: facts?.takesTools ?? null,
    prices: prices === null ? null : renderedPrices(prices),
  }
}

function renderedPrices({ longPrompts, ...prices }: ModelPrices): Json {
  const long = longPrompts.map(({ aboveTokens, ...more }) => ({ above_tokens: aboveTokens, ...tokenPrices(more) }))
  return { ...tokenPrices(prices), ...(long.length === 0 ? {} : { long_prompts: long }) }
}

function tokenPrices({ input, output, cachedInput, cacheWrite }: TokenPrices): Json {
  return { input, output, cached_input: cachedInput, cache_write: cacheWrite }
}
