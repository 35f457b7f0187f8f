import type { OrdinaryText, StreamDecoder } from '../../shared/core/codec.ts'
import type { UpstreamFailure } from '../../shared/core/dialect.ts'
import type { JsonObject } from '../../shared/core/json-object.ts'
import type { StreamEvent } from '../../shared/core/stream-event.ts'
import type { Usage } from '../../shared/core/usage.ts'
import { SseFields, joinData } from '../../shared/wire/sse.ts'
import { EVENT_ERROR, INVALID_EVENT, TRUNCATED_STREAM, failureOfEvent, isDone } from '../common/event.ts'
import { failureOf } from '../common/failure.ts'
import { restOf, textOr } from '../common/fields.ts'
import { asObject, valueAt } from '../common/json-value.ts'
import { TextTemplate } from '../common/text-template.ts'
import { readCitation, readSignature } from './parse-block.ts'
import { readStop } from './stop-reason.ts'
import { MessageUsage } from './usage.ts'

const EMPTY = Buffer.alloc(0)
const OPEN_OBJECT = 0x7b
const TEXT = Buffer.from('"text":"')
const KNOWN_MESSAGE = new Set(['id', 'type', 'role', 'model', 'content', 'stop_reason', 'stop_sequence', 'usage'])
const KNOWN_DELTA = new Set(['stop_reason', 'stop_sequence', 'stop_details'])
const KNOWN_MESSAGE_DELTA = new Set(['type', 'delta', 'usage'])

type Open = 'none' | 'text' | 'thinking' | 'tool' | 'native' | 'redacted'

/** Reads the events of a messages stream. */
export class MessagesDecoder implements StreamDecoder {
  over = false
  failure: UpstreamFailure | null = null
  readonly #fields = new SseFields()
  readonly #usage = new MessageUsage()
  readonly #template = new TextTemplate()
  /** The text of the current event when it is a plain delta, and the block in which the template was learned. */
  #ordinary: string | null = null
  #ordinaryIndex = -1
  #nativeUsage: Record<string, unknown> | null = null
  #started = false
  #hasContent = false
  #hasCalls = false
  #open: Open = 'none'
  #index = -1
  #stopReason: string | null = null
  #stopSequence: string | null = null
  #stopDetails: JsonObject | null = null
  #extra: JsonObject | null = null

  get usage(): Usage | null {
    return this.#usage.read()
  }

  get finished(): boolean {
    return this.failure === null && this.#stopReason !== null
  }

  decode(bytes: Buffer, start: number, end: number, out: StreamEvent[]): void {
    if (this.over) return
    if (this.#mayBeOrdinary()) {
      const ordinary = this.#template.match(bytes, start, end)
      if (ordinary !== null) {
        this.#text(ordinary, out)
        return
      }
    }
    const fields = this.#fields
    fields.read(bytes, start, end)
    if (fields.nameIs(bytes, EVENT_ERROR)) {
      this.#fail(failureOfEvent(joinData(bytes, start, end) ?? EMPTY), out)
    } else if (fields.dataLines === 0) {
      // Some services answer with a bare object when a stream was asked for.
      if (bytes[start] === OPEN_OBJECT) this.#fail(failureOfEvent(bytes.subarray(start, end)), out)
    } else if (fields.dataLines > 1) {
      this.#parse((joinData(bytes, start, end) ?? EMPTY).toString('utf8'), out)
    } else if (!isDone(bytes, fields.dataStart, fields.dataEnd)) {
      // Some services also send `[DONE]`, which ends streams of the other dialect.
      this.#parse(bytes.toString('utf8', fields.dataStart, fields.dataEnd), out)
      if (this.#ordinary !== null) this.#template.learn(bytes, start, end, TEXT, this.#ordinary)
      this.#ordinary = null
    }
  }

  ordinaryText(bytes: Buffer, start: number, limit: number): OrdinaryText | null {
    return this.over || !this.#mayBeOrdinary() ? null : this.#template.matchPlain(bytes, start, limit)
  }

  /** The open block is the text in which the template was learned. */
  #mayBeOrdinary(): boolean {
    return this.#open === 'text' && this.#ordinaryIndex === this.#index
  }

