import type { Target } from '../../shared/core/codec.ts'
import type { Block, DocumentBlock, ToolCallBlock, ToolResultBlock } from '../../shared/core/content.ts'
import type { JsonObject } from '../../shared/core/json-object.ts'
import type { DroppedFields } from '../dropped-fields.ts'
import { unsealSignature } from '../common/thought-signature.ts'
import { inputObject } from '../common/tool-input.ts'
import type { Turn } from '../common/turns.ts'
import { mediaPart } from './build-media.ts'
import type { GeminiToolNames } from './tool-names.ts'

/** The service accepts this text in place of a missing signature. */
const NO_SIGNATURE = 'skip_thought_signature_validator'
const MEDIA_BELOW = '[attached below]'

/** Writes the turns of one conversation as `contents`. */
export class ContentWriter {
  readonly #target: Target
  readonly #names: GeminiToolNames
  readonly #droppedFields: DroppedFields
  /** Written calls by id: the upstream's name of the tool, and the position of the call. */
  readonly #called = new Map<string, { readonly name: string; readonly order: number }>()
  #calls = 0

  constructor(target: Target, names: GeminiToolNames, droppedFields: DroppedFields) {
    this.#target = target
    this.#names = names
    this.#droppedFields = droppedFields
  }

  /** Returns the block if it can be carried, else reports it and returns null. Throws GatewayError UNSUPPORTED_FIELD. */
  adapt(block: Block, role: Turn['role']): Block | null {
    if ('cache' in block && block.cache !== null) this.#droppedFields.lose('content.cache_control')
    if ('extra' in block && block.extra !== null) this.#reportExtra(block)
    switch (block.type) {
      case 'thinking':
      case 'redacted-thinking':
        if (unsealSignature(block) !== null) return block
        this.#droppedFields.lose('content.thinking', 'messages.reasoning_content')
        return null
      case 'native':
        this.#droppedFields.loseNative(block.kind, role)
        return null
      case 'image':
        this.#droppedFields.dropValue('content.image_url.detail', block.detail)
        return block
      case 'document':
        if (block.citations === true) this.#droppedFields.lose('content.citations')
        return block
      default:
        return block
    }
  }

  write(turns: readonly Turn[]): JsonObject[] {
    const contents: { role: string; parts: JsonObject[] }[] = []
    for (const { role, content } of turns) {
      const parts = role === 'assistant' ? this.#modelParts(content) : this.#userParts(content)
      const written = role === 'assistant' ? 'model' : 'user'
      const last = contents.at(-1)
      if (last?.role === written) last.parts.push(...parts)
      else if (parts.length > 0) contents.push({ role: written, parts })
    }
    return contents
  }

  /** The first call of a turn carries the signature of the step. The block with a call's signature precedes the call. */
  #modelParts(content: readonly Block[]): JsonObject[] {
    const parts: JsonObject[] = []
    let ofCall: string | null = null
    let isFirst = true
    for (const block of content) {
      const sealed = unsealSignature(block)
      if (sealed?.place === 'call') ofCall = sealed.signature
      else if (sealed !== null) parts.push({ text: '', thoughtSignature: sealed.signature })
      else if (block.type === 'tool-call') {
        const signature = block.signature ?? ofCall ?? (isFirst && this.#wantsSignatures ? NO_SIGNATURE : null)
        parts.push(this.#callPart(block, signature))
        ofCall = null
        isFirst = false
      } else parts.push(...this.#plainParts(block))
    }
    return parts
  }

  /** Models with levels of thinking refuse a step whose first call is not signed. */
  get #wantsSignatures(): boolean {
    return this.#target.reasoning === 'effort'
  }

  #callPart(call: ToolCallBlock, signature: string | null): JsonObject {
    const name = this.#names.upstream(call.name)
    this.#called.set(call.id, { name, order: this.#calls++ })
    const args = call.kind === 'custom' ? { input: call.input } : inputObject(call.input)
    const part = { functionCall: { name, args } }
    return signature === null ? part : { ...part, thoughtSignature: signature }
  }

  /** The service matches results to calls by their order. Results have no place for media, which follow as parts. */
  #userParts(content: readonly Block[]): JsonObject[] {
    const results: ToolResultBlock[] = []
    const rest: JsonObject[] = []
    for (const block of content) if (block.type === 'tool-result') results.push(block)
    results.sort((one, other) => this.#orderOf(one) - this.#orderOf(other))
    const parts = results.map((result) => this.#resultPart(result, rest))
    for (const block of content) if (block.type !== 'tool-result') rest.push(...this.#plainParts(block))
    return [...parts, ...rest]
  }

  #orderOf({ callId }: ToolResultBlock): number {
    return this.#called.get(callId)?.order ?? this.#called.size
  }

  #resultPart(result: ToolResultBlock, beside: JsonObject[]): JsonObject {
    const texts: string[] = []
    for (const block of result.content) {
      const adapted = this.adapt(block, 'user')
      if (adapted === null) continue
      for (const part of this.#plainParts(adapted)) {
        if (typeof part['text'] === 'string') texts.push(part['text'])
        else {
          texts.push(MEDIA_BELOW)
          beside.push(part)
        }
      }
    }
    const name = this.#called.get(result.callId)?.name ?? this.#names.upstream(result.name ?? 'tool')
    const text = texts.join('\n')
    return { functionResponse: { name, response: result.isError ? { error: text } : { result: text } } }
  }

  #plainParts(block: Block): readonly JsonObject[] {
    switch (block.type) {
      case 'text':
      case 'refusal':
        return block.text === '' ? [] : [{ text: block.text }]
      case 'image':
        return [mediaPart(block.source, 'image/jpeg') ?? this.#lostFile()]
      case 'document':
        return this.#documentParts(block)
      case 'audio':
        return [{ inlineData: { mimeType: `audio/${block.format || 'wav'}`, data: block.data } }]
      case 'search-result': {
        const texts = block.content.map((inner) => (inner.type === 'text' ? inner.text : ''))
        return [{ text: [block.title, block.source, ...texts].filter((text) => text !== '').join('\n') }]
      }
      case 'tool-reference':
        return [{ text: block.name }]
      default:
        return []
    }
  }

  #documentParts({ source, title, context }: DocumentBlock): readonly JsonObject[] {
    const head = [title, context].filter((text) => text !== null && text !== '').join('\n')
    const heads = head === '' ? [] : [{ text: head }]
    if (source.kind === 'text') return [...heads, { text: source.text }]
    if (source.kind === 'blocks') return [...heads, ...source.blocks.flatMap((block) => this.#plainParts(block))]
    return [...heads, mediaPart(source, 'application/pdf') ?? this.#lostFile()]
  }

  #lostFile(): never {
    this.#droppedFields.lose('content.file_id', 'messages.content.file.file_id')
    throw new TypeError('content.file_id must be refused')
  }

  #reportExtra(block: Block): void {
    // The extra of these blocks repeats their content in the form of the wire.
    if (block.type !== 'thinking' && block.type !== 'redacted-thinking' && block.type !== 'tool-call') {
      this.#droppedFields.lose('content.extra')
    }
  }
}
