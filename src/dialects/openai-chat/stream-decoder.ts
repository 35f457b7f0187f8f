import type { OrdinaryText, StreamDecoder } from '../../shared/core/codec.ts'
import type { UpstreamFailure } from '../../shared/core/dialect.ts'
import type { JsonObject } from '../../shared/core/json-object.ts'
import type { StreamEvent } from '../../shared/core/stream-event.ts'
import type { Usage } from '../../shared/core/usage.ts'
import { SseFields, joinData } from '../../shared/wire/sse.ts'
import { EVENT_ERROR, INVALID_EVENT, TRUNCATED_STREAM, failureOfEvent, isDone } from '../common/event.ts'
import { failureOf } from '../common/failure.ts'
import { arrayOf, textOr } from '../common/fields.ts'
import { asObject, valueAt } from '../common/json-value.ts'
import { SIGNED_FORMAT } from '../common/signed-thinking.ts'
import { TextTemplate } from '../common/text-template.ts'
import { inputText } from '../common/tool-input.ts'
import { BlockOrder } from './block-order.ts'
import type { PendingCall } from './block-order.ts'
import { readCitation } from './parse-answer.ts'
import { thinkingText } from './parse-message.ts'
import { failureOfChoice, readStop } from './stop-reason.ts'
import { readChatUsage } from './usage.ts'

const EMPTY = Buffer.alloc(0)
const OPEN_OBJECT = 0x7b
const CONTENT = Buffer.from('"content":"')

/** Reads the first choice of a chat stream. */
export class ChatDecoder implements StreamDecoder {
  over = false
  usage: Usage | null = null
  failure: UpstreamFailure | null = null
  readonly #fields = new SseFields()
  readonly #blocks = new BlockOrder()
  readonly #template = new TextTemplate()
  /** The text of the current chunk when it has nothing else. */
  #ordinary: string | null = null
  #started = false
  #id = ''
  #model = ''
  #created: number | null = null
  #finish: string | null = null
  #refuses = false
  #namesReasoning = false
  #nativeUsage: JsonObject | null = null

  get finished(): boolean {
    return this.failure === null && this.#finish !== null
  }

