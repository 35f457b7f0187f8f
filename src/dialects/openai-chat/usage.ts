import type { Usage } from '../../shared/core/usage.ts'
import { asObject, valueAt } from '../common/json-value.ts'
import { boundUsage, firstCount, isImpossible, tokenCount } from '../common/token-count.ts'

const COUNTS = ['prompt_tokens', 'input_tokens', 'completion_tokens', 'output_tokens'] as const

/** Reads the `usage` object of an answer or a chunk; null when it has no count, or an impossible one. */
export function readChatUsage(value: unknown): Usage | null {
  const usage = asObject(value)
  if (usage === null || COUNTS.some((name) => isImpossible(usage[name]))) return null
  const prompt = firstCount(usage['prompt_tokens'], usage['input_tokens'])
  const completion = firstCount(usage['completion_tokens'], usage['output_tokens'])
  const total = tokenCount(usage['total_tokens'])
  if (prompt === null && completion === null && total === null) return null

  const promptTokens = prompt ?? 0
  const reasoningTokens =
    firstCount(valueAt(usage, 'completion_tokens_details', 'reasoning_tokens'), usage['reasoning_tokens']) ?? 0
  // Some services (xAI) do not count reasoning as completion, which the total shows. Here the completion includes it.
  const reasoningBeside = reasoningTokens > 0 && total === promptTokens + (completion ?? 0) + reasoningTokens
  return boundUsage({
    promptTokens,
    completionTokens: (completion ?? 0) + (reasoningBeside ? reasoningTokens : 0),
    cachedTokens: Math.max(
      tokenCount(valueAt(usage, 'prompt_tokens_details', 'cached_tokens')) ?? 0,
      tokenCount(usage['prompt_cache_hit_tokens']) ?? 0,
      tokenCount(usage['cached_tokens']) ?? 0,
    ),
    cacheWriteTokens: tokenCount(valueAt(usage, 'prompt_tokens_details', 'cache_write_tokens')) ?? 0,
    reasoningTokens,
  })
}

/** Usage of a whole answer or chunk, from any place where services put it: `usage`, `x_groq.usage`, `choices[].usage`. */
export function usageOfChat(value: unknown): Usage | null {
  return (
    readChatUsage(valueAt(value, 'usage')) ?? readChatUsage(valueAt(value, 'x_groq', 'usage')) ?? usageOfChoices(value)
  )
}

function usageOfChoices(value: unknown): Usage | null {
  const choices = valueAt(value, 'choices')
  if (!Array.isArray(choices)) return null
  for (const choice of choices) {
    const usage = readChatUsage(valueAt(choice, 'usage'))
    if (usage !== null) return usage
  }
  return null
}