  finish(out: StreamEvent[]): void {
    if (!this.over) this.#fail(TRUNCATED_STREAM, out)
  }

  #fail(failure: UpstreamFailure, out: StreamEvent[]): void {
    this.over = true
    this.failure = failure
    out.push({ type: 'error', failure })
  }

  #parse(payload: string, out: StreamEvent[]): void {
    let parsed: unknown
    try {
      parsed = JSON.parse(payload)
    } catch {
      this.#fail(INVALID_EVENT, out)
      return
    }
    const event = asObject(parsed)
    if (event === null) this.#fail(INVALID_EVENT, out)
    else this.#event(event, out)
  }

  #event(event: JsonObject, out: StreamEvent[]): void {
    const type = event['type']
    if (type === 'content_block_delta') {
      const delta = asObject(event['delta'])
      if (delta === null) return
      this.#delta(delta, event['index'], out)
      if (this.#open !== 'text' || delta['type'] !== 'text_delta' || event['index'] !== this.#index) return
      this.#ordinary = textOr(delta['text'], null)
      this.#ordinaryIndex = this.#index
      return
    }
    if (type === 'error' || event['error']) {
      const failure = failureOf(event)
      this.#fail(failure.type === '' ? { ...failure, type: 'error' } : failure, out)
      return
    }
    switch (type) {
      case 'message_start':
        this.#start(asObject(event['message']) ?? {}, out)
        break
      case 'content_block_start':
        this.#startBlock(asObject(event['content_block']) ?? {}, event['index'], out)
        break
      case 'content_block_stop':
        this.#close(out)
        break
      case 'message_delta':
        this.#messageDelta(event)
        break
      case 'message_stop':
        this.#end(out)
        break
      case 'ping':
        out.push({ type: 'ping' })
    }
  }

  /**
   * Clients break on a second start. Before any content it is ignored; after content, two answers are mixed and the stream
   * fails.
   */
  #start(message: JsonObject, out: StreamEvent[]): void {
    if (this.#hasContent) {
      this.#fail(INVALID_EVENT, out)
      return
    }
    this.#takeUsage(message['usage'])
    if (this.#started) return
    this.#started = true
    out.push({
      type: 'start',
      from: 'anthropic-messages',
      id: textOr(message['id'], ''),
      model: textOr(message['model'], ''),
      created: null,
      usage: this.#usage.read(),
      extra: restOf(message, KNOWN_MESSAGE),
    })
  }

  /** Counters cover the whole message so far: a counter in an event overwrites the earlier value. */
  #takeUsage(value: unknown): void {
    const usage = asObject(value)
    if (usage === null) return
    this.#usage.apply(usage)
    this.#nativeUsage ??= {}
    for (const name of Object.keys(usage)) if (usage[name] !== null) this.#nativeUsage[name] = usage[name]
  }

  #ensureStarted(out: StreamEvent[]): void {
    if (!this.#started) this.#start({}, out)
    this.#hasContent = true
  }

  #startBlock(block: JsonObject, index: unknown, out: StreamEvent[]): void {
    this.#ensureStarted(out)
    this.#close(out)
    this.#index = typeof index === 'number' ? index : this.#index + 1
    const type = block['type']
    switch (type) {
      case 'text':
        this.#open = 'text'
        out.push({ type: 'text-start', refusal: false })
        this.#text(block['text'], out)
        break
      case 'thinking':
        this.#open = 'thinking'
        out.push({ type: 'thinking-start', format: null })
        this.#thinking(block['thinking'], out)
        this.#signature(block['signature'], out)
        break
      case 'redacted_thinking':
        this.#open = 'redacted'
        out.push({ type: 'redacted-thinking', data: textOr(block['data'], ''), format: null })
        break
      case 'tool_use':
        this.#startTool(block, out)
        break
      default:
        this.#open = 'native'
        out.push({ type: 'native-start', kind: textOr(type, ''), value: block })
    }
  }

  #startTool(block: JsonObject, out: StreamEvent[]): void {
    this.#open = 'tool'
    this.#hasCalls = true
    out.push({
      type: 'tool-start',
      kind: 'function',
      id: textOr(block['id'], ''),
      name: textOr(block['name'], ''),
      signature: null,
      extra: null,
    })
    const input = asObject(block['input'])
    if (input !== null && Object.keys(input).length > 0) this.#input(JSON.stringify(input), out)
  }

  #delta(delta: JsonObject, index: unknown, out: StreamEvent[]): void {
    const type = delta['type']
    // A delta of a block that has not begun, or that returns after another block, begins a block.
    if (this.#open === 'none' || (typeof index === 'number' && index !== this.#index)) {
      if (type === 'text_delta') this.#startBlock({ type: 'text' }, index, out)
      else if (type === 'thinking_delta') this.#startBlock({ type: 'thinking' }, index, out)
      else return
    }
    if (this.#open === 'native') {
      out.push({ type: 'native-delta', value: delta })
      return
    }
    switch (type) {
      case 'text_delta':
        this.#text(delta['text'], out)
        break
      case 'input_json_delta':
        if (this.#open === 'tool') this.#input(delta['partial_json'], out)
        break
      case 'thinking_delta':
        this.#thinking(delta['thinking'], out)
        break
      case 'signature_delta':
        this.#signature(delta['signature'], out)
        break
      case 'citations_delta': {
        const citation = asObject(delta['citation'])
        if (citation !== null && this.#open === 'text') out.push({ type: 'citation', citation: readCitation(citation) })
      }
    }
  }

  #text(text: unknown, out: StreamEvent[]): void {
    if (typeof text !== 'string' || text === '' || this.#open !== 'text') return
    out.push({ type: 'text-delta', text })
  }

  #thinking(text: unknown, out: StreamEvent[]): void {
    if (typeof text !== 'string' || text === '' || this.#open !== 'thinking') return
    out.push({ type: 'thinking-delta', text })
  }

  #signature(value: unknown, out: StreamEvent[]): void {
    const text = readSignature(value)
    if (text !== null && this.#open === 'thinking') out.push({ type: 'thinking-signature', text })
  }

  #input(text: unknown, out: StreamEvent[]): void {
    if (typeof text !== 'string' || text === '') return
    out.push({ type: 'tool-delta', text })
  }

  #close(out: StreamEvent[]): void {
    switch (this.#open) {
      case 'text':
        out.push({ type: 'text-end' })
        break
      case 'thinking':
        out.push({ type: 'thinking-end' })
        break
      case 'tool':
        out.push({ type: 'tool-end' })
        break
      case 'native':
        out.push({ type: 'native-end' })
        break
      case 'redacted':
      case 'none':
    }
    this.#open = 'none'
  }

  #messageDelta(event: JsonObject): void {
    const delta = asObject(event['delta'])
    this.#takeUsage(event['usage'])
    this.#stopReason = textOr(delta?.['stop_reason'], null) ?? this.#stopReason
    this.#stopSequence = textOr(delta?.['stop_sequence'], null) ?? this.#stopSequence
    this.#stopDetails = asObject(valueAt(delta, 'stop_details')) ?? this.#stopDetails
    const ofDelta = delta === null ? null : restOf(delta, KNOWN_DELTA)
    const ofEvent = restOf(event, KNOWN_MESSAGE_DELTA)
    if (ofDelta !== null || ofEvent !== null) this.#extra = { ...this.#extra, ...ofDelta, ...ofEvent }
  }

  #end(out: StreamEvent[]): void {
    this.#ensureStarted(out)
    this.#close(out)
    this.over = true
    out.push({
      type: 'end',
      stop: readStop(this.#stopReason, this.#stopSequence, this.#stopDetails, this.#hasCalls),
      usage: this.usage,
      nativeUsage: this.#nativeUsage,
      extra: this.#extra,
    })
  }
}
