import { HttpFault } from './http-fault.ts'

const LINE_FEED = 0x0a
const CARRIAGE_RETURN = 0x0d
const TAB = 0x09
const SPACE = 0x20
const SEMICOLON = 0x3b
/** The most bytes of a size line with its extensions, and of all trailers together. */
const MAX_LINE_BYTES = 4_096
const MAX_TRAILER_BYTES = 65_536
const MAX_SIZE_DIGITS = 12

/** The value of each byte as a hexadecimal digit; NO_DIGIT for others. */
const NO_DIGIT = 16
const DIGITS = Uint8Array.from({ length: 256 }, (_, byte) => {
  const value = Number.parseInt(String.fromCharCode(byte), 16)
  return Number.isNaN(value) ? NO_DIGIT : value
})

/** States: what the next byte belongs to. The first three are lines. */
const SIZE_LINE = 0
/** The line end behind the bytes of a chunk. */
const CHUNK_END = 1
const TRAILER = 2
const CHUNK = 3
const OVER = 4

/** Parts of a size line. */
const DIGIT = 0
const BLANK = 1
const EXTENSION = 2
const INVALID = 3

/** Takes `bytes[from, to)`, a piece of a body, which is valid until this returns. */
export type TakeBytes = (bytes: Buffer, from: number, to: number) => void

/** Decodes the chunked coding (RFC 9112 §7.1) of a body, whose pieces may end anywhere. Reads byte by byte, without strings. */
export class ChunkedDecoder {
  readonly #onBytes: TakeBytes
  #state = SIZE_LINE
  /** Bytes of the current line so far, its line end included. */
  #lineBytes = 0
  /** The last byte of the current line so far is a CR. */
  #afterReturn = false
  #part = DIGIT
  #digits = 0
  #size = 0
  /** Bytes that the current chunk still lacks. */
  #missing = 0
  #trailerBytes = 0

  constructor(onBytes: TakeBytes) {
    this.#onBytes = onBytes
  }

  get isComplete(): boolean {
    return this.#state === OVER
  }

  /**
   * Returns how many of the bytes `[from, to)` belong to the body. `onBytes` gets all chunks among them as one piece, because each
   * piece costs a write downstream: to join them, this moves them within `bytes`. Throws HttpFault on a broken coding, after passing
   * on the chunks before it.
   */
  push(bytes: Buffer, from: number, to: number): number {
    let start = from
    let end = from
    let at = from
    try {
      while (at < to && this.#state !== OVER) {
        if (this.#state !== CHUNK) {
          at = this.#takeLine(bytes, at, to)
          continue
        }
        const chunkEnd = Math.min(to, at + this.#missing)
        if (start === end) start = end = at
        else bytes.copyWithin(end, at, chunkEnd)
        end += chunkEnd - at
        this.#missing -= chunkEnd - at
        if (this.#missing === 0) this.#state = CHUNK_END
        at = chunkEnd
      }
    } finally {
      if (start < end) this.#onBytes(bytes, start, end)
    }
    return at - from
  }

  /** Returns the index behind the line, or `to`. */
  #takeLine(bytes: Buffer, from: number, to: number): number {
    const isSize = this.#state === SIZE_LINE
    let lineBytes = this.#lineBytes
    let afterReturn = this.#afterReturn
    for (let at = from; at < to; at++) {
      const byte = bytes[at] as number
      if (++lineBytes > MAX_LINE_BYTES) throw new HttpFault('a line of the chunked coding is too long')
      if (byte === LINE_FEED) {
        if (!afterReturn) throw new HttpFault('a bare line feed in the chunked coding')
        this.#lineBytes = 0
        this.#afterReturn = false
        this.#endLine(lineBytes - 2)
        return at + 1
      }
      // Then that CR was part of the line.
      if (afterReturn) this.#part = INVALID
      afterReturn = byte === CARRIAGE_RETURN
      if (isSize && !afterReturn) this.#takeSizeByte(byte)
    }
    this.#lineBytes = lineBytes
    this.#afterReturn = afterReturn
    return to
  }

  #takeSizeByte(byte: number): void {
    if (this.#part === DIGIT) {
      const value = DIGITS[byte] as number
      if (value !== NO_DIGIT && this.#digits < MAX_SIZE_DIGITS) {
        this.#digits++
        this.#size = this.#size * 16 + value
        return
      }
      if (this.#digits === 0 || value !== NO_DIGIT) this.#part = INVALID
    }
    if (this.#part === DIGIT || this.#part === BLANK) {
      if (byte === SEMICOLON) this.#part = EXTENSION
      else this.#part = byte === SPACE || byte === TAB ? BLANK : INVALID
    } else if (byte === 0) this.#part = INVALID
  }

  /** @param length without the line end */
  #endLine(length: number): void {
    if (this.#state === SIZE_LINE) this.#endSizeLine()
    else if (this.#state === CHUNK_END) {
      if (length > 0) throw new HttpFault('a chunk is longer than its size')
      this.#state = SIZE_LINE
      this.#part = DIGIT
    } else {
      this.#trailerBytes += length
      if (this.#trailerBytes > MAX_TRAILER_BYTES) throw new HttpFault('the trailers are too long')
      if (length === 0) this.#state = OVER
    }
  }

  #endSizeLine(): void {
    if (this.#part === INVALID || this.#digits === 0) {
      throw new HttpFault('a chunk size is not a hexadecimal number')
    }
    this.#missing = this.#size
    this.#state = this.#size === 0 ? TRAILER : CHUNK
    this.#size = 0
    this.#digits = 0
  }
}
