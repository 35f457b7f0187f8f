import type { Block, MediaSource, ToolCallBlock } from '../../shared/core/content.ts'
import type { JsonObject } from '../../shared/core/json-object.ts'
import { writeCacheMark } from '../common/cache-mark.ts'
import { dataUrl } from '../common/data-url.ts'
import { put, putExtra } from '../common/fields.ts'
import { inputText } from '../common/tool-input.ts'

/** Writes a part of a message's content. Blocks that this dialect cannot carry were adapted before. */
export function writePart(block: Block): JsonObject {
  switch (block.type) {
    case 'text': {
      const written: Record<string, unknown> = { type: 'text', text: block.text }
      put(written, 'cache_control', writeCacheMark(block.cache))
      putExtra(written, block.extra)
      return written
    }
    case 'refusal': {
      const written: Record<string, unknown> = { type: 'refusal', refusal: block.text }
      putExtra(written, block.extra)
      return written
    }
    case 'image': {
      const image: Record<string, unknown> = { url: writeUrl(block.source) }
      put(image, 'detail', block.detail)
      const written: Record<string, unknown> = { type: 'image_url', image_url: image }
      put(written, 'cache_control', writeCacheMark(block.cache))
      putExtra(written, block.extra)
      return written
    }
    case 'document': {
      const file: Record<string, unknown> = {}
      put(file, 'filename', block.title)
      if (block.source.kind === 'file') file['file_id'] = block.source.id
      else file['file_data'] = writeUrl(block.source)
      const written: Record<string, unknown> = { type: 'file', file }
      put(written, 'cache_control', writeCacheMark(block.cache))
      putExtra(written, block.extra)
      return written
    }
    case 'audio': {
      const written: Record<string, unknown> = {
        type: 'input_audio',
        input_audio: { data: block.data, format: block.format },
      }
      putExtra(written, block.extra)
      return written
    }
    case 'native':
      return block.value
    case 'thinking':
      return block.extra ?? { type: 'thinking', thinking: [{ type: 'text', text: block.text }] }
    default:
      return { type: 'text', text: '' }
  }
}

/** Writes a call as messages hold it. */
export function writeCall(call: ToolCallBlock): JsonObject {
  const written: Record<string, unknown> = { id: call.id }
  if (call.kind === 'custom') {
    written['type'] = 'custom'
    written['custom'] = { name: call.name, input: inputText(call.input) }
  } else {
    written['type'] = 'function'
    written['function'] = { name: call.name, arguments: inputText(call.input) }
  }
  putExtra(written, call.extra)
  return written
}

/** Writes reasoning under the name, or in the details, that it came with. */
export function writeReasoning(into: Record<string, unknown>, content: readonly Block[]): void {
  const details: JsonObject[] = []
  for (const block of content) {
    if (block.type !== 'thinking' && block.type !== 'redacted-thinking') continue
    if (block.format === 'part') continue
    if (block.extra !== null) details.push(block.extra)
    else if (block.type === 'thinking') {
      const field = block.format === 'reasoning' ? 'reasoning' : 'reasoning_content'
      into[field] = typeof into[field] === 'string' ? into[field] + block.text : block.text
    }
  }
  if (details.length > 0) into['reasoning_details'] = details
}

function writeUrl(source: MediaSource): string {
  switch (source.kind) {
    case 'url':
      return source.url
    case 'base64':
      return source.mediaType === '' ? source.data : dataUrl(source.mediaType, source.data)
    default:
      return ''
  }
}
