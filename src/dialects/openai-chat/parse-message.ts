import {
  imageBlock,
  nativeBlock,
  refusalBlock,
  textBlock,
  thinkingBlock,
  toolCallBlock,
  toolResultBlock,
} from '../../shared/core/content.ts'
import type { Block } from '../../shared/core/content.ts'
import type { Message, Role } from '../../shared/core/conversation.ts'
import type { JsonObject } from '../../shared/core/json-object.ts'
import { readCacheMark } from '../common/cache-mark.ts'
import { sourceOfUrl } from '../common/data-url.ts'
import { arrayOf, objects, restOf, textOr } from '../common/fields.ts'
import { asObject, valueAt } from '../common/json-value.ts'
import { readReasoning, withSecondReasoning } from './reasoning.ts'

const KNOWN_MESSAGE = new Set([
  'role',
  'content',
  'name',
  'refusal',
  'tool_calls',
  'function_call',
  'tool_call_id',
  'reasoning_content',
  'reasoning',
  'reasoning_details',
])
const KNOWN_TEXT = new Set(['type', 'text', 'cache_control'])
const KNOWN_IMAGE = new Set(['type', 'image_url', 'cache_control'])
const KNOWN_FILE_PART = new Set(['type', 'file', 'cache_control'])
const KNOWN_AUDIO = new Set(['type', 'input_audio'])
const KNOWN_REFUSAL = new Set(['type', 'refusal'])
const KNOWN_CALL = new Set(['id', 'type', 'function', 'custom'])

/** Reads the messages of one request, in order. Calls by `function_call`, which preceded tools, have no ids and get some. */
export class MessageParser {
  readonly #legacyIds = new Map<string, string>()
  #legacyCalls = 0

  parse(message: JsonObject): Message {
    const role = message['role']
    const plain = !Array.isArray(message['content'])
    const name = textOr(message['name'], null)
    if (role === 'tool' || role === 'function') {
      const callId = role === 'tool' ? textOr(message['tool_call_id'], '') : (this.#legacyIds.get(name ?? '') ?? '')
      const content: Block[] = []
      pushContent(content, message['content'])
      const kind = role === 'tool' ? 'function' : 'legacy'
      const result = toolResultBlock({ kind, callId, name, content, plain })
      return { role: 'tool', content: [result], plain, name: null, extra: restOf(message, KNOWN_MESSAGE) }
    }
    const content: Block[] = []
    if (role === 'assistant') readReasoning(message, content)
    pushContent(content, message['content'])
    if (role === 'assistant') {
      if (typeof message['refusal'] === 'string') content.push(refusalBlock(message['refusal']))
      for (const call of objects(message['tool_calls'])) content.push(readToolCall(call))
      const legacy = asObject(message['function_call'])
      if (legacy !== null) content.push(this.#legacyCall(legacy))
    }
    const rest = restOf(message, KNOWN_MESSAGE)
    return { role: roleOf(role), content, plain, name, extra: withSecondReasoning(rest, message) }
  }

  #legacyCall(call: JsonObject): Block {
    const name = textOr(call['name'], '')
    const id = `call_legacy_${this.#legacyCalls++}`
    this.#legacyIds.set(name, id)
    return toolCallBlock({ kind: 'legacy', id, name, input: call['arguments'] ?? '' })
  }
}

function roleOf(role: unknown): Role {
  switch (role) {
    case 'system':
    case 'developer':
    case 'assistant':
      return role
    default:
      return 'user'
  }
}

/** Reads a call of an answer or of the history. */
export function readToolCall(call: JsonObject): Block {
  const custom = asObject(call['custom'])
  const definition = custom ?? asObject(call['function']) ?? {}
  return toolCallBlock({
    kind: custom === null ? 'function' : 'custom',
    id: textOr(call['id'], ''),
    name: textOr(definition['name'], ''),
    input: (custom === null ? definition['arguments'] : definition['input']) ?? '',
    signature: textOr(valueAt(call, 'extra_content', 'google', 'thought_signature'), null),
    extra: restOf(call, KNOWN_CALL),
  })
}

/** Reads the content of a message: a string, parts, or nothing. */
export function pushContent(into: Block[], content: unknown): void {
  if (typeof content === 'string') {
    if (content !== '') into.push(textBlock(content))
    return
  }
  for (const part of arrayOf(content)) {
    const object = asObject(part)
    if (object !== null) into.push(readPart(object))
    else if (typeof part === 'string') into.push(textBlock(part))
  }
}

function readPart(part: JsonObject): Block {
  const type = textOr(part['type'], '')
  switch (type) {
    case 'text':
      return textBlock(textOr(part['text'], ''), readCacheMark(part['cache_control']), restOf(part, KNOWN_TEXT))
    case 'image_url': {
      const image = part['image_url']
      const url = textOr(image, null) ?? textOr(valueAt(image, 'url'), null)
      if (url === null) break
      return imageBlock(sourceOfUrl(url), {
        detail: textOr(valueAt(image, 'detail'), null),
        cache: readCacheMark(part['cache_control']),
        extra: restOf(part, KNOWN_IMAGE),
      })
    }
    case 'file':
      return readFilePart(part) ?? nativeBlock(type, part)
    case 'input_audio': {
      const data = valueAt(part, 'input_audio', 'data')
      if (typeof data !== 'string') break
      const format = textOr(valueAt(part, 'input_audio', 'format'), '')
      return { type: 'audio', data, format, extra: restOf(part, KNOWN_AUDIO) }
    }
    case 'refusal':
      return refusalBlock(textOr(part['refusal'], ''), restOf(part, KNOWN_REFUSAL))
    case 'thinking':
      return thinkingBlock(thinkingText(part['thinking']), null, 'part', part)
  }
  return nativeBlock(type, part)
}

function readFilePart(part: JsonObject): Block | null {
  const file = asObject(part['file'])
  const data = file?.['file_data']
  const id = file?.['file_id']
  const rest = {
    title: textOr(file?.['filename'], null),
    context: null,
    citations: null,
    cache: readCacheMark(part['cache_control']),
    extra: restOf(part, KNOWN_FILE_PART),
  }
  if (typeof data === 'string') {
    const source = sourceOfUrl(data)
    const isUrl = source.kind === 'url' && (data.startsWith('http://') || data.startsWith('https://'))
    // Data without the head of a data URL is taken for bare base64.
    const bare = source.kind === 'url' && !isUrl
    return { type: 'document', source: bare ? { kind: 'base64', mediaType: '', data } : source, ...rest }
  }
  return typeof id === 'string' ? { type: 'document', source: { kind: 'file', id }, ...rest } : null
}

/** The thinking in a part: a text, or text parts of its own. */
export function thinkingText(value: unknown): string {
  if (typeof value === 'string') return value
  let text = ''
  for (const part of objects(value)) text += textOr(part['text'], '')
  return text
}
