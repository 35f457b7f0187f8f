import type { LogDetail, ModelPrices } from './log-calls.ts'

const PER_TOKENS = 1_000_000

export interface CostLine {
  readonly kind: 'input' | 'cached_input' | 'output'
  readonly tokens: number
  /** Micro-units per million tokens; null: not known. */
  readonly price: number | null
  /** Micro-units; null: not known. */
  readonly cost: number | null
}

/** Works the cost of a request out: tokens by kind, each with its price. Cached tokens are a part of those of the prompt. */
export function costLines(
  { prompt_tokens: prompt, cached_tokens: cached, completion_tokens: completion }: LogDetail,
  prices: ModelPrices | null,
): readonly CostLine[] {
  const tier = prices?.long_prompts.filter(({ above_tokens: above }) => prompt > above).at(-1) ?? prices
  const line = (kind: CostLine['kind'], tokens: number): CostLine => {
    const price = tier?.[kind] ?? null
    return { kind, tokens, price, cost: price === null ? null : (tokens * price) / PER_TOKENS }
  }
  return [
    line('input', Math.max(0, prompt - cached)),
    ...(cached > 0 ? [line('cached_input', cached)] : []),
    line('output', completion),
  ]
}
