import type { Target } from '../../shared/core/codec.ts'
import { textBlock } from '../../shared/core/content.ts'
import type { Block, MediaSource, ToolCallBlock, ToolResultBlock } from '../../shared/core/content.ts'
import type { Conversation, Message, Role } from '../../shared/core/conversation.ts'
import type { JsonObject } from '../../shared/core/json-object.ts'
import { isBillingHeader } from '../common/billing-header.ts'
import { dataUrl, plainMediaType } from '../common/data-url.ts'
import { unsupportedField } from '../dropped-fields.ts'
import type { DroppedFields } from '../dropped-fields.ts'
import { upstreamToolId } from '../common/tool-ids.ts'
import { inputObject } from '../common/tool-input.ts'
import type { ToolNames } from '../common/tool-names.ts'
import { takeTurns } from '../common/turns.ts'
import type { Turn } from '../common/turns.ts'

const MEDIA_BELOW = '[attached below]'
const NO_OUTPUT = '(no output)'

/** Writes the messages of a conversation. Tool results become messages of their own, with text only. */
export function buildMessages(
  conversation: Conversation,
  target: Target,
  names: ToolNames,
  droppedFields: DroppedFields,
  instruction: string | null,
): JsonObject[] {
  const writer = new MessageWriter(target, names, droppedFields)
  for (const message of conversation.system) writer.system(message)
  if (instruction !== null) writer.written.push({ role: 'system', content: instruction })
  for (const { name, extra } of conversation.messages) {
    if (name !== null) droppedFields.lose('messages.name')
    if (extra !== null) for (const member of Object.keys(extra)) droppedFields.drop(`messages.${member}`)
  }
  const turns = takeTurns(conversation.messages, {
    systemAnywhere: target.takesSystemAnywhere,
    adapt: (block, role) => writer.adapt(block, role),
  })
  if (turns.at(-1)?.role === 'assistant' && !target.takesPrefill) droppedFields.lose('prefill', 'messages')
  for (const turn of turns) writer.turn(turn)
  return writer.written
}

class MessageWriter {
  readonly written: JsonObject[] = []
  readonly #target: Target
  readonly #names: ToolNames
  readonly #droppedFields: DroppedFields

  constructor(target: Target, names: ToolNames, droppedFields: DroppedFields) {
    this.#target = target
    this.#names = names
    this.#droppedFields = droppedFields
  }

  system({ role, content }: Message): void {
    const texts: string[] = []
    for (const block of content) {
      const adapted = this.adapt(block, role)
      if (adapted === null) continue
      if (adapted.type !== 'text') throw unsupportedField(`messages.content.${adapted.type}`)
      if (adapted.text.trim() !== '' && !isBillingHeader(adapted.text)) texts.push(adapted.text)
    }
    if (texts.length > 0) this.written.push({ role: 'system', content: texts.join('\n\n') })
  }