  decode(bytes: Buffer, start: number, end: number, out: StreamEvent[]): void {
    if (this.over) return
    const ordinary = this.#template.match(bytes, start, end)
    if (ordinary !== null) {
      this.#text(ordinary, false, out)
      return
    }
    const fields = this.#fields
    fields.read(bytes, start, end)
    if (fields.nameIs(bytes, EVENT_ERROR)) {
      this.#fail(failureOfEvent(joinData(bytes, start, end) ?? EMPTY), out)
    } else if (fields.dataLines === 0) {
      // Some services answer with a bare object when a stream was asked for.
      if (bytes[start] === OPEN_OBJECT) this.#fail(failureOfEvent(bytes.subarray(start, end)), out)
    } else if (fields.dataLines === 1) {
      if (isDone(bytes, fields.dataStart, fields.dataEnd)) this.#done(out)
      else {
        this.#chunk(bytes.toString('utf8', fields.dataStart, fields.dataEnd), out)
        if (this.#ordinary !== null) this.#template.learn(bytes, start, end, CONTENT, this.#ordinary)
        this.#ordinary = null
      }
    } else {
      this.#chunk((joinData(bytes, start, end) ?? EMPTY).toString('utf8'), out)
    }
  }

  ordinaryText(bytes: Buffer, start: number, limit: number): OrdinaryText | null {
    return this.over || !this.#blocks.isInText ? null : this.#template.matchPlain(bytes, start, limit)
  }

  /** `[DONE]` makes an answer whole, even when the service gave no finish reason. */
  #done(out: StreamEvent[]): void {
    if (this.#started) this.#finish ??= ''
    this.finish(out)
  }

  finish(out: StreamEvent[]): void {
    if (this.over) return
    if (this.#finish === null) {
      this.#fail(TRUNCATED_STREAM, out)
      return
    }
    this.#start(out)
    this.#blocks.end(out)
    this.over = true
    const stop = readStop(this.#finish, this.#blocks.hasCalls, this.#refuses)
    out.push({ type: 'end', stop, usage: this.usage, nativeUsage: this.#nativeUsage, extra: null })
  }

  #fail(failure: UpstreamFailure, out: StreamEvent[]): void {
    this.over = true
    this.failure = failure
    out.push({ type: 'error', failure })
  }

  #chunk(payload: string, out: StreamEvent[]): void {
    let parsed: unknown
    try {
      parsed = JSON.parse(payload)
    } catch {
      this.#fail(INVALID_EVENT, out)
      return
    }
    const chunk = asObject(parsed)
    if (chunk === null) {
      this.#fail(INVALID_EVENT, out)
      return
    }
    if (chunk['error']) {
      const failure = failureOf(chunk)
      this.#fail(failure.type === '' ? { ...failure, type: 'error' } : failure, out)
      return
    }
    if (!this.#started) this.#introduce(chunk)
    const vendor = chunk['x_groq']
    if (vendor !== undefined) this.#takeUsage(valueAt(vendor, 'usage'))
    const choices = arrayOf(chunk['choices'])
    if (choices.length === 1 && vendor === undefined && !chunk['usage']) this.#ordinary = ordinaryText(choices[0])
    for (const choice of choices) {
      const object = asObject(choice)
      // Other dialects have no place for more choices, and the client did not ask for them.
      if (object !== null && !this.over && !(Number(object['index']) > 0)) this.#choice(object, out)
    }
    this.#takeUsage(chunk['usage'])
  }

  #introduce(chunk: JsonObject): void {
    this.#id = textOr(chunk['id'], '') || this.#id
    this.#model = textOr(chunk['model'], '') || this.#model
    if (typeof chunk['created'] === 'number') this.#created ??= chunk['created']
  }

  /** Services that send several usages count from the start each time, so the last one wins. */
  #takeUsage(value: unknown): void {
    if (value === undefined || value === null) return
    const usage = readChatUsage(value)
    if (usage === null) return
    this.usage = usage
    this.#nativeUsage = asObject(value)
  }

  #choice(choice: JsonObject, out: StreamEvent[]): void {
    const delta = asObject(choice['delta'])
    if (delta !== null) {
      this.#start(out)
      this.#delta(delta, out)
    }
    const failure = failureOfChoice(choice)
    if (failure !== null) {
      this.#fail(failure, out)
      return
    }
    const finish = choice['finish_reason']
    if (typeof finish === 'string' && finish !== '') this.#finish ??= finish
    this.#takeUsage(choice['usage'])
  }

  #start(out: StreamEvent[]): void {
    if (this.#started) return
    this.#started = true
    out.push({
      type: 'start',
      from: 'openai-chat',
      id: this.#id,
      model: this.#model,
      created: this.#created,
      usage: this.usage,
      extra: null,
    })
  }

