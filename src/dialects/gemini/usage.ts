import type { JsonObject } from '../../shared/core/json-object.ts'
import type { Usage } from '../../shared/core/usage.ts'
import { boundUsage, isImpossible, tokenCount } from '../token-count.ts'

const COUNTS = [
  'promptTokenCount',
  'toolUsePromptTokenCount',
  'candidatesTokenCount',
  'thoughtsTokenCount',
  'cachedContentTokenCount',
] as const

/** Counts of one answer. They are cumulative: each chunk of a stream has them anew, and the last of each is what holds. */
export class GeminiUsage {
  #native: Record<string, unknown> | null = null

  /** Counts that cannot be are not believed, nor is what stands beside them. */
  apply(metadata: JsonObject): void {
    if (COUNTS.some((name) => isImpossible(metadata[name]))) return
    this.#native ??= {}
    for (const name in metadata) if (metadata[name] !== null) this.#native[name] = metadata[name]
  }

  /** As the service wrote it. */
  get native(): JsonObject | null {
    return this.#native
  }

  /** What tools of the service read is counted beside the prompt, thoughts beside the answer. Null: nothing was counted. */
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
