import type { JSONRPCMessage, MessageExtraInfo, Transport } from '@modelcontextprotocol/server'
import { repeat } from '../../shared/runtime/repeat.ts'
import { OutgoingStream } from './outgoing-stream.ts'

const KEEP_ALIVE_MS = 15_000
const KEEP_ALIVE = Buffer.from(': ping\n\n')

/**
 * The server's end of the HTTP+SSE transport of revision 2024-11-05, which the SDK does not have any more: one stream of events to the
 * client, and a POST for each message of the client. The session ends with the stream.
 */
export class SseTransport implements Transport {
  readonly stream: OutgoingStream
  readonly sessionId: string
  onclose?: () => void
  onerror?: (error: Error) => void
  onmessage?: (message: JSONRPCMessage, extra?: MessageExtraInfo) => void
  readonly #endpoint: string
  readonly #onFault: (cause: unknown) => void
  #keepAlive: NodeJS.Timeout | null = null

  /** @param endpoint the path for messages, relative to the origin */
  constructor(sessionId: string, endpoint: string, onFault: (cause: unknown) => void) {
    this.#onFault = onFault
    this.sessionId = sessionId
    this.#endpoint = endpoint
    this.stream = new OutgoingStream(() => {
      if (this.#keepAlive !== null) clearInterval(this.#keepAlive)
      this.onclose?.()
    })
  }

  start(): Promise<void> {
    this.stream.push(Buffer.from(`event: endpoint\ndata: ${this.#endpoint}\n\n`))
    const keepAlive = (): void => {
      this.stream.push(KEEP_ALIVE)
    }
    this.#keepAlive = repeat(KEEP_ALIVE_MS, keepAlive, this.#onFault).unref()
    return Promise.resolve()
  }

  send(message: JSONRPCMessage): Promise<void> {
    this.stream.push(Buffer.from(`event: message\ndata: ${JSON.stringify(message)}\n\n`))
    return Promise.resolve()
  }

  close(): Promise<void> {
    this.stream.end()
    return Promise.resolve()
  }
}
