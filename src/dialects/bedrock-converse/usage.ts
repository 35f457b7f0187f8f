import type { Usage } from '../../shared/core/usage.ts'
import { asObject } from '../common/json-value.ts'
import { boundUsage, firstCount, isImpossible, tokenCount } from '../common/token-count.ts'

/** The service counts fresh, cache-read and cache-written prompt tokens separately. */
export function readUsage(value: unknown): Usage | null {
  const usage = asObject(value)
  if (usage === null) return null
  const input = tokenCount(usage['inputTokens'])
  const output = tokenCount(usage['outputTokens'])
  if ((input === null && output === null) || Object.values(usage).some(isImpossible)) return null
  const cachedTokens = firstCount(usage['cacheReadInputTokens'], usage['cacheReadInputTokenCount']) ?? 0
  const cacheWriteTokens = firstCount(usage['cacheWriteInputTokens'], usage['cacheWriteInputTokenCount']) ?? 0
  return boundUsage({
    promptTokens: (input ?? 0) + cachedTokens + cacheWriteTokens,
    completionTokens: output ?? 0,
    cachedTokens,
    cacheWriteTokens,
    reasoningTokens: 0,
  })
}
