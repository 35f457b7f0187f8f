import { crc32 } from 'node:zlib'

/*
 *  frame  ┌────────────┬──────────────┬───────────────┬─────────┬─────────┬───────────────┐
 *         │ u32 length │ u32 length   │ u32 CRC-32 of │ headers │ payload │ u32 CRC-32 of │
 *         │ of all     │ of headers   │ the 8 bytes   │         │         │ all before    │
 *         └────────────┴──────────────┴───────────────┴─────────┴─────────┴───────────────┘
 *  header  u8 length of name │ name │ u8 type │ value: of a fixed length, or u16 length and bytes     (big endian)
 */
const PRELUDE_BYTES = 12
const TRAILER_BYTES = 4
const LEAST_FRAME_BYTES = PRELUDE_BYTES + TRAILER_BYTES
const DEFAULT_MAX_FRAME_BYTES = 8 * 1024 * 1024
const EMPTY = Buffer.alloc(0)

const STRING = 7
const BYTES = 6
/** Length of a header's value by its type. Values of the types bytes and string have their length in front of them. */
const FIXED_LENGTHS: Readonly<Record<number, number>> = { 0: 0, 1: 0, 2: 1, 3: 2, 4: 4, 5: 8, 8: 8, 9: 16 }

/** The bytes are not a frame, or the frame is longer than the bound. The start of the next frame cannot be found. */
export class AwsFrameError extends Error {
  constructor(problem: string) {
    super(problem)
    this.name = 'AwsFrameError'
  }
}

/** Receives one frame, `bytes[start, end)`, valid until it returns. Returns false to receive no more. */
export type AwsFrameListener = (bytes: Buffer, start: number, end: number) => boolean | void

/**
 * Cuts `application/vnd.amazon.eventstream` into frames, wherever the chunks are cut. Frames that lie within a chunk are
 * not copied. Checks the preludes, whose lengths it trusts; `readAwsFrame` checks the rest.
 */
export class AwsFrameSplitter {
  readonly #maxFrameBytes: number
  /** The beginning of a frame: its prelude, then a buffer for all of it. */
  #rest: Buffer = EMPTY
  #restLength = 0
  /** Length of the frame in `#rest`; 0 until its prelude is whole. */
  #frameBytes = 0
  #stopped = false

  constructor(maxFrameBytes: number = DEFAULT_MAX_FRAME_BYTES) {
    this.#maxFrameBytes = maxFrameBytes
  }

  /** Hands out every frame that ends within `chunk`. False once the listener has returned false. Throws AwsFrameError. */
  split(chunk: Buffer, onFrame: AwsFrameListener): boolean {
    let at = 0
    while (!this.#stopped && at < chunk.length) {
      if (this.#restLength === 0 && chunk.length - at >= PRELUDE_BYTES) {
        const end = at + this.#lengthOf(chunk, at)
        if (end <= chunk.length) {
          this.#stopped = onFrame(chunk, at, end) === false
          at = end
          continue
        }
      }
      at = this.#keep(chunk, at, onFrame)
    }
    return !this.#stopped
  }

