import { imageBlock, nativeBlock, refusalBlock, textBlock } from '../../shared/core/content.ts'
import type { Block, MediaSource } from '../../shared/core/content.ts'
import type { JsonObject } from '../../shared/core/json-object.ts'
import { sourceOfUrl } from '../common/data-url.ts'
import { objects, textOr } from '../common/fields.ts'
import { asObject } from '../common/json-value.ts'

/** Reads the content of a message or the output of a tool: a string or parts. */
export function readContent(content: unknown): readonly Block[] {
  if (typeof content === 'string') return content === '' ? [] : [textBlock(content)]
  return objects(content).map(readPart)
}

function readPart(part: JsonObject): Block {
  const type = textOr(part['type'], '')
  switch (type) {
    case 'input_text':
    case 'output_text':
    case 'text':
      return textBlock(textOr(part['text'], ''))
    case 'refusal':
      return refusalBlock(textOr(part['refusal'], ''))
    case 'input_image': {
      const source = sourceOf(part['image_url'], part['file_id'])
      return source === null ? nativeBlock(type, part) : imageBlock(source, { detail: detailOf(part['detail']) })
    }
    case 'input_file':
      return readFile(part) ?? nativeBlock(type, part)
    case 'input_audio': {
      const audio = asObject(part['input_audio'])
      const data = audio?.['data']
      if (typeof data !== 'string') return nativeBlock(type, part)
      return { type: 'audio', data, format: textOr(audio?.['format'], ''), extra: null }
    }
    default:
      return nativeBlock(type, part)
  }
}

function readFile(part: JsonObject): Block | null {
  const data = part['file_data']
  const source = typeof data === 'string' ? dataSource(data) : sourceOf(part['file_url'], part['file_id'])
  if (source === null) return null
  const title = textOr(part['filename'], null)
  return { type: 'document', source, title, context: null, citations: null, cache: null, extra: null }
}

/** Data without the head of a data URL is taken for bare base64. */
function dataSource(data: string): MediaSource {
  const source = sourceOfUrl(data)
  return source.kind === 'url' ? { kind: 'base64', mediaType: '', data } : source
}

function sourceOf(url: unknown, fileId: unknown): MediaSource | null {
  if (typeof url === 'string') return sourceOfUrl(url)
  return typeof fileId === 'string' ? { kind: 'file', id: fileId } : null
}

/** `auto` says nothing. Other dialects do not know `original`; it becomes `high`. */
function detailOf(detail: unknown): string | null {
  const text = textOr(detail, 'auto')
  if (text === 'auto') return null
  return text === 'original' ? 'high' : text
}
