import type { EncoderOptions, StreamEncoder } from '../../shared/core/codec.ts'
import type { Citation } from '../../shared/core/content.ts'
import type { GatewayError } from '../../shared/core/errors.ts'
import type { JsonObject } from '../../shared/core/json-object.ts'
import type { EndEvent, StartEvent, StreamEvent, ToolStartEvent } from '../../shared/core/stream-event.ts'
import { answerId } from '../common/answer-id.ts'
import { estimatedUsage } from '../common/estimate-tokens.ts'
import { SIGNED_FORMAT } from '../common/signed-thinking.ts'
import { errorEvent, responseError } from './errors.ts'
import { annotationOf, refusalPart, summaryPart, textPart, writeItem } from './output-items.ts'
import type { CallItem, Item, ItemStatus, MessageItem, ReasoningItem } from './output-items.ts'
import { seal } from './reasoning-seal.ts'
import { statusOf } from './status.ts'
import { splitName } from './tool-groups.ts'
import { writeUsage } from './write-usage.ts'

/** The last event repeats the whole answer. This is the most text that is kept for it, in UTF-16 units. */
const MAX_KEPT_LENGTH = 32 * 1024 * 1024

/**
 * Writes the events of a response. An item is done when the next begins or the response ends: only then is it known whether
 * it was cut off, and consecutive texts are parts of one message.
 */
export class ResponsesEncoder implements StreamEncoder {
  readonly dropped = new Set<string>()
  readonly #options: EncoderOptions
  #sequence = 0
  #start: StartEvent | null = null
  /** The repeated fields of the request, as the end of the response's JSON. */
  #echo = '}'
  readonly #output: JsonObject[] = []
  #item: Item | null = null
  /**
   * The event of the open part's or call's deltas: `#head` up to the sequence number, `#middle` from there to the delta's
   * text.
   */
  #head = ''
  #middle = ''
  #text = ''
  #citations: Citation[] = []
  #refusing = false
  #refused = false
  #textLength = 0
  #response: JsonObject | null = null

  constructor(options: EncoderOptions) {
    this.#options = options
  }

  encode(event: StreamEvent): string {
    switch (event.type) {
      case 'text-delta':
      case 'tool-delta':
        return this.#delta(event.text)
      case 'thinking-delta':
        return this.#text === '' ? this.#startSummary() + this.#delta(event.text) : this.#delta(event.text)
      case 'start':
        return this.#begin(event)
      case 'text-start':
        return this.#startText(event.refusal)
      case 'citation':
        this.#citations.push(event.citation)
        return ''
      case 'text-end':
        return this.#endText()
      case 'thinking-start':
        return this.#startReasoning(event.format, null)
      case 'thinking-signature':
        if (this.#item?.type === 'reasoning') this.#item.signature += event.text
        return ''
      case 'thinking-end':
        return this.#endThinking()
      case 'redacted-thinking': {
        const format = event.format ?? SIGNED_FORMAT
        return this.#startReasoning(format, seal({ kind: 'redacted', format, data: event.data }))
      }
      case 'tool-start':
        return this.#startCall(event)
      case 'tool-end':
        return this.#endCall()
      case 'native-start':
        this.dropped.add(`content.${event.kind}`)
        return ''
      case 'end':
        return this.#end(event)
      case 'native-delta':
      case 'native-end':
      case 'ping':
      case 'error':
        return ''
    }
  }

  /** The response in the last lifecycle event, without the repeated fields of the request. */
  get response(): JsonObject | null {
    return this.#response
  }

  encodeFailure(error: GatewayError, requestId: string): string {
    const failed = { status: 'failed', incomplete_details: null, error: responseError(error) }
    return errorEvent(error, requestId, this.#sequence++) + this.#lifecycle('response.failed', failed)
  }

  #begin(event: StartEvent): string {
    this.#start = event
    const { echo } = this.#options
    if (echo !== undefined && echo !== null) this.#echo = `,${JSON.stringify(echo).slice(1)}`
    const begun = { status: 'in_progress', incomplete_details: null, error: null }
    return this.#lifecycle('response.created', begun) + this.#lifecycle('response.in_progress', begun)
  }

  #startText(refusal: boolean): string {
    let text = ''
    let message: MessageItem
    if (this.#item?.type === 'message') message = this.#item
    else {
      message = { type: 'message', id: this.#itemId('msg'), parts: [] }
      text = this.#open(message)
    }
    this.#refusing = refusal
    this.#refused ||= refusal
    this.#text = ''
    this.#citations = []
    const place = { item_id: message.id, output_index: this.#output.length, content_index: message.parts.length }
    const part = refusal ? refusalPart('') : textPart('', [])
    text += this.#event('response.content_part.added', { ...place, part })
    if (refusal) this.#deltas('response.refusal.delta', place)
    else this.#deltas('response.output_text.delta', { ...place, logprobs: [] })
    return text
  }

  #endText(): string {
    const message = this.#item
    if (message?.type !== 'message') return ''
    const text = this.#text
    const place = { item_id: message.id, output_index: this.#output.length, content_index: message.parts.length }
    const annotations = this.#annotations()
    const part = this.#refusing ? refusalPart(text) : textPart(text, annotations)
    message.parts.push(part)
    let written = ''
    for (const [index, annotation] of annotations.entries()) {
      const fields = { ...place, annotation_index: index, annotation }
      written += this.#event('response.output_text.annotation.added', fields)
    }
    written += this.#refusing
      ? this.#event('response.refusal.done', { ...place, refusal: text })
      : this.#event('response.output_text.done', { ...place, text, logprobs: [] })
    return written + this.#event('response.content_part.done', { ...place, part })
  }

  #annotations(): JsonObject[] {
    const annotations: JsonObject[] = []
    for (const citation of this.#citations) {
      const annotation = annotationOf(citation, this.#text.length)
      if (annotation === null) this.dropped.add('content.citations')
      else annotations.push(annotation)
    }
    return annotations
  }

  #startReasoning(format: string | null, sealed: string | null): string {
    const item: ReasoningItem = {
      type: 'reasoning',
      id: this.#itemId('rs'),
      format,
      text: '',
      signature: '',
      sealed,
    }
    this.#text = ''
    return this.#open(item)
  }

  #startSummary(): string {
    const place = this.#summaryPlace()
    this.#deltas('response.reasoning_summary_text.delta', place)
    return this.#event('response.reasoning_summary_part.added', { ...place, part: summaryPart('') })
  }

  #endThinking(): string {
    if (this.#item?.type !== 'reasoning' || this.#text === '') return ''
    const text = this.#text
    this.#item.text = text
    const place = this.#summaryPlace()
    const done = this.#event('response.reasoning_summary_text.done', { ...place, text })
    return done + this.#event('response.reasoning_summary_part.done', { ...place, part: summaryPart(text) })
  }

  #summaryPlace(): JsonObject {
    return { item_id: this.#item?.id ?? '', output_index: this.#output.length, summary_index: 0 }
  }

  #startCall({ kind, id, name, signature }: ToolStartEvent): string {
    let text = this.#close('completed')
    const callId = id === '' ? `call_${this.#options.id}_${this.#output.length}` : id
    // Items of calls have no place for a signature. Clients keep items of reasoning unchanged.
    if (signature !== null) {
      text += this.#startReasoning(null, seal({ kind: 'call', callId, signature })) + this.#close('completed')
    }
    const custom = kind === 'custom'
    const item: CallItem = {
      type: custom ? 'custom_tool_call' : 'function_call',
      id: this.#itemId(custom ? 'ctc' : 'fc'),
      callId,
      name,
      input: '',
    }
    this.#text = ''
    text += this.#open(item)
    this.#deltas(`response.${callEvent(item)}.delta`, { item_id: item.id, output_index: this.#output.length })
    return text
  }

