import {
  imageBlock,
  nativeBlock,
  textBlock,
  thinkingBlock,
  toolCallBlock,
  toolResultBlock,
} from '../../shared/core/content.ts'
import type { Block, Citation, MediaSource } from '../../shared/core/content.ts'
import type { JsonObject } from '../../shared/core/json-object.ts'
import { readCacheMark } from '../common/cache-mark.ts'
import { booleanOrNull, objects, restOf, textOr } from '../common/fields.ts'
import { asObject, valueAt } from '../common/json-value.ts'

const KNOWN_TEXT = new Set(['type', 'text', 'citations', 'cache_control'])
const KNOWN_IMAGE = new Set(['type', 'source', 'cache_control'])
const KNOWN_DOCUMENT = new Set(['type', 'source', 'title', 'context', 'citations', 'cache_control'])
const KNOWN_SEARCH_RESULT = new Set(['type', 'source', 'title', 'content', 'citations', 'cache_control'])
const KNOWN_CALL = new Set(['type', 'id', 'name', 'input', 'cache_control'])
const KNOWN_RESULT = new Set(['type', 'tool_use_id', 'content', 'is_error', 'cache_control'])
const KNOWN_THINKING = new Set(['type', 'thinking', 'signature'])
const KNOWN_REDACTED = new Set(['type', 'data'])
const KNOWN_REFERENCE = new Set(['type', 'tool_name'])

/** The signature of thinking that no messages service signed. Clients show only thinking with a signature. */
export const FOREIGN_SIGNATURE = 'sluice-unsigned'

/** Reads the content of a message or a result: a string, blocks, or nothing. */
export function readBlocks(content: unknown): readonly Block[] {
  if (typeof content === 'string') return content === '' ? [] : [textBlock(content)]
  return objects(content).map(readBlock)
}

export function readBlock(block: JsonObject): Block {
  const cache = readCacheMark(block['cache_control'])
  switch (block['type']) {
    case 'text':
      return {
        type: 'text',
        text: textOr(block['text'], ''),
        citations: readCitations(block['citations']),
        cache,
        extra: restOf(block, KNOWN_TEXT),
      }
    case 'image':
      return imageBlock(readSource(block['source']), { cache, extra: restOf(block, KNOWN_IMAGE) })
    case 'document':
      return {
        type: 'document',
        source: readSource(block['source']),
        title: textOr(block['title'], null),
        context: textOr(block['context'], null),
        citations: booleanOrNull(valueAt(block, 'citations', 'enabled')),
        cache,
        extra: restOf(block, KNOWN_DOCUMENT),
      }
    case 'search_result':
      return {
        type: 'search-result',
        source: textOr(block['source'], ''),
        title: textOr(block['title'], ''),
        content: readBlocks(block['content']),
        citations: booleanOrNull(valueAt(block, 'citations', 'enabled')),
        cache,
        extra: restOf(block, KNOWN_SEARCH_RESULT),
      }
    case 'tool_use':
      return toolCallBlock({
        id: textOr(block['id'], ''),
        name: textOr(block['name'], ''),
        input: block['input'] ?? {},
        cache,
        extra: restOf(block, KNOWN_CALL),
      })
    case 'tool_result':
      return toolResultBlock({
        callId: textOr(block['tool_use_id'], ''),
        content: readBlocks(block['content']),
        plain: !Array.isArray(block['content']),
        isError: block['is_error'] === true,
        cache,
        extra: restOf(block, KNOWN_RESULT),
      })
    case 'thinking':
      return thinkingBlock(
        textOr(block['thinking'], ''),
        readSignature(block['signature']),
        null,
        restOf(block, KNOWN_THINKING),
      )
    case 'redacted_thinking':
      return {
        type: 'redacted-thinking',
        data: textOr(block['data'], ''),
        format: null,
        extra: restOf(block, KNOWN_REDACTED),
      }
    case 'tool_reference':
      return { type: 'tool-reference', name: textOr(block['tool_name'], ''), extra: restOf(block, KNOWN_REFERENCE) }
    default:
      return nativeBlock(textOr(block['type'], ''), block)
  }
}

export function readSignature(value: unknown): string | null {
  return typeof value === 'string' && value !== '' && value !== FOREIGN_SIGNATURE ? value : null
}

function readSource(value: unknown): MediaSource {
  const source = asObject(value) ?? {}
  switch (source['type']) {
    case 'base64':
      return { kind: 'base64', mediaType: textOr(source['media_type'], ''), data: textOr(source['data'], '') }
    case 'url':
      return { kind: 'url', url: textOr(source['url'], '') }
    case 'file':
      return { kind: 'file', id: textOr(source['file_id'], '') }
    case 'text':
      return { kind: 'text', mediaType: textOr(source['media_type'], 'text/plain'), text: textOr(source['data'], '') }
    case 'content':
      return { kind: 'blocks', blocks: readBlocks(source['content']), plain: typeof source['content'] === 'string' }
    default:
      return { kind: 'native', value: source }
  }
}

function readCitations(value: unknown): readonly Citation[] | null {
  const citations = objects(value)
  return citations.length === 0 ? null : citations.map(readCitation)
}

export function readCitation(citation: JsonObject): Citation {
  return {
    url: textOr(citation['url'], null) ?? textOr(citation['source'], null),
    title: textOr(citation['title'], null) ?? textOr(citation['document_title'], null),
    text: textOr(citation['cited_text'], null),
    start: null,
    end: null,
    native: citation,
  }
}