  /** For the end of the stream: hands out a last frame that is incomplete. */
  finish(onFrame: AwsFrameListener): void {
    if (this.#stopped || this.#restLength === 0) return
    this.#stopped = true
    onFrame(this.#rest, 0, this.#restLength)
  }

  /** Copies the bytes that belong to the current frame. @returns the index after them */
  #keep(chunk: Buffer, start: number, onFrame: AwsFrameListener): number {
    if (this.#restLength === 0) this.#rest = Buffer.allocUnsafe(PRELUDE_BYTES)
    const wanted = (this.#frameBytes === 0 ? PRELUDE_BYTES : this.#frameBytes) - this.#restLength
    const end = Math.min(start + wanted, chunk.length)
    chunk.copy(this.#rest, this.#restLength, start, end)
    this.#restLength += end - start
    if (end - start < wanted) return end
    if (this.#frameBytes === 0) {
      this.#frameBytes = this.#lengthOf(this.#rest, 0)
      const frame = Buffer.allocUnsafe(this.#frameBytes)
      this.#rest.copy(frame, 0, 0, PRELUDE_BYTES)
      this.#rest = frame
      return end
    }
    const frame = this.#rest
    const length = this.#frameBytes
    // Cleared before the listener runs, which may throw.
    this.#rest = EMPTY
    this.#restLength = 0
    this.#frameBytes = 0
    this.#stopped = onFrame(frame, 0, length) === false
    return end
  }

  #lengthOf(bytes: Buffer, start: number): number {
    if (crc32(bytes.subarray(start, start + 8)) !== bytes.readUInt32BE(start + 8)) {
      throw new AwsFrameError('The checksum of a prelude is wrong.')
    }
    const length = bytes.readUInt32BE(start)
    const headersLength = bytes.readUInt32BE(start + 4)
    if (length < LEAST_FRAME_BYTES + headersLength) throw new AwsFrameError('A frame is shorter than its parts.')
    if (length > this.#maxFrameBytes) throw new AwsFrameError(`A frame is longer than ${this.#maxFrameBytes} bytes.`)
    return length
  }
}

export interface AwsFrame {
  /** `event`, `exception` or `error`. */
  readonly messageType: string
  /** The type of the event or exception, or the code of the error. */
  readonly type: string
  /** The message of an error, which has no payload. */
  readonly message: string
  readonly payload: Buffer
}

/** Reads one whole frame; null when the bytes are not one, or a checksum is wrong. The payload is not copied. */
export function readAwsFrame(bytes: Buffer, start: number, end: number): AwsFrame | null {
  if (end - start < LEAST_FRAME_BYTES || bytes.readUInt32BE(start) !== end - start) return null
  const headersEnd = start + PRELUDE_BYTES + bytes.readUInt32BE(start + 4)
  const payloadEnd = end - TRAILER_BYTES
  if (headersEnd > payloadEnd) return null
  if (crc32(bytes.subarray(start, payloadEnd)) !== bytes.readUInt32BE(payloadEnd)) return null
  const headers = readHeaders(bytes, start + PRELUDE_BYTES, headersEnd)
  if (headers === null) return null
  const messageType = headers.get(':message-type') ?? ''
  const named =
    messageType === 'error' ? ':error-code' : messageType === 'exception' ? ':exception-type' : ':event-type'
  return {
    messageType,
    type: headers.get(named) ?? '',
    message: headers.get(':error-message') ?? '',
    payload: bytes.subarray(headersEnd, payloadEnd),
  }
}

/** The headers whose values are strings. */
function readHeaders(bytes: Buffer, start: number, end: number): Map<string, string> | null {
  const headers = new Map<string, string>()
  let at = start
  while (at < end) {
    const nameEnd = at + 1 + (bytes[at] ?? 0)
    if (nameEnd >= end) return null
    const name = bytes.toString('utf8', at + 1, nameEnd)
    const type = bytes[nameEnd] ?? 0
    at = nameEnd + 1
    let length = FIXED_LENGTHS[type]
    if (type === STRING || type === BYTES) {
      if (at + 2 > end) return null
      length = bytes.readUInt16BE(at)
      at += 2
    }
    if (length === undefined || at + length > end) return null
    if (type === STRING) headers.set(name, bytes.toString('utf8', at, at + length))
    at += length
  }
  return headers
}

/** A frame with these headers, all of them strings. */
export function writeAwsFrame(headers: Readonly<Record<string, string>>, payload: string): Buffer {
  const parts: Buffer[] = []
  for (const [name, value] of Object.entries(headers)) {
    const text = Buffer.from(value)
    const length = Buffer.alloc(2)
    length.writeUInt16BE(text.length)
    parts.push(Buffer.from([Buffer.byteLength(name)]), Buffer.from(name), Buffer.from([STRING]), length, text)
  }
  const head = Buffer.concat(parts)
  const payloadBytes = Buffer.byteLength(payload)
  const frame = Buffer.alloc(LEAST_FRAME_BYTES + head.length + payloadBytes)
  frame.writeUInt32BE(frame.length, 0)
  frame.writeUInt32BE(head.length, 4)
  frame.writeUInt32BE(crc32(frame.subarray(0, 8)), 8)
  head.copy(frame, PRELUDE_BYTES)
  frame.write(payload, PRELUDE_BYTES + head.length)
  const payloadEnd = frame.length - TRAILER_BYTES
  frame.writeUInt32BE(crc32(frame.subarray(0, payloadEnd)), payloadEnd)
  return frame
}
