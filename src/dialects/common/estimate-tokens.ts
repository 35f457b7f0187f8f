import type { Block } from '../../shared/core/content.ts'
import type { Usage } from '../../shared/core/usage.ts'
import { inputText } from './tool-input.ts'

const CHARACTERS_PER_TOKEN = 4

/** Estimates the usage of an answer for which the upstream counted nothing. */
export function estimatedUsage(promptTokens: number, textLength: number): Usage {
  const completionTokens = Math.ceil(textLength / CHARACTERS_PER_TOKEN)
  return { promptTokens, completionTokens, cachedTokens: 0, cacheWriteTokens: 0, reasoningTokens: 0 }
}

/** Length of text, reasoning and tool input in UTF-16 units, as streams count it. */
export function textLength(content: readonly Block[]): number {
  let length = 0
  for (const block of content) {
    if (block.type === 'text' || block.type === 'thinking' || block.type === 'refusal') length += block.text.length
    else if (block.type === 'tool-call') length += inputText(block.input).length
  }
  return length
}
