import type { Usage } from '../../shared/core/usage.ts'
import { asObject, valueAt } from '../common/json-value.ts'
import { boundUsage, firstCount, isImpossible } from '../common/token-count.ts'

/** The tokens that went through the model. The service bills fewer. Prompt tokens include the cached ones. */
export function readUsage(value: unknown): Usage | null {
  const usage = asObject(value)
  if (usage === null) return null
  const counts = asObject(usage['tokens']) ?? asObject(usage['billed_units'])
  const input = firstCount(counts?.['input_tokens'])
  const output = firstCount(counts?.['output_tokens'])
  if (counts === null || (input === null && output === null) || Object.values(counts).some(isImpossible)) return null
  return boundUsage({
    promptTokens: input ?? 0,
    completionTokens: output ?? 0,
    cachedTokens: firstCount(usage['cached_tokens']) ?? 0,
    cacheWriteTokens: 0,
    reasoningTokens: firstCount(valueAt(counts, 'reasoning_tokens')) ?? 0,
  })
}
