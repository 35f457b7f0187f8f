import type { EncoderOptions, StreamEncoder, TextFrame } from '../../shared/core/codec.ts'
import type { JsonObject } from '../../shared/core/json-object.ts'
import type { EndEvent, StartEvent, StreamEvent, ToolStartEvent } from '../../shared/core/stream-event.ts'
import { emptyUsage } from '../../shared/core/usage.ts'
import { answerId } from '../common/answer-id.ts'
import { estimatedUsage } from '../common/estimate-tokens.ts'
import { SIGNED_FORMAT } from '../common/signed-thinking.ts'
import { THOUGHT_FORMAT, sealSignature } from '../common/thought-signature.ts'
import { upstreamToolId } from '../common/tool-ids.ts'
import { FOREIGN_SIGNATURE } from './parse-block.ts'
import { writeStop } from './stop-reason.ts'
import { MESSAGES_TARGET } from './target.ts'
import { writeUsage } from './write-usage.ts'

const BLOCK_END = '}}\n\n'

/** Writes the events of a message. The text around the deltas is built once for each block. */
export class MessagesEncoder implements StreamEncoder {
  readonly dropped = new Set<string>()
  readonly #options: EncoderOptions
  /** The upstream spoke this dialect too, so all its content passes. */
  #own = false
  #index = -1
  /** The event of the open block's deltas, up to their text. */
  #head = ''
  #signed = false
  /** The open block cannot be written in this dialect. */
  #skips = false
  #textLength = 0
  #promptTokens = 0

  constructor(options: EncoderOptions) {
    this.#options = options
  }

  encode(event: StreamEvent): string {
    switch (event.type) {
      case 'text-delta':
      case 'thinking-delta':
      case 'tool-delta':
        this.#textLength += event.text.length
        return this.#head + JSON.stringify(event.text) + BLOCK_END
      case 'start':
        return this.#start(event)
      case 'text-start':
        return this.#startBlock('{"type":"text","text":""}', '"text_delta","text":')
      case 'thinking-start':
        this.#signed = false
        return this.#startBlock('{"type":"thinking","thinking":"","signature":""}', '"thinking_delta","thinking":')
      case 'tool-start':
        return this.#startTool(event)
      case 'thinking-signature':
        this.#signed = true
        return this.#signature(event.text)
      case 'thinking-end':
        // Clients show and keep only thinking with a signature.
        return (this.#signed ? '' : this.#signature(FOREIGN_SIGNATURE)) + this.#stopBlock()
      case 'text-end':
      case 'tool-end':
        return this.#stopBlock()
      case 'redacted-thinking':
        return this.#redacted(event.data, event.format)
      case 'citation':
        if (this.#own) return this.#delta({ type: 'citations_delta', citation: event.citation.native })
        this.dropped.add('content.citations')
        return ''
      case 'native-start':
        return this.#startNative(event.kind, event.value)
      case 'native-delta':
        return this.#skips ? '' : this.#delta(event.value)
      case 'native-end':
        return this.#skips ? '' : this.#stopBlock()
      case 'ping':
        return 'event: ping\ndata: {"type":"ping"}\n\n'
      case 'end':
        return this.#end(event)
      case 'error':
        return ''
    }
  }

  textFrame(): TextFrame {
    return { head: this.#head, tail: BLOCK_END }
  }

  countText(characters: number): void {
    this.#textLength += characters
  }

  #start(event: StartEvent): string {
    const { id, model, estimatedPromptTokens } = this.#options
    this.#own = event.from === 'anthropic-messages'
    // From this event clients show how full the context is. A count of 0 means that the service has not counted yet.
    const usage = event.usage?.promptTokens ? event.usage : { ...emptyUsage(), promptTokens: estimatedPromptTokens }
    this.#promptTokens = usage.promptTokens
    const message = {
      id: answerId('msg_', event.id, id),
      type: 'message',
      role: 'assistant',
      model: model ?? event.model,
      content: [],
      stop_reason: null,
      stop_sequence: null,
      ...(this.#own ? event.extra : null),
      usage: writeUsage(usage),
    }
    return `event: message_start\ndata: {"type":"message_start","message":${JSON.stringify(message)}}\n\n`
  }

  #startBlock(block: string, delta: string): string {
    const index = ++this.#index
    this.#skips = false
    this.#head = `event: content_block_delta\ndata: {"type":"content_block_delta","index":${index},"delta":{"type":${delta}`
    return `event: content_block_start\ndata: {"type":"content_block_start","index":${index},"content_block":${block}}\n\n`
  }

  #startTool({ id, name, signature }: ToolStartEvent): string {
    const signed = signature === null ? '' : this.#sealed(sealSignature(signature, 'call'))
    const toolId = id === '' ? `toolu_${this.#options.id}_${this.#index + 1}` : upstreamToolId(id, MESSAGES_TARGET)
    const block = `{"type":"tool_use","id":"${toolId}","name":${JSON.stringify(name)},"input":{}}`
    return signed + this.#startBlock(block, '"input_json_delta","partial_json":')
  }

  #startNative(kind: string, value: JsonObject): string {
    if (this.#own) return this.#startBlock(JSON.stringify(value), '""')
    this.#skips = true
    this.dropped.add(`content.${kind}`)
    return ''
  }

  #redacted(data: string, format: string | null): string {
    if (!this.#own && format !== SIGNED_FORMAT && format !== THOUGHT_FORMAT) {
      this.dropped.add('content.redacted_thinking')
      return ''
    }
    return this.#sealed(data)
  }

  #sealed(data: string): string {
    const block = JSON.stringify({ type: 'redacted_thinking', data })
    return this.#startBlock(block, '""') + this.#stopBlock()
  }

  #signature(signature: string): string {
    return this.#delta({ type: 'signature_delta', signature })
  }

  #delta(delta: JsonObject): string {
    const event = { type: 'content_block_delta', index: this.#index, delta }
    return `event: content_block_delta\ndata: ${JSON.stringify(event)}\n\n`
  }

  #stopBlock(): string {
    return `event: content_block_stop\ndata: {"type":"content_block_stop","index":${this.#index}}\n\n`
  }

  #end({ stop, usage, extra }: EndEvent): string {
    const delta: Record<string, unknown> = {
      stop_reason: this.#own && stop.native !== null ? stop.native : writeStop(stop),
      stop_sequence: stop.sequence,
    }
    if (this.#own && stop.details !== null) delta['stop_details'] = stop.details
    const counted = usage ?? estimatedUsage(this.#promptTokens, this.#textLength)
    const event = { type: 'message_delta', delta, ...(this.#own ? extra : null), usage: writeUsage(counted) }
    return `event: message_delta\ndata: ${JSON.stringify(event)}\n\nevent: message_stop\ndata: {"type":"message_stop"}\n\n`
  }
}
