import { createServer } from 'node:http'
import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { GatewayError } from '../../shared/core/errors.ts'
import { GrowingBody } from '../../shared/runtime/growing-body.ts'
import { newRequestId } from '../../shared/core/request-id.ts'
import type { ManagementRequest, ManagementResponse } from '../management/web.ts'
import { listening } from './listening.ts'

export interface ManagementListenerOptions {
  readonly host: string
  readonly port: number
  readonly maxBodyBytes: number
  /** How long a request may take to arrive, body included. */
  readonly bodyTimeoutMs: number
  readonly serve: (request: ManagementRequest) => Promise<ManagementResponse>
  /** Returns the response to a request that fails before `serve`. */
  readonly refuse: (error: GatewayError, requestId: string) => ManagementResponse
  readonly addressOf: (peer: string, forwardedFor: string | undefined) => string
  readonly now: () => number
  readonly onFault: (cause: unknown) => void
}

const MAX_CONNECTIONS = 1_024
/** The same number as through one front. */
const MAX_IN_FLIGHT = 256
/** Without a byte either way. */
const SILENCE_MS = 60_000

/** Serves the management API on its own address, without the fronts. */
export class ManagementListener {
  readonly #options: ManagementListenerOptions
  readonly #server: Server
  #inFlight = 0

  constructor(options: ManagementListenerOptions) {
    this.#options = options
    this.#server = createServer({ requestTimeout: options.bodyTimeoutMs })
    this.#server.maxConnections = MAX_CONNECTIONS
    this.#server.setTimeout(SILENCE_MS)
    this.#server.on('request', (incoming, outgoing) => {
      this.#answer(incoming, outgoing).catch((cause: unknown) => {
        // A client that disconnects is not a fault.
        if (!outgoing.destroyed) options.onFault(cause)
        outgoing.destroy()
      })
    })
  }

  /** Rejects when the address is taken. */
  listen(): Promise<void> {
    return listening(this.#server, 'management.port', this.#options)
  }

  close(): void {
    this.#server.close()
    this.#server.closeAllConnections()
  }

  async #answer(incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
    const requestId = newRequestId(this.#options.now())
    const response = await this.#respond(incoming, outgoing, requestId)
    // The unread rest of the body would look like the next request.
    if (!incoming.complete) outgoing.setHeader('connection', 'close')
    outgoing.writeHead(response.status, response.headers.flat())
    const { body } = response
    if (Buffer.isBuffer(body)) outgoing.end(body)
    else await pipeline(Readable.from(body), outgoing)
  }

  async #respond(incoming: IncomingMessage, outgoing: ServerResponse, requestId: string): Promise<ManagementResponse> {
    const { serve, refuse, addressOf } = this.#options
    const left = new AbortController()
    const leave = (): void => {
      this.#inFlight -= 1
      left.abort()
    }
    this.#inFlight += 1
    outgoing.once('close', leave)
    try {
      if (this.#inFlight > MAX_IN_FLIGHT) {
        const message = 'Too many management requests at the same time.'
        throw new GatewayError('CONCURRENCY_EXCEEDED', { message, retryAfterSeconds: 1 })
      }
      const url = incoming.url ?? '/'
      const cut = url.indexOf('?')
      const headers = Object.fromEntries(
        Object.entries(incoming.headers).map(([name, value]) => [
          name,
          Array.isArray(value) ? value.join(', ') : value,
        ]),
      )
      return await serve({
        requestId,
        method: incoming.method ?? 'GET',
        path: cut < 0 ? url : url.slice(0, cut),
        query: cut < 0 ? '' : url.slice(cut + 1),
        headers,
        address: addressOf(incoming.socket.remoteAddress ?? '', headers['x-forwarded-for']),
        body: await this.#bodyOf(incoming),
        signal: left.signal,
      })
    } catch (cause) {
      return refuse(GatewayError.from(cause), requestId)
    }
  }

  async #bodyOf(incoming: IncomingMessage): Promise<Buffer> {
    const { maxBodyBytes } = this.#options
    const body = new GrowingBody()
    // The connection must stay open for the response that refuses the body.
    for await (const piece of incoming.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
      if (body.length + piece.length > maxBodyBytes) {
        throw new GatewayError('BODY_TOO_LARGE', { message: `The body is larger than ${maxBodyBytes} bytes.` })
      }
      body.append(piece)
    }
    return body.take()
  }
}
