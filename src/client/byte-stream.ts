import type { Attempt } from './attempt.ts'
import { bytesOf } from './body.ts'
import { SluiceError } from './errors.ts'

/** A file that can be read once: `for await (const bytes of file)`. Leaving the loop ends the request. */
export class ByteStream implements AsyncIterable<Uint8Array> {
  readonly contentType: string
  /** The X-Request-Id header. */
  readonly requestId: string | null
  readonly #response: Response
  readonly #attempt: Attempt
  #taken = false

  constructor(response: Response, attempt: Attempt) {
    this.contentType = response.headers.get('content-type') ?? ''
    this.requestId = response.headers.get('x-request-id')
    this.#response = response
    this.#attempt = attempt
  }

  [Symbol.asyncIterator](): AsyncGenerator<Uint8Array, void> {
    if (this.#taken) throw new SluiceError('This file has been read already.')
    this.#taken = true
    return bytesOf(this.#response, this.#attempt)
  }

  /** Reads the whole file into memory. Use it for small files. */
  async text(): Promise<string> {
    const decoder = new TextDecoder()
    let text = ''
    for await (const bytes of this) text += decoder.decode(bytes, { stream: true })
    return text + decoder.decode()
  }

  /** Ends the request and discards the rest. */
  cancel(): void {
    this.#taken = true
    this.#attempt.end()
  }
}
