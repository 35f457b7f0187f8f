import { GatewayError } from '../../src/shared/core/errors.ts'
import type { Exchange, HeaderList, IncomingRequest, Responder } from '../../src/shared/core/exchange.ts'

/** The client's side of an exchange, without a socket. A test decides how much it accepts and when it leaves. */
export class FakeResponder implements Responder {
  status: number | null = null
  headers: HeaderList = []
  readonly writes: Buffer[] = []
  ended = false
  destroyed = false
  aborted = false
  /** The result of `write`. */
  accepts = true
  #onAbort: (() => void) | null = null
  #onDrain: (() => void) | null = null

  get started(): boolean {
    return this.writes.length > 0 || this.ended
  }

  get body(): Buffer {
    return Buffer.concat(this.writes)
  }

  get over(): boolean {
    return this.ended || this.destroyed || this.aborted
  }

  onAbort(listener: () => void): void {
    if (this.aborted) listener()
    else this.#onAbort = listener
  }

  onDrain(listener: () => void): void {
    this.#onDrain = listener
  }

  send(status: number, headers: HeaderList, body: Buffer | string): void {
    if (this.over) return
    this.start(status, headers)
    this.end(Buffer.from(body))
  }

  start(status: number, headers: HeaderList): void {
    if (this.over || this.status !== null) return
    this.status = status
    this.headers = headers
  }

  write(chunk: Buffer): boolean {
    // A copy, as a socket makes: later changes of the writer's buffer must not be visible.
    if (!this.over) this.writes.push(Buffer.from(chunk))
    return this.accepts
  }

  end(lastChunk?: Buffer): void {
    if (this.over) return
    if (lastChunk !== undefined && lastChunk.length > 0) this.writes.push(Buffer.from(lastChunk))
    this.ended = true
  }

  destroy(): void {
    if (!this.over) this.destroyed = true
  }

  /** The client has read everything. */
  drain(): void {
    this.#onDrain?.()
  }

  /** The client leaves. */
  leave(): void {
    this.aborted = true
    this.#onAbort?.()
  }
}

export class FakeExchange implements Exchange {
  readonly request: IncomingRequest
  readonly response = new FakeResponder()
  readonly #body: Buffer | GatewayError

  constructor(request: Partial<IncomingRequest> = {}, body: Buffer | GatewayError = Buffer.alloc(0)) {
    this.request = {
      method: 'GET',
      path: '/api/x',
      query: '',
      headers: {},
      address: '192.0.2.1',
      hasTags: false,
      params: [],
      ...request,
    }
    this.#body = body
  }

  async readBody(): Promise<Buffer> {
    if (this.#body instanceof GatewayError) throw this.#body
    return this.#body
  }
}
