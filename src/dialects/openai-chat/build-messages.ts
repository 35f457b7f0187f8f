import type { Target } from '../../shared/core/codec.ts'
import { textBlock } from '../../shared/core/content.ts'
import type { Block, ToolCallBlock, ToolResultBlock } from '../../shared/core/content.ts'
import type { Conversation, Message, Role } from '../../shared/core/conversation.ts'
import type { JsonObject } from '../../shared/core/json-object.ts'
import { isBillingHeader } from '../common/billing-header.ts'
import { plainMediaType } from '../common/data-url.ts'
import { unsupportedField } from '../dropped-fields.ts'
import type { DroppedFields } from '../dropped-fields.ts'
import { upstreamToolId } from '../common/tool-ids.ts'
import { inputText } from '../common/tool-input.ts'
import type { ToolNames } from '../common/tool-names.ts'
import { writeCall, writePart } from './build-part.ts'

const BETWEEN_BLOCKS = '\n\n'
const MEDIA_BELOW = '[attached below]'

/** Writes the messages of a conversation of another dialect. */
export function buildMessages(
  conversation: Conversation,
  target: Target,
  names: ToolNames,
  droppedFields: DroppedFields,
  instruction: string | null,
): JsonObject[] {
  const writer = new MessageWriter(target, names, droppedFields)
  for (const message of conversation.system) writer.system(message)
  if (instruction !== null) writer.system(instructionMessage(instruction))
  for (const message of conversation.messages) writer.message(message)
  return writer.written
}

function instructionMessage(text: string): Message {
  return { role: 'system', content: [textBlock(text)], plain: true, name: null, extra: null }
}

class MessageWriter {
  readonly written: Record<string, unknown>[] = []
  readonly #target: Target
  readonly #names: ToolNames
  readonly #droppedFields: DroppedFields

  constructor(target: Target, names: ToolNames, droppedFields: DroppedFields) {
    this.#target = target
    this.#names = names
    this.#droppedFields = droppedFields
  }

  system({ role, content }: Message): void {
    const blocks: Block[] = []
    for (const block of content) {
      const adapted = this.#adapt(block, role)
      if (adapted === null) continue
      if (adapted.type !== 'text') throw unsupportedField(`messages.content.${adapted.type}`)
      if (!isBillingHeader(adapted.text) && adapted.text !== '') blocks.push(adapted)
    }
    if (blocks.length === 0) return
    const known = role === 'developer' && this.#target.takesDeveloperRole ? 'developer' : 'system'
    this.#push(known, this.#content(blocks, BETWEEN_BLOCKS))
  }

  message(message: Message): void {
    if (message.extra !== null)
      for (const name of Object.keys(message.extra)) this.#droppedFields.drop(`messages.${name}`)
    if (message.role === 'assistant') this.#assistant(message)
    else if (message.role === 'user' || message.role === 'tool') this.#user(message)
    else if (this.#target.takesSystemAnywhere || this.written.every((earlier) => earlier['role'] === 'system')) {
      this.system(message)
    } else {
      const content = message.content.map((block) =>
        block.type === 'text' ? textBlock(`<system>\n${block.text}\n</system>`) : block,
      )
      this.#user({ ...message, content })
    }
  }

