/**
 * Tokens of one answer. `promptTokens` includes cached and cache-written tokens, `completionTokens` includes reasoning,
 * whatever the provider's own counting rule is.
 */
export interface Usage {
  promptTokens: number
  completionTokens: number
  cachedTokens: number
  cacheWriteTokens: number
  reasoningTokens: number
}

/** How the tokens of a row were determined. */
export type Settlement = 'exact' | 'after_disconnect' | 'observed' | 'estimated' | 'interrupted' | 'none'

export function emptyUsage(): Usage {
  return { promptTokens: 0, completionTokens: 0, cachedTokens: 0, cacheWriteTokens: 0, reasoningTokens: 0 }
}
