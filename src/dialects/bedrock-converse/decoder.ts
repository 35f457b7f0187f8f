import type { StreamDecoder } from '../../shared/core/codec.ts'
import type { UpstreamFailure } from '../../shared/core/dialect.ts'
import type { Citation } from '../../shared/core/content.ts'
import type { JsonObject } from '../../shared/core/json-object.ts'
import type { StreamEvent } from '../../shared/core/stream-event.ts'
import type { Usage } from '../../shared/core/usage.ts'
import { readAwsFrame } from '../../shared/wire/aws-event-stream.ts'
import type { AwsFrame } from '../../shared/wire/aws-event-stream.ts'
import { BlockWriter } from '../common/block-writer.ts'
import { INVALID_EVENT, TRUNCATED_STREAM, parseRange } from '../common/event.ts'
import { textOr } from '../common/fields.ts'
import { asObject, valueAt } from '../common/json-value.ts'
import { SIGNED_FORMAT } from '../common/signed-thinking.ts'
import { failureOfFrame } from './errors.ts'
import { isServerTool, readCitation, serverToolKind } from './parse-block.ts'
import { readRedacted } from './redacted.ts'
import { readStop } from './stop.ts'
import { readUsage } from './usage.ts'

/**
 * Reads a stream of ConverseStream. Text and reasoning begin with their first delta; only tools have an event for their
 * start. Usage comes after the stop reason.
 */
export class ConverseDecoder implements StreamDecoder {
  over = false
  usage: Usage | null = null
  failure: UpstreamFailure | null = null
  readonly #blocks = new BlockWriter()
  #started = false
  /** Index of the open block. */
  #index: unknown = null
  /** Redacted bytes of the open block. They may come in pieces. */
  readonly #redacted: Buffer[] = []
  /** Citations of the open block, until it is known whether the block has a text. */
  readonly #citations: Citation[] = []
  /** The open text has ended, but a later block may hold citations of it. */
  #textIsOver = false
  /** The payload of `messageStop`. */
  #stop: JsonObject | null = null
  #metadata: JsonObject | null = null

  get finished(): boolean {
    return this.#stop !== null && this.failure === null
  }

  decode(bytes: Buffer, start: number, end: number, out: StreamEvent[]): void {
    if (this.over) return
    const frame = readAwsFrame(bytes, start, end)
    if (frame === null) this.#fail(INVALID_EVENT, out)
    else if (frame.messageType !== 'event') this.#fail(failureOfFrame(frame), out)
    else this.#take(frame, out)
  }