  /** Results come first, directly after their calls. Their content other than text follows as a message of the user. */
  #user({ content }: Message): void {
    const blocks: Block[] = []
    const rest: Block[] = []
    for (const block of content) {
      if (block.type === 'tool-result') this.#result(block, blocks)
      else rest.push(block)
    }
    for (const block of rest) {
      const adapted = this.#adapt(block, 'user')
      if (adapted !== null && !(adapted.type === 'text' && adapted.text === '')) blocks.push(adapted)
    }
    if (blocks.length > 0) this.#push('user', this.#content(blocks, BETWEEN_BLOCKS))
  }

  #result(result: ToolResultBlock, beside: Block[]): void {
    if (result.cache !== null) this.#droppedFields.lose('content.cache_control')
    const texts: string[] = []
    for (const block of result.content) {
      const adapted = this.#adapt(block, 'tool')
      if (adapted === null) continue
      if (adapted.type === 'text') {
        texts.push(adapted.text)
      } else {
        texts.push(MEDIA_BELOW)
        beside.push(adapted)
      }
    }
    const text = texts.join('\n')
    this.written.push({
      role: 'tool',
      tool_call_id: upstreamToolId(result.callId, this.#target),
      content: result.isError && !/error/i.test(text) ? `Error: ${text}` : text,
    })
  }

  #assistant({ content }: Message): void {
    const calls: JsonObject[] = []
    const texts: Block[] = []
    let thinking = ''
    for (const block of content) {
      if (block.type === 'tool-call') calls.push(this.#call(block))
      else if (block.type === 'thinking') thinking += block.text
      else {
        const adapted = this.#adapt(block, 'assistant')
        if (adapted !== null && !(adapted.type === 'text' && adapted.text === '')) texts.push(adapted)
      }
    }
    const back = this.#target.reasoningBack
    const goesBack = back === 'always' || (back === 'tool-turns' && calls.length > 0)
    if (thinking !== '' && !goesBack) this.#droppedFields.lose('content.thinking')
    if (calls.length === 0 && texts.length === 0) return
    const message = this.#push('assistant', texts.length === 0 ? null : this.#content(texts, ''))
    // The upstream does not answer a turn with calls without its reasoning, even when that is empty.
    if (goesBack && (thinking !== '' || calls.length > 0)) {
      message['reasoning_content'] = joined(message['reasoning_content'], thinking)
    }
    if (calls.length > 0)
      message['tool_calls'] = [...((message['tool_calls'] as JsonObject[] | undefined) ?? []), ...calls]
  }

  #call(call: ToolCallBlock): JsonObject {
    if (call.cache !== null) this.#droppedFields.lose('content.cache_control')
    const text = inputText(call.input)
    return writeCall({
      ...call,
      id: upstreamToolId(call.id, this.#target),
      name: this.#names.upstream(call.name),
      input: call.kind !== 'custom' && text === '' ? '{}' : text,
      extra: call.signature === null ? null : { extra_content: { google: { thought_signature: call.signature } } },
    })
  }

  /** Adds a message. Merges it into the one before when roles must alternate, or when an assistant's turn has two parts. */
  #push(role: string, content: string | JsonObject[] | null): Record<string, unknown> {
    const last = this.written.at(-1)
    const merges = last?.['role'] === role && (role === 'assistant' || (this.#target.alternates && role !== 'tool'))
    if (last === undefined || !merges) {
      const message: Record<string, unknown> = { role, content }
      this.written.push(message)
      return message
    }
    last['content'] = mergeContent(last['content'] as string | JsonObject[] | null, content)
    return last
  }

  /** A single text becomes a string, which every service takes. Other content becomes parts. */
  #content(blocks: readonly Block[], separator: string): string | JsonObject[] {
    const onlyText = blocks.every((block) => block.type === 'text')
    const marked = blocks.some((block) => block.type === 'text' && block.cache !== null)
    if (onlyText && !marked && (blocks.length === 1 || separator === '' || this.#target.plainContent)) {
      return blocks.map((block) => (block.type === 'text' ? block.text : '')).join(separator)
    }
    return blocks.map(writePart)
  }

  #adapt(block: Block, role: Role): Block | null {
    switch (block.type) {
      case 'text':
        if (block.citations !== null) this.#droppedFields.lose('content.citations')
        return textBlock(block.text, this.#mark(block))
      case 'image':
        return { ...block, source: this.#imageSource(block), cache: this.#mark(block), extra: null }
      case 'document':
        return this.#document(block)
      case 'search-result':
        return textBlock(searchText(block))
      case 'tool-reference':
        return textBlock(block.name)
      case 'redacted-thinking':
      case 'thinking':
        this.#droppedFields.lose('content.thinking')
        return null
      case 'refusal':
        return textBlock(block.text)
      case 'native':
        this.#droppedFields.loseNative(block.kind, role)
        return null
      case 'audio':
        return block
      case 'tool-call':
      case 'tool-result':
        return null
    }
  }

  #mark(block: Extract<Block, { cache: unknown }>): Extract<Block, { cache: unknown }>['cache'] {
    if (block.cache === null || this.#target.takesCacheMarks) return block.cache
    this.#droppedFields.lose('content.cache_control')
    return null
  }

  #imageSource({ source }: Extract<Block, { type: 'image' }>): Extract<Block, { type: 'image' }>['source'] {
    if (source.kind === 'file') this.#droppedFields.lose('content.file_id', 'messages.content.source.file_id')
    if (source.kind === 'base64') return { ...source, mediaType: plainMediaType(source.mediaType) }
    if (source.kind !== 'url') this.#droppedFields.lose('content.native', 'messages.content.source')
    return source
  }

  #document(block: Extract<Block, { type: 'document' }>): Block {
    const { source } = block
    const mark = this.#mark(block)
    if (block.citations === true) this.#droppedFields.drop('messages.content.citations')
    const head = [block.title, block.context].filter((line) => line !== null && line !== '').join('\n')
    switch (source.kind) {
      case 'text':
        return textBlock(head === '' ? source.text : `${head}\n${source.text}`, mark)
      case 'blocks': {
        const texts = source.blocks.map((inner) => (inner.type === 'text' ? inner.text : ''))
        if (source.blocks.some((inner) => inner.type !== 'text')) {
          this.#droppedFields.lose('content.native', 'messages.content.source')
        }
        return textBlock([head, ...texts].filter((text) => text !== '').join('\n'), mark)
      }
      case 'url':
        this.#droppedFields.lose('content.document_url', 'messages.content.source.url')
        return block
      case 'base64':
        return { ...block, title: block.title ?? 'document.pdf', cache: mark, extra: null }
      case 'file':
        this.#droppedFields.lose('content.file_id', 'messages.content.source.file_id')
        return block
      case 'native':
        this.#droppedFields.lose('content.native', 'messages.content.source')
        return block
    }
  }
}

function searchText({ title, source, content }: Extract<Block, { type: 'search-result' }>): string {
  const texts = content.map((block) => (block.type === 'text' ? block.text : ''))
  return [title, source, ...texts].filter((text) => text !== '').join('\n')
}

function joined(before: unknown, text: string): string {
  return typeof before === 'string' ? before + text : text
}

function mergeContent(
  before: string | JsonObject[] | null,
  after: string | JsonObject[] | null,
): string | JsonObject[] | null {
  if (before === null || before === '') return after
  if (after === null || after === '') return before
  if (typeof before === 'string' && typeof after === 'string') return `${before}${BETWEEN_BLOCKS}${after}`
  return [...asParts(before), ...asParts(after)]
}

function asParts(content: string | JsonObject[]): JsonObject[] {
  return typeof content === 'string' ? [{ type: 'text', text: content }] : content
}
