import type { Block } from '../../shared/core/content.ts'
import { familyOf } from './families.ts'
import { TextCounter } from './text-counter.ts'

/** Counts the tokens that a model wrote as its family does: text, visible reasoning, tool calls. */
export function countAnswer(content: readonly Block[], model: string, countTokens: (text: string) => number): number {
  const costs = familyOf(model).answer
  const texts = content.flatMap(textsOf)
  if (texts.length === 0) return 0
  const counter = new TextCounter(
    countTokens,
    texts.reduce((sum, text) => sum + text.length, 0),
  )
  const calls = content.filter(({ type }) => type === 'tool-call').length
  const written = texts.reduce((sum, text) => sum + counter.count(text), 0)
  return Math.round(costs.base + costs.perCall * calls + costs.text * written)
}

function textsOf(block: Block): string[] {
  switch (block.type) {
    case 'text':
    case 'refusal':
    case 'thinking':
      return [block.text]
    case 'tool-call':
      return [block.name, typeof block.input === 'string' ? block.input : JSON.stringify(block.input ?? {})]
    default:
      return []
  }
}
