import { ModelCatalogue } from './model-facts.ts'
import type { ModelPrices } from './model-facts.ts'
import { costMicro } from './pricing.ts'
import type { Snapshot } from './snapshot.ts'
import type { Usage } from './usage.ts'

/** Bounds the cache: a client chooses the model name at the upstream when a pattern serves the model. */
const MAX_REMEMBERED = 10_000

/**
 * The prices of models at their providers. A request gets the prices of the snapshot at its settlement, a second after its end.
 * A record that waited in the journal gets the prices of the configuration that settles it.
 */
export class PriceBook {
  #catalogue = new ModelCatalogue([])
  #profiles: ReadonlyMap<string, string | null> = new Map()
  readonly #remembered = new Map<string, ModelPrices | null>()

  update({ facts = [], providers }: Pick<Snapshot, 'facts' | 'providers'>): void {
    this.#catalogue = new ModelCatalogue(facts)
    this.#profiles = new Map(providers.map(({ id, profile = null }) => [id, profile]))
    this.#remembered.clear()
  }

  /**
   * The cost of an upstream's answer in micro-units, 0 when no price is known. Usage does not include failed attempts: only the
   * attempt that served is charged.
   */
  costOf(providerId: string | null, servedModel: string | null, usage: Usage): number {
    const prices = providerId === null || servedModel === null ? null : this.pricesOf(providerId, servedModel)
    return prices === null ? 0 : costMicro(usage, prices)
  }

  /** The highest cost of an answer in micro-units, whether its prompt is cached, written to the cache, or neither. */
  mostOf(providerId: string, model: string, tokens: Pick<Usage, 'promptTokens' | 'completionTokens'>): number {
    const prices = this.pricesOf(providerId, model)
    if (prices === null) return 0
    const usage = { ...tokens, cachedTokens: 0, cacheWriteTokens: 0, reasoningTokens: 0 }
    const [plain, written, cached] = [
      costMicro(usage, prices),
      costMicro({ ...usage, cacheWriteTokens: tokens.promptTokens }, prices),
      costMicro({ ...usage, cachedTokens: tokens.promptTokens }, prices),
    ]
    return Math.max(plain, written, cached)
  }

  /** Null: no price is known, and the model is free. */
  pricesOf(providerId: string, upstreamModel: string): ModelPrices | null {
    const key = `${providerId}\n${upstreamModel}`
    let prices = this.#remembered.get(key)
    if (prices === undefined) {
      prices =
        this.#catalogue.factsOf(upstreamModel, this.#profiles.get(providerId) ?? null, providerId)?.prices ?? null
      if (this.#remembered.size >= MAX_REMEMBERED) this.#remembered.clear()
      this.#remembered.set(key, prices)
    }
    return prices
  }
}
