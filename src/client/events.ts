import { ConnectionError } from './errors.ts'
import { SseDecoder } from './sse.ts'
import type { SseEvent } from './sse.ts'

/**
 * Yields the server-sent events of a live stream: `for await (const { name, data } of eventsOf(await client.call('streamLogs')))`. Ends
 * with the stream. Throws as the stream does, and ConnectionError for an event that is too long.
 */
export async function* eventsOf(stream: AsyncIterable<Uint8Array>): AsyncGenerator<SseEvent, void> {
  const decoder = new SseDecoder()
  const utf8 = new TextDecoder()
  for await (const bytes of stream) yield* decoded(decoder, utf8.decode(bytes, { stream: true }))
}

function decoded(decoder: SseDecoder, text: string): readonly SseEvent[] {
  try {
    return decoder.push(text)
  } catch (cause) {
    throw new ConnectionError('An event of the stream is too long.', { cause })
  }
}
