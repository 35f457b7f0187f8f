import type { Usage } from '../../shared/core/usage.ts'

const MAX_TOKENS = 1_000_000_000
const NUMBER = /^\s*[+-]?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?\s*$/i

/**
 * Reads a provider's count of tokens: a number or a numeric string, floored, between 0 and 1e9. Negative and not finite
 * counts are 0. Null for any other value.
 */
export function tokenCount(value: unknown): number | null {
  if (typeof value !== 'number' && (typeof value !== 'string' || value.length > 40 || !NUMBER.test(value))) return null
  const count = Number(value)
  return Number.isFinite(count) && count > 0 ? Math.min(Math.floor(count), MAX_TOKENS) : 0
}

/** Whether it is a count that no answer can have. The counts beside it cannot be trusted either. */
export function isImpossible(value: unknown): boolean {
  return tokenCount(value) !== null && !(Number(value) >= 0 && Number(value) <= MAX_TOKENS)
}

/** The first value that is a count; null when none is. */
export function firstCount(...values: readonly unknown[]): number | null {
  for (const value of values) {
    const count = tokenCount(value)
    if (count !== null) return count
  }
  return null
}

/** Limits each part to the total that includes it, because prices subtract the parts from it. */
export function boundUsage(usage: Usage): Usage {
  const promptTokens = Math.min(usage.promptTokens, MAX_TOKENS)
  const completionTokens = Math.min(usage.completionTokens, MAX_TOKENS)
  const cachedTokens = Math.min(usage.cachedTokens, promptTokens)
  return {
    promptTokens,
    completionTokens,
    cachedTokens,
    cacheWriteTokens: Math.min(usage.cacheWriteTokens, promptTokens - cachedTokens),
    reasoningTokens: Math.min(usage.reasoningTokens, completionTokens),
  }
}
