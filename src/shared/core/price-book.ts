import { ModelCatalogue } from './model-facts.ts'
import type { ModelPrices } from './model-facts.ts'
import { costMicro } from './pricing.ts'
import type { Snapshot } from './snapshot.ts'
import type { Usage } from './usage.ts'

/** Model names at upstreams may be of the client's making, where a model is served by a pattern. */
const MAX_REMEMBERED = 10_000

/**
 * What models cost where they are served. A request costs what the snapshot says at the time at which it is settled, which
 * is a second after its end; what waited in the journal meanwhile gets the prices of the configuration that settles it.
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
   * Micro-units that the answer of an upstream costs, 0 where no price is known. What failed attempts used is in no usage: only
   * the one that served is paid for.
   */
  costOf(providerId: string | null, servedModel: string | null, usage: Usage): number {
    const prices = providerId === null || servedModel === null ? null : this.pricesOf(providerId, servedModel)
    return prices === null ? 0 : costMicro(usage, prices)
  }

  /** Micro-units that an answer costs at most, whatever of its prompt is in a cache or goes there. */
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

  /** Null: nothing is known, which is free. */
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
