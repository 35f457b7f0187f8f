import type { Usage } from '../../shared/core/usage.ts'
import { asObject, valueAt } from '../common/json-value.ts'
import { boundUsage, firstCount, isImpossible, tokenCount } from '../common/token-count.ts'

const COUNTS = ['input_tokens', 'output_tokens', 'cache_read_input_tokens', 'cache_creation_input_tokens'] as const

/**
 * Usage of one message. The dialect counts fresh, cache-written and cache-read prompt tokens separately. In a stream, each
 * `usage` object overwrites the counters that it names.
 */
export class MessageUsage {
  #seen = false
  #believable = true
  #input = 0
  #cacheWrite = 0
  #cacheRead = 0
  #output = 0
  #thinking = 0

  /** Applies a `usage` object. Ignores any other value. */
  apply(value: unknown): void {
    const usage = asObject(value)
    if (usage === null) return
    const input = tokenCount(usage['input_tokens'])
    const output = tokenCount(usage['output_tokens'])
    if (input !== null || output !== null) this.#seen = true
    if (COUNTS.some((name) => isImpossible(usage[name]))) this.#believable = false
    this.#input = input ?? this.#input
    this.#output = output ?? this.#output
    this.#cacheRead = tokenCount(usage['cache_read_input_tokens']) ?? this.#cacheRead
    this.#cacheWrite = firstCount(usage['cache_creation_input_tokens'], writtenByTtl(usage)) ?? this.#cacheWrite
    this.#thinking = tokenCount(valueAt(usage, 'output_tokens_details', 'thinking_tokens')) ?? this.#thinking
  }

  /** Null when nothing was counted, or when a count is impossible. */
  read(): Usage | null {
    if (!this.#seen || !this.#believable) return null
    return boundUsage({
      promptTokens: this.#input + this.#cacheWrite + this.#cacheRead,
      completionTokens: this.#output,
      cachedTokens: this.#cacheRead,
      cacheWriteTokens: this.#cacheWrite,
      reasoningTokens: this.#thinking,
    })
  }
}

function writtenByTtl(usage: unknown): number | null {
  const short = tokenCount(valueAt(usage, 'cache_creation', 'ephemeral_5m_input_tokens'))
  const long = tokenCount(valueAt(usage, 'cache_creation', 'ephemeral_1h_input_tokens'))
  return short === null && long === null ? null : (short ?? 0) + (long ?? 0)
}