  finish(out: StreamEvent[]): void {
    if (this.over) return
    if (this.#stop === null) this.#fail(TRUNCATED_STREAM, out)
    else this.#end(out)
  }

  #take(frame: AwsFrame, out: StreamEvent[]): void {
    const payload = asObject(parseRange(frame.payload, 0, frame.payload.length))
    if (payload === null) {
      this.#fail(INVALID_EVENT, out)
      return
    }
    this.#start(out)
    switch (frame.type) {
      case 'contentBlockStart':
        this.#startBlock(payload, out)
        break
      case 'contentBlockDelta':
        this.#takeDelta(payload, out)
        break
      case 'contentBlockStop':
        this.#stopBlock(out)
        break
      case 'messageStop':
        this.#stop = payload
        if (this.#metadata !== null) this.#end(out)
        break
      case 'metadata':
        this.#metadata = payload
        this.usage = readUsage(payload['usage']) ?? this.usage
        if (this.#stop !== null) this.#end(out)
    }
  }

  #start(out: StreamEvent[]): void {
    if (this.#started) return
    this.#started = true
    out.push({
      type: 'start',
      from: 'bedrock-converse',
      id: '',
      model: '',
      created: null,
      usage: null,
      extra: null,
    })
  }

  #startBlock(payload: JsonObject, out: StreamEvent[]): void {
    this.#closeBlock(out)
    this.#index = payload['contentBlockIndex']
    const begun = asObject(payload['start']) ?? {}
    const call = asObject(begun['toolUse'])
    if (call !== null && !isServerTool(call)) {
      this.#blocks.startTool(textOr(call['toolUseId'], ''), textOr(call['name'], ''), out)
    } else {
      // Some models begin a text with an empty object.
      const kind = call === null ? Object.keys(begun)[0] : serverToolKind(call)
      if (kind !== undefined) this.#blocks.startNative(kind, begun, out)
    }
  }

  #takeDelta(payload: JsonObject, out: StreamEvent[]): void {
    const delta = asObject(payload['delta']) ?? {}
    if (payload['contentBlockIndex'] !== this.#index) {
      this.#stopBlock(out)
      this.#index = payload['contentBlockIndex']
    }
    const citation = asObject(delta['citation'])
    if (citation !== null && this.#blocks.open !== 'native') {
      this.#citations.push(readCitation(citation))
      if (this.#blocks.open === 'text' && !this.#textIsOver) this.#cite(out)
      return
    }
    // An empty text says nothing and does not end the text before it.
    if (delta['text'] === '') return
    if (this.#textIsOver) this.#endText(out)
    if (this.#blocks.open === 'native') {
      this.#blocks.native(delta, out)
      return
    }
    if (typeof delta['text'] === 'string') {
      this.#blocks.text(delta['text'], out)
      this.#cite(out)
      return
    }
    const input = valueAt(delta, 'toolUse', 'input')
    if (input !== undefined) {
      // Input for a call that never began, or that has ended, could belong to any call.
      if (this.#blocks.open !== 'tool') this.#fail(INVALID_EVENT, out)
      else this.#blocks.toolInput(typeof input === 'string' ? input : JSON.stringify(input), out)
      return
    }
    const reasoning = asObject(delta['reasoningContent'])
    if (reasoning !== null) this.#takeReasoning(reasoning, out)
  }

  #takeReasoning(reasoning: JsonObject, out: StreamEvent[]): void {
    if (typeof reasoning['text'] === 'string') this.#blocks.thinking(reasoning['text'], SIGNED_FORMAT, out)
    if (typeof reasoning['signature'] === 'string') {
      this.#blocks.signature(reasoning['signature'], SIGNED_FORMAT, out)
    }
    const redacted = reasoning['redactedContent']
    if (typeof redacted === 'string') this.#redacted.push(Buffer.from(redacted, 'base64'))
  }

  /** Keeps a text open for its citations. */
  #stopBlock(out: StreamEvent[]): void {
    if (this.#blocks.open !== 'text') {
      this.#closeBlock(out)
      return
    }
    this.#cite(out)
    this.#textIsOver = true
    this.#index = null
  }

  #cite(out: StreamEvent[]): void {
    for (const citation of this.#citations) this.#blocks.citation(citation, out)
    this.#citations.length = 0
  }

  /** Ends the text, because another block follows. */
  #endText(out: StreamEvent[]): void {
    this.#blocks.close(out)
    this.#textIsOver = false
  }

  #closeBlock(out: StreamEvent[]): void {
    if (this.#blocks.open === 'text') this.#cite(out)
    // Citations without a text cite nothing.
    this.#citations.length = 0
    this.#textIsOver = false
    if (this.#redacted.length > 0) {
      this.#blocks.redacted(readRedacted(Buffer.concat(this.#redacted)), SIGNED_FORMAT, out)
      this.#redacted.length = 0
    }
    this.#blocks.close(out)
    this.#index = null
  }

  #end(out: StreamEvent[]): void {
    this.#closeBlock(out)
    const stop = readStop(this.#stop?.['stopReason'], this.#stop?.['additionalModelResponseFields'], this.#blocks)
    if ('message' in stop) {
      this.#fail(stop, out)
      return
    }
    this.over = true
    const nativeUsage = asObject(this.#metadata?.['usage'])
    const trace = asObject(this.#metadata?.['trace'])
    out.push({ type: 'end', stop, usage: this.usage, nativeUsage, extra: trace === null ? null : { trace } })
  }

  #fail(failure: UpstreamFailure, out: StreamEvent[]): void {
    this.over = true
    this.failure = failure
    out.push({ type: 'error', failure })
  }
}
