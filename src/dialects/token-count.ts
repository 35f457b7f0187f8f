import type { Usage } from '../shared/core/usage.ts'

const MAX_TOKENS = 1_000_000_000
const NUMBER = /^\s*[+-]?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?\s*$/i

/**
 * A provider's count of tokens: a number or a numeric string, floored, between 0 and 1e9; negative and not finite is 0.
 * Null when it is neither.
 */
export function tokenCount(value: unknown): number | null {
  if (typeof value !== 'number' && (typeof value !== 'string' || value.length > 40 || !NUMBER.test(value))) return null
  const count = Number(value)
  return Number.isFinite(count) && count > 0 ? Math.min(Math.floor(count), MAX_TOKENS) : 0
}

/** A count that no answer can have: what it stands among is not to be believed. */
export function isImpossible(value: unknown): boolean {
  return tokenCount(value) !== null && !(Number(value) >= 0 && Number(value) <= MAX_TOKENS)
}

/** The first that is a count; null when none is. */
export function firstCount(...values: readonly unknown[]): number | null {
  for (const value of values) {
    const count = tokenCount(value)
    if (count !== null) return count
  }
  return null
}

/** Keeps the parts within what includes them, whatever a provider says: prices subtract them. */
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
