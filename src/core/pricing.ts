import type { ModelPrices, TokenPrices } from './model-facts.ts'
import type { Usage } from './usage.ts'

const MILLION = 1_000_000n

/**
 * What the tokens of an answer cost, in micro-units of the currency: exact up to the end, where a half is rounded up.
 * Counts below zero and beyond the prompt are taken for none.
 */
export function costMicro(usage: Usage, prices: ModelPrices): bigint {
  const prompt = whole(usage.promptTokens)
  const cached = least(whole(usage.cachedTokens), prompt)
  const written = least(whole(usage.cacheWriteTokens), prompt - cached)
  const { input, output, cachedInput, cacheWrite } = pricesFor(prompt, prices)
  const sum =
    (prompt - cached - written) * BigInt(input) +
    cached * BigInt(cachedInput) +
    written * BigInt(cacheWrite) +
    whole(usage.completionTokens) * BigInt(output)
  return (sum + MILLION / 2n) / MILLION
}

function pricesFor(prompt: bigint, prices: ModelPrices): TokenPrices {
  return prices.longPrompts.findLast(({ aboveTokens }) => prompt > BigInt(aboveTokens)) ?? prices
}

function whole(tokens: number): bigint {
  return Number.isFinite(tokens) && tokens > 0 ? BigInt(Math.trunc(tokens)) : 0n
}

function least(a: bigint, b: bigint): bigint {
  return a < b ? a : b
}
