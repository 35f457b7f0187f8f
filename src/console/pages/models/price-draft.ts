import { amountOf, microOf } from '../../format/money.ts'
import { countOf } from '../../format/numbers.ts'
import type { NewPrices, Prices } from './model-calls.ts'

export const KINDS = ['input', 'output', 'cached_input', 'cache_write'] as const
export type Kind = (typeof KINDS)[number]

/** The prices of a tier as they are typed, in the currency for a million tokens. Empty is not known; 0 is free. */
export type TierDraft = Readonly<Record<Kind, string>>

export interface LongTierDraft extends TierDraft {
  /** The length of the prompt above which the tier holds. */
  readonly above: string
}

export interface PriceDraft {
  readonly base: TierDraft
  /** The smallest first. */
  readonly long: readonly LongTierDraft[]
}

export const EMPTY_TIER: TierDraft = { input: '', output: '', cached_input: '', cache_write: '' }

export function priceDraftOf(prices: Prices | null): PriceDraft {
  if (prices === null) return { base: EMPTY_TIER, long: [] }
  return {
    base: tierOf(prices),
    long: prices.long_prompts.map((tier) => ({ ...tierOf(tier), above: String(tier.above_tokens) })),
  }
}

/** The gateway shows the price of the input where none is set for the cache: such a field is empty, so that it follows the input. */
function tierOf({ input, output, cached_input: cached, cache_write: written }: Pick<Prices, Kind>): TierDraft {
  return {
    input: amountOf(input),
    output: amountOf(output),
    cached_input: cached === input ? '' : amountOf(cached),
    cache_write: written === input ? '' : amountOf(written),
  }
}

/** Whether it is a price, or empty where it may be. */
export function isPrice(kind: Kind, text: string): boolean {
  return text.trim() === '' ? kind === 'cached_input' || kind === 'cache_write' : microOf(text) !== null
}

/** Null: something is missing or wrong. */
export function pricesOf({ base, long }: PriceDraft): NewPrices | null {
  const prices = tierPrices(base)
  if (prices === null) return null
  const tiers = long.map((tier) => {
    const above = countOf(tier.above)
    const tierOrNull = tierPrices(tier)
    return above === null || tierOrNull === null ? null : { above_tokens: above, ...tierOrNull }
  })
  const known = tiers.filter((tier) => tier !== null)
  if (known.length < tiers.length) return null
  return {
    ...prices,
    ...(known.length === 0 ? {} : { long_prompts: known.toSorted((a, b) => a.above_tokens - b.above_tokens) }),
  }
}

function tierPrices(tier: TierDraft): Omit<NewPrices, 'long_prompts'> | null {
  const [input, output] = [microOf(tier.input), microOf(tier.output)]
  if (input === null || output === null || !KINDS.every((kind) => isPrice(kind, tier[kind]))) return null
  const [cached, written] = [microOf(tier.cached_input), microOf(tier.cache_write)]
  return {
    input,
    output,
    ...(cached === null ? {} : { cached_input: cached }),
    ...(written === null ? {} : { cache_write: written }),
  }
}
