import type { Attempt } from './attempt.ts'
import { bytesOf } from './body.ts'
import { ConnectionError, errorOfEvent, SluiceError } from './errors.ts'
import { SseDecoder } from './sse.ts'
import type { SseEvent } from './sse.ts'

/** How long the connection may stay open after the last event. */
const END_MS = 1_000

/** How a protocol ends its streams. */
export interface StreamEnd {
  /** True for an event that ends the stream and has no value. */
  readonly isMark?: (event: SseEvent) => boolean
  /** True for the last value. */
  readonly isLast?: (value: Readonly<Record<string, unknown>>) => boolean
}

export const CHAT_END: StreamEnd = { isMark: ({ data }) => data === '[DONE]' }
export const MESSAGES_END: StreamEnd = { isLast: ({ type }) => type === 'message_stop' }
export const RESPONSES_END: StreamEnd = {
  isLast: ({ type }) => type === 'response.completed' || type === 'response.incomplete' || type === 'response.failed',
}

/**
 * The events of an answer. They can be read once: `for await (const event of stream)`. Leaving the loop ends the request.
 * Throws a subclass of ApiError for an error event, ConnectionError when the stream ends early, and TimeoutError when nothing
 * arrives for the client's `timeoutMs`.
 */
export class EventStream<Value> implements AsyncIterable<Value> {
  /** The X-Request-Id header. */
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

  /** Ends the request and discards the rest. */
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
        // Reads the rest, so that the connection can be reused and the gateway does not take the client for gone.
        if (isOver) this.#attempt.limit(END_MS)
      }
    } catch (cause) {
      if (!isOver) throw cause
    }
    if (!isOver) throw new ConnectionError('The stream ended before its last event.')
  }

  #valueOf({ name, data }: SseEvent): Readonly<Record<string, unknown>> {
    const value = parsed(data)
    if (value === null) throw new ConnectionError('An event of the stream is not a JSON object.')
    const isError = name === 'error' || value['type'] === 'error' || isObject(value['error'])
    // In the responses protocol, `response.failed` may have an `error` member and is still a value.
    if (isError && value['type'] !== 'response.failed') throw errorOfEvent(value, this.requestId)
    return value
  }
}

function decoded(decoder: SseDecoder, text: string): SseEvent[] {
  try {
    return decoder.push(text)
  } catch (cause) {
    throw new ConnectionError('An event of the stream is too long.', { cause })
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