  #delta(delta: JsonObject, out: StreamEvent[]): void {
    const field = typeof delta['reasoning_content'] === 'string' ? 'reasoning_content' : 'reasoning'
    const reasoning = delta[field]
    if (typeof reasoning === 'string' && reasoning !== '') {
      this.#namesReasoning = true
      this.#thinking(reasoning, field, out)
    }
    const details = delta['reasoning_details']
    if (Array.isArray(details)) this.#details(details, out)
    const content = delta['content']
    if (typeof content === 'string') this.#text(content, false, out)
    else if (Array.isArray(content)) this.#parts(content, out)
    if (typeof delta['refusal'] === 'string') this.#text(delta['refusal'], true, out)
    const calls = delta['tool_calls']
    if (Array.isArray(calls)) {
      for (let position = 0; position < calls.length; position++) {
        const fragment = asObject(calls[position])
        if (fragment !== null) this.#call(fragment, calls.length > 1, out)
      }
    }
    const legacy = asObject(delta['function_call'])
    if (legacy !== null) this.#legacyCall(legacy, out)
    const annotations = delta['annotations']
    if (Array.isArray(annotations)) {
      for (const annotation of annotations) {
        const object = asObject(annotation)
        if (object !== null) this.#blocks.cite(readCitation(object), out)
      }
    }
  }

  /** Takes the text of details, unless the same text comes under another name. */
  #details(details: readonly unknown[], out: StreamEvent[]): void {
    for (const detail of details) {
      const object = asObject(detail)
      if (object === null) continue
      const format = textOr(object['format'], '')
      if (object['type'] === 'reasoning.encrypted') {
        this.#blocks.redacted(textOr(object['data'], ''), format, out)
        continue
      }
      if (!this.#namesReasoning) {
        this.#thinking(textOr(object['text'], null) ?? textOr(object['summary'], ''), format, out)
      }
      const signature = object['signature']
      if (typeof signature === 'string' && format === SIGNED_FORMAT) this.#blocks.signature(signature, out)
    }
  }

  #thinking(text: string, format: string, out: StreamEvent[]): void {
    if (text === '') return
    this.#blocks.thinking(text, format, out)
  }

  #text(text: string, refusal: boolean, out: StreamEvent[]): void {
    if (text === '') return
    if (refusal) this.#refuses = true
    this.#blocks.text(text, refusal, out)
  }

  #parts(parts: readonly unknown[], out: StreamEvent[]): void {
    for (const part of parts) {
      const object = asObject(part)
      if (object?.['type'] === 'thinking') this.#thinking(thinkingText(object['thinking']), 'part', out)
      else this.#text(textOr(object?.['text'], ''), false, out)
    }
  }

  #call(fragment: JsonObject, whole: boolean, out: StreamEvent[]): void {
    const custom = asObject(fragment['custom'])
    const definition = custom ?? asObject(fragment['function'])
    const id = textOr(fragment['id'], '')
    const name = textOr(definition?.['name'], '')
    const index = fragment['index']
    const call = this.#find(typeof index === 'number' ? index : null, id, name, whole)
    if (call.id === '') call.id = id
    if (call.name === '') call.name = name
    if (custom !== null) call.kind = 'custom'
    const signature = valueAt(fragment, 'extra_content', 'google', 'thought_signature')
    if (typeof signature === 'string') call.signature = signature
    this.#input(call, custom === null ? definition?.['arguments'] : custom['input'], out)
  }

  #legacyCall(fragment: JsonObject, out: StreamEvent[]): void {
    const name = textOr(fragment['name'], '')
    // Some services send an empty `function_call` with every chunk.
    if (name === '' && this.#blocks.calls.length === 0) return
    const call = this.#blocks.calls[0] ?? this.#blocks.register(null)
    call.kind = 'legacy'
    if (call.name === '') call.name = name
    this.#input(call, fragment['arguments'], out)
  }

  #input(call: PendingCall, input: unknown, out: StreamEvent[]): void {
    const written = inputText(input)
    // Some services send null as the arguments of a tool without parameters.
    const text = written === 'null' && !call.depth.begun ? '' : written
    this.#blocks.input(call, text, out)
  }

  /**
   * Finds the call of a fragment by its index, unless another call has that index. Without an index, a new id begins a call;
   * a name begins one when calls come whole, or when the last call is complete.
   */
  #find(index: number | null, id: string, name: string, whole: boolean): PendingCall {
    const { calls } = this.#blocks
    if (index === null) {
      const last = calls.at(-1)
      if (last === undefined) return this.#blocks.register(null)
      if (id !== '') return calls.findLast((call) => call.id === id) ?? this.#blocks.register(null)
      return name !== '' && (whole || last.depth.complete) ? this.#blocks.register(null) : last
    }
    const known = calls.findLast((call) => call.key === index)
    if (known === undefined) return this.#blocks.register(index)
    const another = name !== '' && id !== '' && known.id !== '' && id !== known.id
    return another ? this.#blocks.register(index) : known
  }
}

/** The text of a first choice that has nothing else. */
function ordinaryText(choice: unknown): string | null {
  const object = asObject(choice)
  const delta = asObject(object?.['delta'])
  if (object === null || delta === null || object['finish_reason'] || object['usage'] || object['index'] !== 0)
    return null
  const content = delta['content']
  for (const name in delta) if (name !== 'content' && name !== 'role' && delta[name] !== null) return null
  return typeof content === 'string' && content !== '' ? content : null
}
