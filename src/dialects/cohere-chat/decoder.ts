import type { StreamDecoder } from '../../shared/core/codec.ts'
import type { UpstreamFailure } from '../../shared/core/dialect.ts'
import type { JsonObject } from '../../shared/core/json-object.ts'
import type { StreamEvent } from '../../shared/core/stream-event.ts'
import type { Usage } from '../../shared/core/usage.ts'
import { joinData } from '../../shared/wire/sse.ts'
import { BlockWriter } from '../common/block-writer.ts'
import { INVALID_EVENT, TRUNCATED_STREAM, isDone, parseRange } from '../common/event.ts'
import { failureOf } from '../common/failure.ts'
import { textOr } from '../common/fields.ts'
import { asObject, valueAt } from '../common/json-value.ts'
import { citesText, readCitation } from './citation.ts'
import { readStop } from './stop.ts'
import { NO_ARGUMENTS, TOOL_PLAN } from './tool-plan.ts'
import { readUsage } from './usage.ts'

/** Reads a stream of POST v2/chat. A text stays open after its end, because its citations may follow. */
export class CohereDecoder implements StreamDecoder {
  over = false
  usage: Usage | null = null
  failure: UpstreamFailure | null = null
  readonly #blocks = new BlockWriter()
  #started = false
  /** The beginning of a call's arguments that may still turn out to be `null`. */
  #held: string | null = null

  /** Usage comes with the finish reason. */
  get finished(): boolean {
    return this.over && this.failure === null
  }

  decode(bytes: Buffer, start: number, end: number, out: StreamEvent[]): void {
    if (this.over) return
    const data = joinData(bytes, start, end)
    if (data === null || isDone(data, 0, data.length)) return
    const event = asObject(parseRange(data, 0, data.length))
    if (event === null) this.#fail(INVALID_EVENT, out)
    else this.#take(event, out)
  }

  finish(out: StreamEvent[]): void {
    if (!this.over) this.#fail(TRUNCATED_STREAM, out)
  }

  #take(event: JsonObject, out: StreamEvent[]): void {
    const message = valueAt(event, 'delta', 'message')
    switch (event['type']) {
      case 'message-start':
        this.#start(textOr(event['id'], ''), out)
        break
      case 'content-start':
        this.#closeBlock(out)
        this.#takeContent(valueAt(message, 'content'), out)
        break
      case 'content-delta':
        this.#takeContent(valueAt(message, 'content'), out)
        break
      case 'tool-plan-delta':
        this.#start('', out)
        this.#blocks.thinking(textOr(valueAt(message, 'tool_plan'), ''), TOOL_PLAN, out)
        break
      case 'tool-call-start':
        this.#startTool(valueAt(message, 'tool_calls'), out)
        break
      case 'tool-call-delta':
        this.#takeArguments(textOr(valueAt(message, 'tool_calls', 'function', 'arguments'), ''), out)
        break
      case 'tool-call-end':
        this.#closeBlock(out)
        break
      case 'citation-start': {
        const citation = asObject(valueAt(message, 'citations'))
        if (citation === null || !citesText(citation)) break
        this.#start('', out)
        this.#blocks.citation(readCitation(citation), out)
        break
      }
      case 'message-end':
        this.#end(asObject(event['delta']) ?? {}, out)
        break
      default:
        if (isFailure(event)) this.#fail(failureOf(event), out)
    }
  }

  #start(id: string, out: StreamEvent[]): void {
    if (this.#started) return
    this.#started = true
    out.push({ type: 'start', from: 'cohere-chat', id, model: '', created: null, usage: null, extra: null })
  }

  #takeContent(content: unknown, out: StreamEvent[]): void {
    this.#start('', out)
    const thinking = valueAt(content, 'thinking')
    if (typeof thinking === 'string') this.#blocks.thinking(thinking, null, out)
    else this.#blocks.text(textOr(valueAt(content, 'text'), ''), out)
  }

  #startTool(call: unknown, out: StreamEvent[]): void {
    this.#start('', out)
    this.#closeBlock(out)
    this.#blocks.startTool(textOr(valueAt(call, 'id'), ''), textOr(valueAt(call, 'function', 'name'), ''), out)
    this.#held = ''
    this.#takeArguments(textOr(valueAt(call, 'function', 'arguments'), ''), out)
  }

  #takeArguments(text: string, out: StreamEvent[]): void {
    if (this.#blocks.open !== 'tool') {
      this.#fail(INVALID_EVENT, out)
      return
    }
    const input = this.#held === null ? text : this.#held + text
    this.#held = this.#held !== null && NO_ARGUMENTS.startsWith(input) ? input : null
    if (this.#held === null) this.#blocks.toolInput(input, out)
  }

  #closeBlock(out: StreamEvent[]): void {
    if (this.#held !== null && this.#held !== NO_ARGUMENTS) this.#blocks.toolInput(this.#held, out)
    this.#held = null
    this.#blocks.close(out)
  }

  #end(delta: JsonObject, out: StreamEvent[]): void {
    this.#start('', out)
    this.#closeBlock(out)
    this.usage = readUsage(delta['usage'])
    const stop = readStop(delta['finish_reason'], delta['error'], this.#blocks.hasCalls)
    if ('message' in stop) {
      this.#fail(stop, out)
      return
    }
    this.over = true
    out.push({ type: 'end', stop, usage: this.usage, nativeUsage: asObject(delta['usage']), extra: null })
  }

  #fail(failure: UpstreamFailure, out: StreamEvent[]): void {
    this.over = true
    this.failure = failure
    out.push({ type: 'error', failure })
  }
}

/** Whether the event is the body of an error. */
function isFailure(event: JsonObject): boolean {
  return event['type'] === 'error' || (event['type'] === undefined && 'message' in event)
}
