import type { JsonObject } from '../../shared/core/json-object.ts'
import type { Usage } from '../../shared/core/usage.ts'

/** Splits the prompt tokens: tokens read from the cache or written to it do not count as input. */
export function writeUsage(usage: Usage): JsonObject {
  const { promptTokens, completionTokens, cachedTokens, cacheWriteTokens, reasoningTokens } = usage
  return {
    input_tokens: Math.max(0, promptTokens - cachedTokens - cacheWriteTokens),
    cache_creation_input_tokens: cacheWriteTokens,
    cache_read_input_tokens: cachedTokens,
    output_tokens: completionTokens,
    ...(reasoningTokens > 0 ? { output_tokens_details: { thinking_tokens: reasoningTokens } } : null),
  }
}