  adapt(block: Block, role: Role): Block | null {
    if ('cache' in block && block.cache !== null) this.#droppedFields.lose('content.cache_control')
    switch (block.type) {
      case 'text':
      case 'refusal':
        return textBlock(block.text)
      case 'image':
        return { ...block, source: this.#imageSource(block.source) }
      case 'document':
        return textBlock(this.#documentText(block.source, block.title))
      case 'search-result': {
        const texts = block.content.map((inner) => (inner.type === 'text' ? inner.text : ''))
        return textBlock([block.title, block.source, ...texts].filter((text) => text !== '').join('\n'))
      }
      case 'tool-reference':
        return textBlock(block.name)
      case 'redacted-thinking':
        this.#droppedFields.lose('content.thinking')
        return null
      case 'native':
        this.#droppedFields.loseNative(block.kind, role)
        return null
      case 'audio':
        this.#droppedFields.lose('content.audio', 'messages.content.input_audio')
        return null
      case 'thinking':
      case 'tool-call':
      case 'tool-result':
        return block
    }
  }

  turn({ role, content }: Turn): void {
    if (role === 'assistant') this.#assistant(content)
    else if (role === 'system') this.system({ role, content, plain: false, name: null, extra: null })
    else this.#user(content)
  }

  #user(content: readonly Block[]): void {
    const parts: JsonObject[] = []
    for (const block of content) if (block.type === 'tool-result') this.#result(block, parts)
    for (const block of content) if (block.type !== 'tool-result') parts.push(writePart(block))
    if (parts.length > 0) this.written.push({ role: 'user', content: plainContent(parts) })
  }

  #result(result: ToolResultBlock, beside: JsonObject[]): void {
    const texts: string[] = []
    for (const block of result.content) {
      const adapted = this.adapt(block, 'tool')
      if (adapted === null) continue
      if (adapted.type === 'text') texts.push(adapted.text)
      else {
        texts.push(MEDIA_BELOW)
        beside.push(writePart(adapted))
      }
    }
    const text = texts.filter((entry) => entry !== '').join('\n')
    const content = result.isError && !/error/i.test(text) ? `Error: ${text}` : text
    const id = upstreamToolId(result.callId, this.#target)
    this.written.push({ role: 'tool', tool_call_id: id, content: content === '' ? NO_OUTPUT : content })
  }

  /** Thinking about calls goes back as `tool_plan`. */
  #assistant(content: readonly Block[]): void {
    const calls: JsonObject[] = []
    let text = ''
    let thinking = ''
    for (const block of content) {
      if (block.type === 'tool-call') calls.push(this.#call(block))
      else if (block.type === 'thinking') thinking += block.text
      else if (block.type === 'text') text += block.text
    }
    const goesBack = this.#target.reasoningBack !== 'never' && calls.length > 0
    if (thinking !== '' && !goesBack) this.#droppedFields.lose('content.thinking')
    if (text === '' && calls.length === 0) return
    const message: Record<string, unknown> = { role: 'assistant' }
    if (text !== '') message['content'] = text
    if (calls.length > 0) message['tool_calls'] = calls
    if (thinking !== '' && goesBack) message['tool_plan'] = thinking
    this.written.push(message)
  }

  #call(call: ToolCallBlock): JsonObject {
    const input = call.kind === 'custom' ? { input: call.input } : inputObject(call.input)
    return {
      id: upstreamToolId(call.id, this.#target),
      type: 'function',
      function: { name: this.#names.upstream(call.name), arguments: JSON.stringify(input) },
    }
  }

  #imageSource(source: MediaSource): MediaSource {
    if (source.kind === 'base64') return { ...source, mediaType: plainMediaType(source.mediaType) }
    if (source.kind === 'file') this.#droppedFields.lose('content.file_id', 'messages.content.source.file_id')
    if (source.kind !== 'url') this.#droppedFields.lose('content.native', 'messages.content.source')
    return source
  }

  #documentText(source: MediaSource, title: string | null): string {
    const head = title === null ? '' : `${title}\n`
    if (source.kind === 'text') return head + source.text
    if (source.kind === 'base64' && source.mediaType.startsWith('text/')) {
      return head + Buffer.from(source.data, 'base64').toString('utf8')
    }
    if (source.kind === 'blocks' && source.blocks.every((block) => block.type === 'text')) {
      return head + source.blocks.map((block) => block.text).join('\n')
    }
    this.#droppedFields.lose('content.native', 'messages.content.document')
    return ''
  }
}

function writePart(block: Block): JsonObject {
  if (block.type !== 'image') return { type: 'text', text: block.type === 'text' ? block.text : '' }
  const { source, detail } = block
  const url =
    source.kind === 'base64' ? dataUrl(source.mediaType, source.data) : source.kind === 'url' ? source.url : ''
  return { type: 'image_url', image_url: { url, ...(detail === null ? null : { detail }) } }
}

/** A single text becomes a string, which models without vision take too. */
function plainContent(parts: readonly JsonObject[]): unknown {
  const [only] = parts
  return parts.length === 1 && only?.['type'] === 'text' ? only['text'] : parts
}
