import type { StreamDecoder } from '../../shared/core/codec.ts'
import type { UpstreamFailure } from '../../shared/core/dialect.ts'
import type { StreamEvent } from '../../shared/core/stream-event.ts'
import type { Usage } from '../../shared/core/usage.ts'
import { readAwsFrame } from '../../shared/wire/aws-event-stream.ts'
import { MessagesDecoder } from '../anthropic-messages/stream-decoder.ts'
import { failureOfFrame } from '../bedrock-converse/errors.ts'
import { INVALID_EVENT, parseRange } from '../common/event.ts'
import { valueAt } from '../common/json-value.ts'

const BEFORE_DATA = Buffer.from('data: ')
const AFTER_DATA = Buffer.from('\n\n')

/** Reads the events of messages from the frames of InvokeModelWithResponseStream. */
export class InvokeDecoder implements StreamDecoder {
  readonly #messages = new MessagesDecoder()
  #failure: UpstreamFailure | null = null

  get over(): boolean {
    return this.#failure !== null || this.#messages.over
  }

  get finished(): boolean {
    return this.#failure === null && this.#messages.finished
  }

  get usage(): Usage | null {
    return this.#messages.usage
  }

  get failure(): UpstreamFailure | null {
    return this.#failure ?? this.#messages.failure
  }

  decode(bytes: Buffer, start: number, end: number, out: StreamEvent[]): void {
    if (this.over) return
    const frame = readAwsFrame(bytes, start, end)
    if (frame === null || frame.messageType !== 'event') {
      this.#fail(frame === null ? INVALID_EVENT : failureOfFrame(frame), out)
      return
    }
    const data = valueAt(parseRange(frame.payload, 0, frame.payload.length), 'bytes')
    if (typeof data !== 'string') {
      this.#fail(INVALID_EVENT, out)
      return
    }
    const event = Buffer.concat([BEFORE_DATA, Buffer.from(data, 'base64'), AFTER_DATA])
    this.#messages.decode(event, 0, event.length, out)
  }

  finish(out: StreamEvent[]): void {
    if (!this.over) this.#messages.finish(out)
  }

  #fail(failure: UpstreamFailure, out: StreamEvent[]): void {
    this.#failure = failure
    out.push({ type: 'error', failure })
  }
}
