import { HttpFault } from './http-fault.ts'

const LINE_FEED = 0x0a
const CARRIAGE_RETURN = 0x0d
/** Of a size with its extensions, and of all trailers together. */
const MAX_LINE_BYTES = 4_096
const MAX_TRAILER_BYTES = 65_536
const CHUNK_SIZE = /^([0-9a-fA-F]{1,12})[ \t]*(?:;[^\r\n\0]*)?$/

type State = 'size' | 'bytes' | 'bytes-end' | 'trailer' | 'over'

/** What all decoders put the bytes of a read together in: megabytes a second of garbage otherwise. */
const scratch = Buffer.allocUnsafeSlow(65_536)

/** Takes the chunked coding (RFC 9112 §7.1) off a body, whose pieces may end anywhere. */
export class ChunkedDecoder {
  readonly #onBytes: (bytes: Buffer) => void
  #state: State = 'size'
  /** Of a line that is not whole yet. */
  #line = ''
  #missing = 0
  #trailerBytes = 0

  constructor(onBytes: (bytes: Buffer) => void) {
    this.#onBytes = onBytes
  }

  get isComplete(): boolean {
    return this.#state === 'over'
  }

  /**
   * Returns how many of the bytes behind `from` belong to the body. All chunks among them are handed on as one piece: small
   * ones would cost a write each downstream. It is valid until the listener returns. Throws HttpFault on a broken coding, after
   * what was whole before it.
   */
  push(bytes: Buffer, from: number): number {
    const most = bytes.length - from
    const pieces = most <= scratch.length ? scratch : Buffer.allocUnsafe(most)
    let length = 0
    let at = from
    try {
      while (at < bytes.length && this.#state !== 'over') {
        if (this.#state === 'bytes') {
          const end = Math.min(bytes.length, at + this.#missing)
          length += bytes.copy(pieces, length, at, end)
          this.#missing -= end - at
          if (this.#missing === 0) this.#state = 'bytes-end'
          at = end
        } else at = this.#takeLine(bytes, at)
      }
    } finally {
      if (length > 0) this.#onBytes(pieces.subarray(0, length))
    }
    return at - from
  }

  #takeLine(bytes: Buffer, from: number): number {
    const lineFeed = bytes.indexOf(LINE_FEED, from)
    const end = lineFeed === -1 ? bytes.length : lineFeed + 1
    if (this.#line.length + end - from > MAX_LINE_BYTES) throw new HttpFault('a line of the chunked coding is too long')
    const line = this.#line + bytes.toString('latin1', from, end)
    if (lineFeed === -1) {
      this.#line = line
      return end
    }
    if (line.charCodeAt(line.length - 2) !== CARRIAGE_RETURN)
      throw new HttpFault('a bare line feed in the chunked coding')
    this.#line = ''
    this.#readLine(line.slice(0, -2))
    return end
  }

  #readLine(line: string): void {
    if (this.#state === 'bytes-end') {
      if (line !== '') throw new HttpFault('a chunk is longer than it says')
      this.#state = 'size'
      return
    }
    if (this.#state === 'trailer') {
      this.#trailerBytes += line.length
      if (this.#trailerBytes > MAX_TRAILER_BYTES) throw new HttpFault('the trailers are too long')
      if (line === '') this.#state = 'over'
      return
    }
    const size = CHUNK_SIZE.exec(line)?.[1]
    if (size === undefined) throw new HttpFault('a chunk size that is none')
    this.#missing = Number.parseInt(size, 16)
    this.#state = this.#missing === 0 ? 'trailer' : 'bytes'
  }
}
