import type { TargetQuirks } from './codec.ts'

/** Micro-units of the currency (1e-6 USD) per million tokens, whole numbers. */
export interface TokenPrices {
  readonly input: number
  readonly output: number
  /** Price of tokens read from the prompt cache. */
  readonly cachedInput: number
  /** Price of tokens written to it. */
  readonly cacheWrite: number
}

export interface ModelPrices extends TokenPrices {
  /** Prices of all tokens of a request whose prompt is longer than `aboveTokens`; the smallest first. */
  readonly longPrompts: ReadonlyArray<TokenPrices & { readonly aboveTokens: number }>
}

/** Facts about a model, or about all models whose ids match a pattern. */
export interface ModelFacts {
  /** The model's id at the provider; a trailing `*` matches any rest. */
  readonly id: string
  /** The known provider that the facts are about; null: any. */
  readonly provider: string | null
  readonly contextTokens: number | null
  /** Null: not known. */
  readonly takesImages: boolean | null
  readonly takesTools: boolean | null
  /** Deviations from the dialect's own service, and the longest answer. */
  readonly target: TargetQuirks
  readonly prices: ModelPrices | null
  /** Other ids by which clients may ask for it. */
  readonly aliases: readonly string[]
  /** Overrides other entries for the same models, whatever their provider. */
  readonly overrides?: true
  /** With `overrides`: the upstream that the facts are about; absent: any. */
  readonly upstream?: string
}

/** An entry, and how exactly it names a model: by id, else by plain name, else by a pattern, the longer the more exact. */
interface Find {
  readonly facts: ModelFacts
  readonly exactness: number
}

const BY_PLAIN_NAME = 1e6

/**
 * Finds the facts of models: exact ids before the longest pattern, entries of the provider before entries of any. The members
 * of an overriding entry come first, unless it names the model less exactly.
 */
export class ModelCatalogue {
  readonly #known: FactsIndex
  readonly #overriding: FactsIndex

  /** Of two entries for the same models the first one counts. */
  constructor(entries: readonly ModelFacts[]) {
    this.#known = new FactsIndex(
      entries.filter(({ overrides }) => overrides === undefined),
      ({ provider }) => provider,
    )
    this.#overriding = new FactsIndex(
      entries.filter(({ overrides }) => overrides === true),
      ({ upstream = null }) => upstream,
    )
  }

  /**
   * The facts of a model by its name at the provider; null when nothing is known.
   * @param upstream the upstream of the deployment; null: none in particular
   */
  factsOf(upstreamModel: string, provider: string | null, upstream: string | null = null): ModelFacts | null {
    const known = this.#known.find(upstreamModel, provider) ?? this.#known.find(upstreamModel, null)
    const own = this.#own(upstreamModel, upstream)
    if (own === null) return known?.facts ?? null
    if (known === null) return own.facts
    return own.exactness >= known.exactness ? completedBy(own.facts, known.facts) : known.facts
  }

  /** Settings for this name come before settings for another id that the upstream serves under this name. */
  #own(upstreamModel: string, upstream: string | null): Find | null {
    const ofName = this.#overriding.find(upstreamModel, null)
    const ofServed = upstream === null ? null : this.#overriding.find(upstreamModel, upstream)
    if (ofName === null || ofServed === null) return ofName ?? ofServed
    return ofName.exactness >= ofServed.exactness ? ofName : ofServed
  }
}

/** Entries by their provider or upstream, and by the models that they name. */
class FactsIndex {
  readonly #exact = new Map<string, ModelFacts>()
  readonly #patterns: readonly ModelFacts[]
  readonly #aboutOf: (entry: ModelFacts) => string | null

  constructor(entries: readonly ModelFacts[], aboutOf: (entry: ModelFacts) => string | null) {
    const patterns: ModelFacts[] = []
    for (const entry of entries) {
      const key = keyOf(aboutOf(entry), entry.id)
      if (entry.id.endsWith('*')) patterns.push(entry)
      else if (!this.#exact.has(key)) this.#exact.set(key, entry)
    }
    this.#patterns = patterns.sort((a, b) => b.id.length - a.id.length)
    this.#aboutOf = aboutOf
  }

  find(upstreamModel: string, about: string | null): Find | null {
    const plain = plainName(upstreamModel)
    const asItIs = this.#exact.get(keyOf(about, upstreamModel))
    if (asItIs !== undefined) return { facts: asItIs, exactness: Infinity }
    const asPlain = plain === upstreamModel ? undefined : this.#exact.get(keyOf(about, plain))
    if (asPlain !== undefined) return { facts: asPlain, exactness: BY_PLAIN_NAME }
    return this.#byPattern(upstreamModel, about) ?? (plain === upstreamModel ? null : this.#byPattern(plain, about))
  }

  #byPattern(name: string, about: string | null): Find | null {
    const fits = ({ id }: ModelFacts): boolean => name.startsWith(id.slice(0, -1))
    const facts = this.#patterns.find((entry) => this.#aboutOf(entry) === about && fits(entry))
    return facts === undefined ? null : { facts, exactness: facts.id.length }
  }
}

/**
 * The facts of the models that a provider serves under a pattern. A provider that takes any name gets only the facts about itself:
 * it may not serve the models of others.
 * @param pattern the provider's own names; a trailing `*` matches any rest
 * @param provider the known provider; null: it is not a known one
 */
export function factsUnder(
  pattern: string,
  provider: string | null,
  facts: readonly ModelFacts[],
): readonly ModelFacts[] {
  if (!pattern.endsWith('*')) return []
  const prefix = pattern.slice(0, -1)
  return facts.filter(
    (fact) =>
      !fact.id.endsWith('*') &&
      fact.id.startsWith(prefix) &&
      (fact.provider === null ? prefix !== '' : fact.provider === provider),
  )
}

/** The entry, with missing members from `base`. */
export function completedBy(entry: ModelFacts, base: ModelFacts): ModelFacts {
  return {
    ...entry,
    contextTokens: entry.contextTokens ?? base.contextTokens,
    takesImages: entry.takesImages ?? base.takesImages,
    takesTools: entry.takesTools ?? base.takesTools,
    target: { ...base.target, ...entry.target },
    prices: entry.prices ?? base.prices,
  }
}

/** The version at the end of a model's name: `-2025-11-13`, `-20251101`, `@20251101`, `-v1:0`. */
const VERSION = /(?:[-@]20\d{2}-?\d{2}-?\d{2})?(?:-v\d+(?::\d+)?)?$/

/** The name without the vendor, region and version that hosts add. */
function plainName(upstreamModel: string): string {
  const last = upstreamModel.slice(upstreamModel.lastIndexOf('/') + 1)
  return last.replace(/^(?:[a-z]{2,6}\.)?anthropic\./, '').replace(VERSION, '')
}

function keyOf(about: string | null, id: string): string {
  return `${about ?? ''}\n${id}`
}

const NOTHING: TargetQuirks = {}

/** The facts and the provider's quirks in one object. The provider's quirks override the facts. */
export function targetQuirks(facts: ModelFacts | null, provider: TargetQuirks = NOTHING): TargetQuirks {
  return facts === null ? provider : { ...facts.target, ...provider }
}
