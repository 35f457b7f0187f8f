import { crc32c } from './crc32c.ts'
import { packValue, unpackValue, writeRecord } from './record.ts'
import { MsgpackWriter } from './msgpack-writer.ts'
import type { JournalRecord } from '../shared/core/request-record.ts'

/*
 *  segment   ┌──────────┬───────────────┬─────────┬─────────┬──
 *            │ SLUICEJ1 │ header frame  │ record  │ record  │ …
 *            └──────────┴───────────────┴─────────┴─────────┴──
 *  frame     ┌────────────────────┬──────────────────────┬─────────────────┐
 *            │ u32le length       │ u32le CRC-32C        │ payload         │
 *            │ of the payload     │ of the payload       │ msgpack         │
 *            └────────────────────┴──────────────────────┴─────────────────┘
 */
const MAGIC = Buffer.from('SLUICEJ1', 'latin1')
export const FRAME_HEADER_BYTES = 8
export const MAX_PAYLOAD_BYTES = 16 * 1024 * 1024

/** The process that wrote a segment. No other process ever uses its `writer` name. A file is named `<writer>-<seq>.seg`. */
export interface SegmentHeader {
  readonly writer: string
  readonly pid: number
  /** Start of the process in clock ticks since boot, as in /proc/<pid>/stat; null where there is no /proc. */
  readonly startTicks: string | null
  readonly bootId: string | null
  readonly createdAtMs: number
}

/** The position of a frame with a correct checksum. Its payload begins `FRAME_HEADER_BYTES` later, and may still not be a record. */
export interface JournalFrame {
  readonly start: number
  readonly end: number
}

export interface FrameBatch {
  readonly frames: readonly JournalFrame[]
  /** The position after the last whole frame. */
  readonly next: number
  /**
   * Why reading ended. `end`: nothing is left. `limit`: as many frames as asked. `torn`: the buffer ends inside a frame.
   * `corrupt`: a wrong checksum or an impossible length.
   */
  readonly stop: 'end' | 'limit' | 'torn' | 'corrupt'
  /** Size of the frame at `next` in bytes if its length is known and plausible; otherwise 0. */
  readonly stopFrameBytes: number
}

/**
 * Collects frames in two buffers that it reuses. `take` returns the bytes appended since the last `take`. They stay valid until
 * the next `take`, so that records can be appended while these bytes are written.
 */
export class FrameWriter {
  #filling: Buffer
  #taken: Buffer
  #length = 0
  readonly #writer = new MsgpackWriter()

  constructor(initialBytes = 64 * 1024) {
    this.#filling = Buffer.allocUnsafeSlow(initialBytes)
    this.#taken = Buffer.allocUnsafeSlow(initialBytes)
  }

  /** Bytes that were appended and not taken yet. */
  get pendingBytes(): number {
    return this.#length
  }

