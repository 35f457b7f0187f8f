import type { Attempt } from './attempt.ts'
import { bytesOf } from './body.ts'
import { ConnectionError, errorOfEvent, SluiceError } from './errors.ts'
import { SseDecoder } from './sse.ts'
import type { SseEvent } from './sse.ts'

/** How long the connection may take to end behind the last event. */
const END_MS = 1_000

/** How a protocol ends its streams. */
export interface StreamEnd {
  /** The event is no value, but says that the stream is over. */
  readonly isMark?: (event: SseEvent) => boolean
  /** This value is the last one. */
  readonly isLast?: (value: Readonly<Record<string, unknown>>) => boolean
}

export const CHAT_END: StreamEnd = { isMark: ({ data }) => data === '[DONE]' }
export const MESSAGES_END: StreamEnd = { isLast: ({ type }) => type === 'message_stop' }
export const RESPONSES_END: StreamEnd = {
  isLast: ({ type }) => type === 'response.completed' || type === 'response.incomplete' || type === 'response.failed',
}

/**
 * The events of an answer, to be read once: `for await (const event of stream)`. Leaving the loop ends the request. Throws the
 * error that the stream tells of as a subclass of ApiError, ConnectionError when it ends before it is over, and TimeoutError
 * when nothing comes for the client's `timeoutMs`.
 */
export class EventStream<Value> implements AsyncIterable<Value> {
  /** As in X-Request-Id. */
  readonly requestId: string | null
  readonly headers: Headers
  readonly #response: Response
  readonly #attempt: Attempt
  readonly #end: StreamEnd
  #taken = false

  constructor(response: Response, attempt: Attempt, end: StreamEnd) {
    this.requestId = response.headers.get('x-request-id')
    this.headers = response.headers
    this.#response = response
    this.#attempt = attempt
    this.#end = end
  }

  [Symbol.asyncIterator](): AsyncGenerator<Value, void> {
    if (this.#taken) throw new SluiceError('This stream has been read already.')
    this.#taken = true
    return this.#values()
  }

  /** Ends the request; the rest is not wanted. */
  cancel(): void {
    this.#taken = true
    this.#attempt.end()
  }

  async *#values(): AsyncGenerator<Value, void> {
    const decoder = new SseDecoder()
    const utf8 = new TextDecoder()
    let isOver = false
    try {
      for await (const bytes of bytesOf(this.#response, this.#attempt)) {
        if (isOver) continue
        for (const event of decoded(decoder, utf8.decode(bytes, { stream: true }))) {
          if (this.#end.isMark?.(event) === true) {
            isOver = true
            break
          }
          const value = this.#valueOf(event)
          isOver = this.#end.isLast?.(value) === true
          yield value as Value
          if (isOver) break
        }
        // The rest is read, so that the connection can be used again and nobody is taken to have left.
        if (isOver) this.#attempt.limit(END_MS)
      }
    } catch (cause) {
      if (!isOver) throw cause
    }
    if (!isOver) throw new ConnectionError('The stream ended before it was over.')
  }

  #valueOf({ name, data }: SseEvent): Readonly<Record<string, unknown>> {
    const value = parsed(data)
    if (value === null) throw new ConnectionError('The stream holds what is no JSON object.')
    const isError = name === 'error' || value['type'] === 'error' || isObject(value['error'])
    // The responses protocol has a member of this name in events that are none.
    if (isError && value['type'] !== 'response.failed') throw errorOfEvent(value, this.requestId)
    return value
  }
}

function decoded(decoder: SseDecoder, text: string): SseEvent[] {
  try {
    return decoder.push(text)
  } catch (cause) {
    throw new ConnectionError('The stream holds an event that is too long.', { cause })
  }
}

function parsed(data: string): Readonly<Record<string, unknown>> | null {
  try {
    const value: unknown = JSON.parse(data)
    return isObject(value) ? value : null
  } catch {
    return null
  }
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
