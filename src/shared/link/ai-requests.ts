import { GatewayError } from '../core/errors.ts'
import type { Exchange, HeaderList, IncomingRequest, Responder } from '../core/exchange.ts'
import { TAG_HEADER } from '../core/tags.ts'
import type { ToolCallReport } from '../core/tool-call.ts'
import { GrowingBody } from '../runtime/growing-body.ts'
import type { AiReply, AiRequestMessage } from './messages.ts'
import { CREDIT_BYTES } from './messages.ts'

/** Requests of the control process that one front may have under way; a further one is broken off. */
const MAX_IN_FLIGHT = 256
const FRAME_BYTES = 65_536

type Send = (reply: AiReply) => boolean

/** A front's end of the AI requests that the control process makes: each is an exchange, like one of a client. */
export class AiRequests {
  readonly #send: Send
  readonly #exchanges = new Map<number, LinkExchange>()
  /** Serves an exchange; set by the composition root before the first request. */
  serve: (exchange: Exchange) => void = (exchange) => {
    exchange.response.destroy()
  }

  constructor(send: Send) {
    this.#send = send
  }

  /** The number of answers that are not over. */
  get open(): number {
    return this.#exchanges.size
  }

  receive(message: AiRequestMessage): void {
    const known = this.#exchanges.get(message.id)
    switch (message.type) {
      case 'ai-request':
        this.#begin(message)
        return
      case 'ai-credit':
        known?.response.grant(message.bytes)
        return
      case 'ai-report':
        known?.tellReport(message.report)
        return
      case 'ai-cancel':
        known?.response.markAborted()
    }
  }

  /** The connection is lost, and with it everybody who waits for an answer. */
  lost(): void {
    for (const { response } of [...this.#exchanges.values()]) response.markAborted()
  }

  #begin({ id, method, path, headers, address, keyDigest, body }: AiRequestMessage & { type: 'ai-request' }): void {
    if (this.#exchanges.size >= MAX_IN_FLIGHT) {
      this.#send({ type: 'ai-broken', id })
      return
    }
    const response = new LinkResponder(id, this.#send, () => this.#exchanges.delete(id))
    const request = { method, path, query: '', headers, hasTags: hasTags(headers), address, params: [], keyDigest }
    const exchange = new LinkExchange(request, response, body)
    this.#exchanges.set(id, exchange)
    this.serve(exchange)
  }
}

class LinkExchange implements Exchange {
  readonly request: IncomingRequest
  readonly response: LinkResponder
  readonly #body = new GrowingBody()
  tellReport: (report: ToolCallReport) => void = () => undefined
  readonly reported = new Promise<ToolCallReport>((resolve) => {
    this.tellReport = resolve
  })

  constructor(request: IncomingRequest, response: LinkResponder, body: Uint8Array) {
    this.request = request
    this.response = response
    // A copy: workers take the memory of a body, and this one is a part of a frame.
    this.#body.append(body)
  }

  readBody(): Promise<Buffer> {
    if (this.response.aborted) return Promise.reject(new GatewayError('CLIENT_CLOSED'))
    return Promise.resolve(this.#body.take())
  }
}

/** Sends an answer to the control process, within its credit. */
class LinkResponder implements Responder {
  readonly #id: number
  readonly #send: Send
  readonly #onOver: () => void
  #state: 'idle' | 'head' | 'streaming' | 'over' = 'idle'
  #aborted = false
  #credit = CREDIT_BYTES
  #onAbort: (() => void) | null = null
  #onDrain: (() => void) | null = null

  constructor(id: number, send: Send, onOver: () => void) {
    this.#id = id
    this.#send = send
    this.#onOver = onOver
  }

  get aborted(): boolean {
    return this.#aborted
  }

  get started(): boolean {
    return this.#state === 'streaming' || this.#state === 'over'
  }

  onAbort(listener: () => void): void {
    if (this.#aborted) listener()
    else this.#onAbort = listener
  }

  onDrain(listener: () => void): void {
    this.#onDrain = listener
  }

  send(status: number, headers: HeaderList, body: Buffer | string): void {
    if (this.started) return
    this.#state = 'idle'
    this.start(status, headers)
    this.end(typeof body === 'string' ? Buffer.from(body) : body)
  }

  start(status: number, headers: HeaderList): void {
    if (this.#state !== 'idle') return
    this.#state = 'head'
    const texts = headers.map(([name, value]) => [name, String(value)] as const)
    this.#tell({ type: 'ai-response', id: this.#id, status, headers: texts })
  }

  write(chunk: Buffer): boolean {
    if (this.#state === 'over' || chunk.length === 0) return true
    this.#state = 'streaming'
    this.#pieces(chunk)
    return this.#credit > 0
  }

  end(lastChunk?: Buffer): void {
    if (this.#state === 'over') return
    if (lastChunk !== undefined) this.#pieces(lastChunk)
    this.#tell({ type: 'ai-body', id: this.#id, bytes: new Uint8Array(0), last: true })
    this.#over()
  }

  destroy(): void {
    if (this.#state === 'over') return
    this.#tell({ type: 'ai-broken', id: this.#id })
    this.markAborted()
  }

  /** Takes bytes that the control process has read. */
  grant(bytes: number): void {
    const wasFull = this.#credit <= 0
    this.#credit += bytes
    if (wasFull && this.#credit > 0) this.#onDrain?.()
  }

  /** Nobody waits for the answer any more. */
  markAborted(): void {
    if (this.#state === 'over') return
    this.#aborted = true
    this.#over()
    const listener = this.#onAbort
    this.#onAbort = null
    listener?.()
  }

  #pieces(chunk: Buffer): void {
    this.#credit -= chunk.length
    for (let at = 0; at < chunk.length; at += FRAME_BYTES) {
      this.#tell({ type: 'ai-body', id: this.#id, bytes: chunk.subarray(at, at + FRAME_BYTES), last: false })
    }
  }

  #tell(reply: AiReply): void {
    this.#send(reply)
  }

  #over(): void {
    this.#state = 'over'
    this.#onDrain = null
    this.#onOver()
  }
}

function hasTags(headers: IncomingRequest['headers']): boolean {
  return Object.keys(headers).some((name) => name.startsWith(TAG_HEADER))
}
