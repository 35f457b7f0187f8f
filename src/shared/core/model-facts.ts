import type { TargetQuirks } from './codec.ts'

/** Micro-units of the currency (1e-6 USD) per million tokens, whole numbers. */
export interface TokenPrices {
  readonly input: number
  readonly output: number
  /** Of tokens read from the prompt cache. */
  readonly cachedInput: number
  /** Of tokens written to it. */
  readonly cacheWrite: number
}

export interface ModelPrices extends TokenPrices {
  /** What all tokens of a request cost whose prompt is longer than so many tokens; the shortest first. */
  readonly longPrompts: ReadonlyArray<TokenPrices & { readonly aboveTokens: number }>
}

/** What is known of a model, or of all whose ids fit a pattern. */
export interface ModelFacts {
  /** The model's id where it is served; a trailing `*` stands for any rest. */
  readonly id: string
  /** The only known provider that this is about; null: any. */
  readonly provider: string | null
  readonly contextTokens: number | null
  /** Null: not known. */
  readonly takesImages: boolean | null
  readonly takesTools: boolean | null
  /** What it takes otherwise than the dialect's own service, its longest answer among them. */
  readonly target: TargetQuirks
  readonly prices: ModelPrices | null
  /** Other ids that clients may ask for it by. */
  readonly aliases: readonly string[]
  /** Stands over what others say of the same models, whatever provider they say it of. */
  readonly overrides?: true
  /** The only upstream that this is about, of those that override; absent: any. */
  readonly upstream?: string
}

/** An entry, and how exactly it names a model: by its id, by its plain name, or the longer its pattern the better. */
interface Find {
  readonly facts: ModelFacts
  readonly exactness: number
}

const BY_PLAIN_NAME = 1e6

/**
 * Finds the facts of models: exact ids before the longest pattern, those of the provider before those of any. What overrides
 * them counts first in what it says, unless it names the model less exactly.
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
   * Of a model by the name that the provider has for it; null when nothing is known.
   * @param upstream whose deployment it is; null: of no one in particular
   */
  factsOf(upstreamModel: string, provider: string | null, upstream: string | null = null): ModelFacts | null {
    const known = this.#known.find(upstreamModel, provider) ?? this.#known.find(upstreamModel, null)
    const own = this.#own(upstreamModel, upstream)
    if (own === null) return known?.facts ?? null
    if (known === null) return own.facts
    return own.exactness >= known.exactness ? completedBy(own.facts, known.facts) : known.facts
  }

  /** What was set for the name itself counts before what was set for another name that is served by the same model. */
  #own(upstreamModel: string, upstream: string | null): Find | null {
    const ofName = this.#overriding.find(upstreamModel, null)
    const ofServed = upstream === null ? null : this.#overriding.find(upstreamModel, upstream)
    if (ofName === null || ofServed === null) return ofName ?? ofServed
    return ofName.exactness >= ofServed.exactness ? ofName : ofServed
  }
}

/** Entries by what they are about and by the models they name. */
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
 * What is known of the models that a provider serves under a pattern. A provider that serves any name is not known to serve the
 * models of others.
 * @param pattern the provider's own names; a trailing `*` stands for any rest
 * @param provider the known provider that it is; null: none that is known
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

/** The entry, with what it leaves out as `base` has it. */
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

/** Of a snapshot of a model: `-2025-11-13`, `-20251101`, `@20251101`, `-v1:0`. */
const VERSION = /(?:[-@]20\d{2}-?\d{2}-?\d{2})?(?:-v\d+(?::\d+)?)?$/

/** Without the maker's name, the region and the version that hosts put around it. */
function plainName(upstreamModel: string): string {
  const last = upstreamModel.slice(upstreamModel.lastIndexOf('/') + 1)
  return last.replace(/^(?:[a-z]{2,6}\.)?anthropic\./, '').replace(VERSION, '')
}

function keyOf(about: string | null, id: string): string {
  return `${about ?? ''}\n${id}`
}

const NOTHING: TargetQuirks = {}

/** The facts and the provider's quirks in one object; the provider's word is the last. */
export function targetQuirks(facts: ModelFacts | null, provider: TargetQuirks = NOTHING): TargetQuirks {
  return facts === null ? provider : { ...facts.target, ...provider }
}
