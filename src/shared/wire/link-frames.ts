import { Packr } from 'msgpackr'

/** Largest frame either side accepts; a snapshot of a hundred thousand keys is below it. */
const MAX_FRAME_BYTES = 256 * 1024 * 1024
const HEADER_BYTES = 4

/** Turns values into frames: u32le length, msgpack. */
export function createFrameEncoder(): (value: unknown) => Buffer {
  const packr = new Packr({ useRecords: false })
  return (value) => {
    const payload = packr.pack(value)
    const frame = Buffer.allocUnsafe(HEADER_BYTES + payload.length)
    frame.writeUInt32LE(payload.length, 0)
    payload.copy(frame, HEADER_BYTES)
    return frame
  }
}

/** Cuts a byte stream into frames again. Throws RangeError on a length past the bound. */
export class FrameDecoder {
  readonly #packr = new Packr({ useRecords: false })
  #chunks: Buffer[] = []
  #bytes = 0
  #wanted = HEADER_BYTES

  push(chunk: Buffer, onValue: (value: unknown) => void): void {
    this.#chunks.push(chunk)
    this.#bytes += chunk.length
    if (this.#bytes < this.#wanted) return
    let bytes = this.#chunks.length === 1 ? chunk : Buffer.concat(this.#chunks, this.#bytes)
    this.#wanted = HEADER_BYTES
    while (bytes.length >= HEADER_BYTES) {
      const length = bytes.readUInt32LE(0)
      if (length > MAX_FRAME_BYTES) throw new RangeError(`a frame of ${length} bytes is too large`)
      const end = HEADER_BYTES + length
      if (bytes.length < end) {
        this.#wanted = end
        break
      }
      // Binary values of msgpackr may point into the buffer that it reads: never write to that buffer again.
      onValue(this.#packr.unpack(bytes.subarray(HEADER_BYTES, end)))
      bytes = bytes.subarray(end)
    }
    this.#chunks = bytes.length === 0 ? [] : [bytes]
    this.#bytes = bytes.length
  }
}