  append(record: JournalRecord): void {
    this.#writer.begin(this.#filling, this.#length + FRAME_HEADER_BYTES)
    writeRecord(this.#writer, record)
    this.#filling = this.#writer.bytes
    this.#endFrame(this.#writer.at)
  }

  /** Appends the start of a new segment: the magic and the header frame. */
  appendHeader(header: SegmentHeader): void {
    this.#reserve(MAGIC.length)
    MAGIC.copy(this.#filling, this.#length)
    this.#length += MAGIC.length
    this.#appendPayload(packValue(header))
  }

  take(): Buffer {
    const bytes = this.#filling.subarray(0, this.#length)
    const spare = this.#taken
    this.#taken = this.#filling
    this.#filling = spare
    this.#length = 0
    return bytes
  }

  #appendPayload(payload: Buffer): void {
    this.#reserve(FRAME_HEADER_BYTES + payload.length)
    const start = this.#length + FRAME_HEADER_BYTES
    this.#filling.set(payload, start)
    this.#endFrame(start + payload.length)
  }

  /** Writes the length and the checksum before the payload that ends at `end`. */
  #endFrame(end: number): void {
    const start = this.#length + FRAME_HEADER_BYTES
    if (end - start > MAX_PAYLOAD_BYTES) {
      throw new RangeError(`a journal record has ${end - start} bytes; the limit is ${MAX_PAYLOAD_BYTES}`)
    }
    const target = this.#filling
    target.writeUInt32LE(end - start, this.#length)
    target.writeUInt32LE(crc32c(target, start, end), this.#length + 4)
    this.#length = end
  }

  #reserve(bytes: number): void {
    const needed = this.#length + bytes
    if (needed <= this.#filling.length) return
    const grown = Buffer.allocUnsafeSlow(Math.max(needed, this.#filling.length * 2))
    this.#filling.copy(grown, 0, 0, this.#length)
    this.#filling = grown
  }
}

/** Finds up to `limit` frames from `offset` on. Never throws: `stop` names the fault. */
export function readFrames(buffer: Buffer, offset: number, limit = Infinity): FrameBatch {
  const frames: JournalFrame[] = []
  let next = offset
  for (;;) {
    const payloadStart = next + FRAME_HEADER_BYTES
    if (next >= buffer.length) return { frames, next, stop: 'end', stopFrameBytes: 0 }
    if (frames.length >= limit) return { frames, next, stop: 'limit', stopFrameBytes: 0 }
    if (payloadStart > buffer.length) return { frames, next, stop: 'torn', stopFrameBytes: 0 }
    const length = buffer.readUInt32LE(next)
    // No record is empty. A file system can fill a hole with zeros, and the checksum of an empty payload, zero, would match.
    if (length === 0 || length > MAX_PAYLOAD_BYTES) return { frames, next, stop: 'corrupt', stopFrameBytes: 0 }
    const end = payloadStart + length
    const stopFrameBytes = end - next
    if (end > buffer.length) return { frames, next, stop: 'torn', stopFrameBytes }
    if (crc32c(buffer, payloadStart, end) !== buffer.readUInt32LE(next + 4)) {
      return { frames, next, stop: 'corrupt', stopFrameBytes }
    }
    frames.push({ start: next, end })
    next = end
  }
}

/**
 * Finds the next whole record from `offset` on, after damaged bytes. Returns its position, or -1 when there is none.
 * A record is an array of 16 to 255 fields and begins with DC 00. Valid UTF-8 cannot contain these bytes, so no text of a client
 * can look like a record.
 */
export function findFrame(buffer: Buffer, offset: number): number {
  for (let at = buffer.indexOf(0xdc, offset + FRAME_HEADER_BYTES); at !== -1; at = buffer.indexOf(0xdc, at + 1)) {
    const start = at - FRAME_HEADER_BYTES
    if (buffer[at + 1] === 0 && readFrames(buffer, start, 1).frames.length > 0) return start
  }
  return -1
}

/** Reads a segment header; `end` is where the records begin. `torn`: the bytes end too early. `corrupt`: they are not a header. */
export function readSegmentHeader(buffer: Buffer): { header: SegmentHeader; end: number } | 'torn' | 'corrupt' {
  const magic = buffer.subarray(0, MAGIC.length)
  if (!magic.equals(MAGIC.subarray(0, magic.length))) return 'corrupt'
  const payloadStart = MAGIC.length + FRAME_HEADER_BYTES
  if (buffer.length < payloadStart) return 'torn'
  const end = payloadStart + buffer.readUInt32LE(MAGIC.length)
  if (end - payloadStart > MAX_PAYLOAD_BYTES) return 'corrupt'
  if (end > buffer.length) return 'torn'
  if (crc32c(buffer, payloadStart, end) !== buffer.readUInt32LE(MAGIC.length + 4)) return 'corrupt'
  try {
    const value = unpackValue(buffer.subarray(payloadStart, end))
    return isSegmentHeader(value) ? { header: value, end } : 'corrupt'
  } catch {
    return 'corrupt'
  }
}

function isSegmentHeader(value: unknown): value is SegmentHeader {
  if (typeof value !== 'object' || value === null) return false
  const { writer, pid, startTicks, bootId, createdAtMs } = value as Partial<Record<keyof SegmentHeader, unknown>>
  return (
    typeof writer === 'string' &&
    typeof pid === 'number' &&
    typeof createdAtMs === 'number' &&
    (startTicks === null || typeof startTicks === 'string') &&
    (bootId === null || typeof bootId === 'string')
  )
}
