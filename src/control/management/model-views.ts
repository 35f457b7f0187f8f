import type { Static } from 'typebox'
import type { CatalogueModel } from '../../shared/api/operations/catalogue.ts'
import { shippedCatalogue } from '../../shared/config/catalogue.ts'
import { ServedModels } from '../../shared/config/snapshot-parts.ts'
import type { Book, UpstreamBook } from '../../shared/config/upstream-book.ts'
import type { StoredModel } from '../../shared/config/stored.ts'
import { ModelCatalogue, targetQuirks } from '../../shared/core/model-facts.ts'
import type { ModelPrices, TokenPrices } from '../../shared/core/model-facts.ts'
import type { ModelTarget, Provider } from '../../shared/core/snapshot.ts'

/** Millionths of the currency per million tokens. */
const PRACTICALLY_FREE = 1_000

type Shown = Static<typeof CatalogueModel>
type Source = Shown['source']

/** The models of a book as admins see them, by id: models that are served, and models that have settings. */
export class ModelViews {
  readonly #book: UpstreamBook
  readonly #merged: Book
  readonly #stored: ReadonlyMap<string, StoredModel>
  readonly #ids: readonly string[]
  readonly #models: ServedModels
  readonly #providers: ReadonlyMap<string, Provider>
  readonly #facts: ModelCatalogue
  readonly #set: ModelCatalogue
  readonly #shipped = new ModelCatalogue(shippedCatalogue())

  constructor(book: UpstreamBook, merged: Book) {
    const { parts, models } = merged
    this.#book = book
    this.#merged = merged
    this.#stored = new Map(models.map(({ stored }) => [stored.id, stored]))
    this.#ids = parts.models.map(({ id }) => id)
    this.#models = new ServedModels(parts.models)
    this.#providers = new Map(parts.providers.map((provider) => [provider.id, provider]))
    this.#facts = new ModelCatalogue(parts.facts)
    this.#set = new ModelCatalogue(parts.facts.filter(({ overrides }) => overrides === true))
  }

  /** Returns the sorted ids that contain the text. */
  ids(search = ''): string[] {
    const all = new Set([...this.#ids, ...this.#stored.keys()])
    return [...all].filter((id) => id.includes(search)).sort()
  }

  /** Null when no upstream serves the model and it has no settings. */
  find(id: string): Shown | null {
    return this.#models.has(id) || this.#stored.has(id) ? this.#shown(id) : null
  }

  #shown(id: string): Shown {
    const { aliases } = this.#merged.parts
    const aliasOf = aliases.get(id) ?? null
    const stored = this.#stored.get(id) ?? null
    const model = this.#models.find(id)
    const [first = null] = model?.targets ?? []
    return {
      id,
      source: stored === null ? this.#sourceOf(first) : 'stored',
      alias_of: aliasOf,
      aliases: aliasOf === null ? [...aliases].flatMap(([alias, of]) => (of === id ? [alias] : [])) : [],
      owned_by: model?.ownedBy ?? null,
      ...this.#factsAt(first ?? { providerId: '', upstreamModel: id }),
      deployments: (model?.targets ?? []).map((target) => ({
        upstream: target.providerId,
        upstream_model: target.upstreamModel,
        weight: target.weight,
        priority: target.priority ?? 0,
        prices: this.#factsAt(target).prices,
      })),
      settings: stored === null ? null : { ...stored.entry },
      problem: this.#merged.models.find((one) => one.stored.id === id)?.problem ?? null,
      warnings: priceWarnings(stored?.entry['prices']),
      created_at: stored?.createdAt.toISOString() ?? null,
      updated_at: stored?.updatedAt.toISOString() ?? null,
    }
  }

  #factsAt({
    providerId,
    upstreamModel,
  }: Pick<ModelTarget, 'providerId' | 'upstreamModel'>): Pick<
    Shown,
    'context_tokens' | 'max_output_tokens' | 'images' | 'tools' | 'prices' | 'prices_source'
  > {
    const provider = this.#providers.get(providerId)
    const place: Parameters<ModelCatalogue['factsOf']> = [upstreamModel, provider?.profile ?? null, providerId]
    const facts = this.#facts.factsOf(...place)
    const prices = renderedPrices(facts?.prices ?? null)
    return {
      context_tokens: facts?.contextTokens ?? null,
      max_output_tokens: targetQuirks(facts, provider?.target).maxOutputTokens ?? null,
      images: facts?.takesImages ?? null,
      tools: facts?.takesTools ?? null,
      prices,
      prices_source: prices === null ? null : this.#whoSays(prices, place),
    }
  }

  #whoSays(prices: object, place: Parameters<ModelCatalogue['factsOf']>): Source {
    const isOf = (catalogue: ModelCatalogue): boolean =>
      JSON.stringify(renderedPrices(catalogue.factsOf(...place)?.prices ?? null)) === JSON.stringify(prices)
    if (isOf(this.#set)) return 'stored'
    return isOf(this.#shipped) ? 'built-in' : 'file'
  }

  #sourceOf(target: ModelTarget | null): Source {
    const isThis = ({ id }: { readonly id: string }): boolean => id === target?.providerId
    if (this.#book.configured.some(isThis)) return 'file'
    return this.#book.simulated.some(isThis) ? 'built-in' : 'stored'
  }
}

/** A price below a tenth of a cent for a million tokens was probably meant in dollars, or in cents. */
function priceWarnings(prices: unknown): string[] {
  if (prices === null || typeof prices !== 'object') return []
  return Object.entries(prices).flatMap(([name, price]) => {
    if (typeof price !== 'number' || price <= 0 || price >= PRACTICALLY_FREE) return []
    const dollars = (price / 1_000_000).toFixed(6)
    return `prices.${name} is ${price} millionths per million tokens, which is ${dollars} and practically free; 1000000 is 1.00`
  })
}

function renderedPrices(prices: ModelPrices | null): Shown['prices'] {
  if (prices === null) return null
  const long = prices.longPrompts.map((tier) => ({ above_tokens: tier.aboveTokens, ...tokenPrices(tier) }))
  return { ...tokenPrices(prices), long_prompts: long }
}

function tokenPrices({ input, output, cachedInput, cacheWrite }: TokenPrices): {
  input: number
  output: number
  cached_input: number
  cache_write: number
} {
  return { input, output, cached_input: cachedInput, cache_write: cacheWrite }
}
