import type { Block, Citation, MediaSource } from '../../shared/core/content.ts'
import type { JsonObject } from '../../shared/core/json-object.ts'
import { writeCacheMark } from '../common/cache-mark.ts'
import { put, putExtra } from '../common/fields.ts'
import { inputObject } from '../common/tool-input.ts'
import { FOREIGN_SIGNATURE } from './parse-block.ts'

/** Writes the blocks of a message. @param plain write a single text as a string */
export function writeContent(content: readonly Block[], plain: boolean): string | JsonObject[] {
  const first = content[0]
  if (plain && content.length === 0) return ''
  if (plain && content.length === 1 && first?.type === 'text' && first.cache === null) return first.text
  return content.map(writeBlock)
}

/** Writes one block. Blocks that this dialect cannot carry were adapted before. */
export function writeBlock(block: Block): JsonObject {
  switch (block.type) {
    case 'text': {
      const written: Record<string, unknown> = { type: 'text', text: block.text }
      if (block.citations !== null) written['citations'] = block.citations.map(nativeOf)
      return finish(written, block)
    }
    case 'refusal':
      return { type: 'text', text: block.text }
    case 'image':
      return finish({ type: 'image', source: writeSource(block.source) }, block)
    case 'document': {
      const written: Record<string, unknown> = { type: 'document', source: writeSource(block.source) }
      put(written, 'title', block.title)
      put(written, 'context', block.context)
      if (block.citations !== null) written['citations'] = { enabled: block.citations }
      return finish(written, block)
    }
    case 'search-result': {
      const { source, title } = block
      const content = block.content.map(writeBlock)
      const written: Record<string, unknown> = { type: 'search_result', source, title, content }
      if (block.citations !== null) written['citations'] = { enabled: block.citations }
      return finish(written, block)
    }
    case 'tool-call':
      return finish({ type: 'tool_use', id: block.id, name: block.name, input: inputObject(block.input) }, block)
    case 'tool-result': {
      const written: Record<string, unknown> = { type: 'tool_result', tool_use_id: block.callId }
      const content = writeContent(block.content, block.plain)
      if (content.length > 0) written['content'] = content
      if (block.isError) written['is_error'] = true
      return finish(written, block)
    }
    case 'thinking': {
      const signature = block.signature ?? FOREIGN_SIGNATURE
      return finish({ type: 'thinking', thinking: block.text, signature }, block)
    }
    case 'redacted-thinking':
      return finish({ type: 'redacted_thinking', data: block.data }, block)
    case 'tool-reference':
      return finish({ type: 'tool_reference', tool_name: block.name }, block)
    case 'native':
      return block.value
    case 'audio':
      return { type: 'text', text: '' }
  }
}

function nativeOf(citation: Citation): JsonObject {
  return citation.native
}

function finish(written: Record<string, unknown>, block: Block): JsonObject {
  if ('cache' in block && block.cache !== null) written['cache_control'] = writeCacheMark(block.cache)
  if ('extra' in block) putExtra(written, block.extra)
  return written
}

function writeSource(source: MediaSource): JsonObject {
  switch (source.kind) {
    case 'base64':
      return { type: 'base64', media_type: source.mediaType, data: source.data }
    case 'url':
      return { type: 'url', url: source.url }
    case 'file':
      return { type: 'file', file_id: source.id }
    case 'text':
      return { type: 'text', media_type: source.mediaType, data: source.text }
    case 'blocks':
      return { type: 'content', content: writeContent(source.blocks, source.plain) }
    case 'native':
      return source.value
  }
}
