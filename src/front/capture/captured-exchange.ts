import type { Exchange, HeaderList, IncomingRequest, Responder } from '../../shared/core/exchange.ts'
import type { BodyCopies } from './body-copies.ts'

/** Stands in for the exchange of a captured request: passes everything on, and then copies the bytes. */
export class CapturedExchange implements Exchange {
  readonly request: IncomingRequest
  readonly response: Responder
  readonly #inner: Exchange
  readonly #copies: BodyCopies

  constructor(inner: Exchange, copies: BodyCopies) {
    this.request = inner.request
    this.response = new CapturedResponder(inner.response, copies)
    this.#inner = inner
    this.#copies = copies
  }

  async readBody(): Promise<Buffer> {
    const body = await this.#inner.readBody()
    this.#copies.request(body)
    return body
  }

  /** The exchange itself; the copies are forgotten. */
  uncaptured(): Exchange {
    this.#copies.forget()
    return this.#inner
  }
}

class CapturedResponder implements Responder {
  readonly #inner: Responder
  readonly #copies: BodyCopies
  #onAbort: (() => void) | null = null

  constructor(inner: Responder, copies: BodyCopies) {
    this.#inner = inner
    this.#copies = copies
    // The responder has one listener.
    inner.onAbort(() => {
      copies.over(false)
      this.#onAbort?.()
    })
  }

  get aborted(): boolean {
    return this.#inner.aborted
  }

  get started(): boolean {
    return this.#inner.started
  }

  onAbort(listener: () => void): void {
    if (this.#inner.aborted) listener()
    else this.#onAbort = listener
  }

  send(status: number, headers: HeaderList, body: Buffer | string): void {
    this.#inner.send(status, headers, body)
    this.#copies.answer(typeof body === 'string' ? Buffer.from(body) : body)
    this.#copies.over(true)
  }

  start(status: number, headers: HeaderList): void {
    this.#inner.start(status, headers)
  }

  write(chunk: Buffer): boolean {
    const accepted = this.#inner.write(chunk)
    this.#copies.answer(chunk)
    return accepted
  }

  onDrain(listener: () => void): void {
    this.#inner.onDrain(listener)
  }

  end(lastChunk?: Buffer): void {
    this.#inner.end(lastChunk)
    if (lastChunk !== undefined) this.#copies.answer(lastChunk)
    this.#copies.over(true)
  }

  destroy(): void {
    this.#copies.over(false)
    this.#inner.destroy()
  }
}
