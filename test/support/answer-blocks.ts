import type { Block } from '../../src/shared/core/content.ts'
import type { ReadBlock } from './stream-reader.ts'

/** Converts the blocks of a buffered answer, and those of `readStream`, to one form; inputs of calls become values. */
export function comparableBlocks(blocks: readonly (Block | ReadBlock)[]): unknown[] {
  return blocks.map((block) => ('signature' in block && 'citations' in block ? ofStream(block) : ofAnswer(block)))
}

function ofStream({ type, text, signature, id, name, citations }: ReadBlock): unknown {
  switch (type) {
    case 'text':
      return { type, text, citations }
    case 'thinking':
      return { type, text, signature }
    case 'redacted':
      return { type, text }
    case 'tool':
      return { type, id, name, input: valueOf(text) }
    case 'native':
      return { type, name }
  }
}

function ofAnswer(block: Block): unknown {
  switch (block.type) {
    case 'text':
      return { type: 'text', text: block.text, citations: block.citations ?? [] }
    case 'thinking':
      return { type: 'thinking', text: block.text, signature: block.signature ?? '' }
    case 'redacted-thinking':
      return { type: 'redacted', text: block.data }
    case 'tool-call':
      return { type: 'tool', id: block.id, name: block.name, input: valueOf(block.input) }
    case 'native':
      return { type: 'native', name: block.kind }
    default:
      return block
  }
}

function valueOf(input: unknown): unknown {
  return typeof input === 'string' ? (JSON.parse(input === '' ? '{}' : input) as unknown) : input
}
