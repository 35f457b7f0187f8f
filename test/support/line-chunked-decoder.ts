import { HttpFault } from '../../src/front/upstream/http1/http-fault.ts'

const LINE_FEED = 0x0a
const CARRIAGE_RETURN = 0x0d
/** The most bytes of a size line with its extensions, and of all trailers together. */
const MAX_LINE_BYTES = 4_096
const MAX_TRAILER_BYTES = 65_536
const CHUNK_SIZE = /^([0-9a-fA-F]{1,12})[ \t]*(?:;[^\r\n\0]*)?$/

type State = 'size' | 'bytes' | 'bytes-end' | 'trailer' | 'over'

/** All decoders join the chunks of a read in this buffer, which saves megabytes of garbage a second. */
const scratch = Buffer.allocUnsafeSlow(65_536)

/** The decoder that `ChunkedDecoder` replaced, line by line with strings: an oracle for it. */
export class LineChunkedDecoder {
  readonly #onBytes: (bytes: Buffer) => void
  #state: State = 'size'
  /** The beginning of an incomplete line. */
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
   * Returns how many of the bytes from `from` on belong to the body. `onBytes` gets all chunks among them as one piece, because each
   * piece costs a write downstream. The piece is valid until `onBytes` returns. Throws HttpFault on a broken coding, after passing
   * on the chunks before it.
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
      if (line !== '') throw new HttpFault('a chunk is longer than its size')
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
    if (size === undefined) throw new HttpFault('a chunk size is not a hexadecimal number')
    this.#missing = Number.parseInt(size, 16)
    this.#state = this.#missing === 0 ? 'trailer' : 'bytes'
  }
}
