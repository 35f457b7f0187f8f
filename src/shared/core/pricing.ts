import type { ModelPrices, TokenPrices } from './model-facts.ts'
import type { Usage } from './usage.ts'

const MILLION = 1_000_000
/** Below this bound, the sum of the products and its division are exact. */
const EXACT = 2 ** 50

/**
 * The cost of an answer's tokens in micro-units of the currency: exact, and a half is rounded up. Counts below zero are taken
 * as zero, and cache counts beyond the prompt are cut. A cost that a number cannot hold becomes an unsafe integer.
 */
export function costMicro(usage: Usage, prices: ModelPrices): number {
  const prompt = whole(usage.promptTokens)
  const cached = Math.min(whole(usage.cachedTokens), prompt)
  const written = Math.min(whole(usage.cacheWriteTokens), prompt - cached)
  const plain = prompt - cached - written
  const completion = whole(usage.completionTokens)
  const { input, output, cachedInput, cacheWrite } = pricesFor(prompt, prices)
  const sum = plain * input + cached * cachedInput + written * cacheWrite + completion * output
  if (sum < EXACT) {
    const rounded = sum + MILLION / 2
    return (rounded - (rounded % MILLION)) / MILLION
  }
  const exact =
    BigInt(plain) * BigInt(input) +
    BigInt(cached) * BigInt(cachedInput) +
    BigInt(written) * BigInt(cacheWrite) +
    BigInt(completion) * BigInt(output)
  return Number((exact + BigInt(MILLION / 2)) / BigInt(MILLION))
}

function pricesFor(prompt: number, prices: ModelPrices): TokenPrices {
  if (prices.longPrompts.length === 0) return prices
  return prices.longPrompts.findLast(({ aboveTokens }) => prompt > aboveTokens) ?? prices
}

function whole(tokens: number): number {
  return Number.isFinite(tokens) && tokens > 0 ? Math.trunc(tokens) : 0
}
