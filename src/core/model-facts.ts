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
}

/** Finds the facts of models: exact ids before the longest pattern, those of the provider before those of any. */
export class ModelCatalogue {
  readonly #exact = new Map<string, ModelFacts>()
  readonly #patterns: readonly ModelFacts[]

  /** Of two entries for the same models the first one counts. */
  constructor(entries: readonly ModelFacts[]) {
    const patterns: ModelFacts[] = []
    for (const entry of entries) {
      if (entry.id.endsWith('*')) patterns.push(entry)
      else if (!this.#exact.has(keyOf(entry.provider, entry.id)))
        this.#exact.set(keyOf(entry.provider, entry.id), entry)
    }
    this.#patterns = patterns.sort((a, b) => b.id.length - a.id.length)
  }

  /** Of a model by the name that the provider has for it; null when nothing is known. */
  factsOf(upstreamModel: string, provider: string | null): ModelFacts | null {
    const name = plainName(upstreamModel)
    const names = name === upstreamModel ? [name] : [upstreamModel, name]
    return (provider === null ? null : this.#find(names, provider)) ?? this.#find(names, null)
  }

  #find(names: readonly string[], provider: string | null): ModelFacts | null {
    for (const name of names) {
      const exact = this.#exact.get(keyOf(provider, name))
      if (exact !== undefined) return exact
    }
    for (const name of names) {
      const fits = this.#patterns.find((entry) => entry.provider === provider && name.startsWith(entry.id.slice(0, -1)))
      if (fits !== undefined) return fits
    }
    return null
  }
}

/** Of a snapshot of a model: `-2025-11-13`, `-20251101`, `@20251101`, `-v1:0`. */
const VERSION = /(?:[-@]20\d{2}-?\d{2}-?\d{2})?(?:-v\d+(?::\d+)?)?$/

/** Without the maker's name, the region and the version that hosts put around it. */
function plainName(upstreamModel: string): string {
  const last = upstreamModel.slice(upstreamModel.lastIndexOf('/') + 1)
  return last.replace(/^(?:[a-z]{2,6}\.)?anthropic\./, '').replace(VERSION, '')
}

function keyOf(provider: string | null, id: string): string {
  return `${provider ?? ''}\n${id}`
}

const NOTHING: TargetQuirks = {}

/** The facts and the provider's quirks in one object; the provider's word is the last. */
export function targetQuirks(facts: ModelFacts | null, provider: TargetQuirks = NOTHING): TargetQuirks {
  return facts === null ? provider : { ...facts.target, ...provider }
}