  #endCall(): string {
    const call = this.#item
    if (call?.type !== 'function_call' && call?.type !== 'custom_tool_call') return ''
    const custom = call.type === 'custom_tool_call'
    // A call without input gets an empty object as its arguments.
    const delta = this.#text === '' && !custom ? this.#delta('{}') : ''
    call.input = this.#text
    const fields = { item_id: call.id, output_index: this.#output.length }
    const done = custom
      ? { ...fields, input: call.input }
      : { ...fields, ...splitName(call.name), arguments: call.input }
    return delta + this.#event(`response.${callEvent(call)}.done`, done)
  }

  #end({ stop, usage }: EndEvent): string {
    const { status, incomplete_details } = statusOf(stop, this.#refused)
    const closed = this.#close(status)
    const counted = usage ?? estimatedUsage(this.#options.estimatedPromptTokens, this.#textLength)
    const ended = { status, incomplete_details, error: null, usage: writeUsage(counted) }
    return closed + this.#lifecycle(`response.${status}`, ended)
  }

  #open(item: Item): string {
    const closed = this.#close('completed')
    this.#item = item
    const fields = { output_index: this.#output.length, item: writeItem(item, 'in_progress') }
    return closed + this.#event('response.output_item.added', fields)
  }

  #close(status: ItemStatus): string {
    if (this.#item === null) return ''
    const item = writeItem(this.#item, status)
    this.#item = null
    const output_index = this.#output.length
    this.#output.push(item)
    return this.#event('response.output_item.done', { output_index, item })
  }

  #itemId(prefix: string): string {
    return `${prefix}_${this.#options.id}_${this.#output.length + (this.#item === null ? 0 : 1)}`
  }

  #deltas(type: string, place: JsonObject): void {
    const fields = JSON.stringify({ type, ...place }).slice(0, -1)
    this.#head = `event: ${type}\ndata: ${fields},"sequence_number":`
    this.#middle = ',"delta":'
  }

  #delta(text: string): string {
    this.#text += text
    this.#textLength += text.length
    if (this.#textLength > MAX_KEPT_LENGTH) throw new Error(`The answer is longer than ${MAX_KEPT_LENGTH} characters.`)
    return `${this.#head}${this.#sequence++}${this.#middle}${JSON.stringify(text)}}\n\n`
  }

  #event(type: string, fields: JsonObject): string {
    const event = { type, sequence_number: this.#sequence++, ...fields }
    return `event: ${type}\ndata: ${JSON.stringify(event)}\n\n`
  }

  #lifecycle(type: string, state: JsonObject): string {
    const { id, model, created } = this.#options
    const head = {
      id: answerId('resp_', this.#start?.id ?? '', id),
      object: 'response',
      created_at: this.#start?.created ?? created,
      model: model ?? this.#start?.model ?? '',
      ...state,
      output: this.#output,
      usage: state['usage'] ?? null,
    }
    this.#response = head
    const response = JSON.stringify(head).slice(0, -1) + this.#echo
    return `event: ${type}\ndata: {"type":"${type}","sequence_number":${this.#sequence++},"response":${response}}\n\n`
  }
}

function callEvent({ type }: CallItem): string {
  return type === 'custom_tool_call' ? 'custom_tool_call_input' : 'function_call_arguments'
}
