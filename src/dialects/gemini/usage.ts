import type { JsonObject } from '../../shared/core/json-object.ts'
import type { Usage } from '../../shared/core/usage.ts'
import { boundUsage, isImpossible, tokenCount } from '../common/token-count.ts'

const COUNTS = [
  'promptTokenCount',
  'toolUsePromptTokenCount',
  'candidatesTokenCount',
  'thoughtsTokenCount',
  'cachedContentTokenCount',
] as const

/** Counts of one answer. They are cumulative: each chunk of a stream repeats them, and the last value of each count holds. */
export class GeminiUsage {
  #native: Record<string, unknown> | null = null

  /** Ignores all counts of an object when one of them is impossible. */
  apply(metadata: JsonObject): void {
    if (COUNTS.some((name) => isImpossible(metadata[name]))) return
    this.#native ??= {}
    for (const name in metadata) if (metadata[name] !== null) this.#native[name] = metadata[name]
  }

  /** The counts as the service wrote them. */
  get native(): JsonObject | null {
    return this.#native
  }

  /**
   * The service counts the tokens of its tools beside the prompt, and thoughts beside the answer; both are added here. Null
   * when nothing was counted.
   */
  read(): Usage | null {
    const native = this.#native
    if (native === null) return null
    const prompt = tokenCount(native['promptTokenCount'])
    const answer = tokenCount(native['candidatesTokenCount'])
    const thoughts = tokenCount(native['thoughtsTokenCount'])
    const tools = tokenCount(native['toolUsePromptTokenCount'])
    if (prompt === null && answer === null && thoughts === null && tools === null) return null
    return boundUsage({
      promptTokens: (prompt ?? 0) + (tools ?? 0),
      completionTokens: (answer ?? 0) + (thoughts ?? 0),
      cachedTokens: tokenCount(native['cachedContentTokenCount']) ?? 0,
      cacheWriteTokens: 0,
      reasoningTokens: thoughts ?? 0,
    })
  }
}
