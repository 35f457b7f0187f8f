import { allocateBody } from '../../shared/runtime/body-buffers.ts'

/** `COPY … FROM STDIN (FORMAT binary)`: signature, flags and length of the extension, see Postgres's manual on COPY. */
const HEADER = Buffer.from('PGCOPY\n\xff\r\n\0\0\0\0\0\0\0\0\0', 'latin1')
/** Timestamps count from 2000-01-01. */
const EPOCH_MS = Date.UTC(2000, 0)
/** The first byte of a `jsonb` in binary form. */
const JSONB_VERSION = 1
const HIGH_WORD = 0x1_0000_0000
const MAX_BYTES_PER_UNIT = 3
const SHORT_TEXT = 128
/** A buffer of this size has its own memory, not a part of a shared pool, so it can be transferred to another thread. */
const LEAST_BYTES = 65_536

/**
 * Rows in the binary form of COPY. They cost about half as much as arrays of parameters, here and in the database
 * (`bench/micro/settle.ts`). The fields are in the order of their columns.
 */
export class BinaryRows {
  #buffer: Buffer
  #length: number

  constructor(initialBytes: number) {
    this.#buffer = allocateBody(Math.max(initialBytes, LEAST_BYTES))
    this.#length = HEADER.copy(this.#buffer)
  }

  /** Begins a row of `fields` fields. */
  row(fields: number): void {
    this.#reserve(2)
    this.#int16(fields)
  }

  /** @param value must not contain lone surrogates or NUL, see `storableText` */
  text(value: string | null): void {
    if (value === null) {
      this.null()
      return
    }
    const { length } = value
    this.#reserve(4 + length * MAX_BYTES_PER_UNIT)
    const start = this.#length + 4
    const buffer = this.#buffer
    // Most texts are short and ASCII. For these, a call into the runtime costs more than this loop.
    let index = length <= SHORT_TEXT ? 0 : length + 1
    for (; index < length; index++) {
      const unit = value.charCodeAt(index)
      if (unit > 0x7f) break
      buffer[start + index] = unit
    }
    const bytes = index === length ? length : buffer.write(value, start)
    this.#int32(bytes)
    this.#length = start + bytes
  }

  /** @param json must not contain lone surrogates or NUL */
  jsonb(json: string): void {
    this.#reserve(5 + json.length * MAX_BYTES_PER_UNIT)
    const bytes = this.#buffer.write(json, this.#length + 5)
    this.#int32(bytes + 1)
    this.#buffer[this.#length] = JSONB_VERSION
    this.#length += 1 + bytes
  }

  /** @param value an integer that a number holds exactly */
  int8(value: number | null): void {
    if (value === null) {
      this.null()
      return
    }
    this.#reserve(12)
    const high = Math.floor(value / HIGH_WORD)
    this.#int32(8)
    this.#int32(high)
    this.#int32(value - high * HIGH_WORD)
  }

  int4(value: number | null): void {
    if (value === null) {
      this.null()
      return
    }
    this.#reserve(8)
    this.#int32(4)
    this.#int32(value)
  }

  bool(value: boolean): void {
    this.#reserve(5)
    this.#int32(1)
    this.#buffer[this.#length] = value ? 1 : 0
    this.#length += 1
  }

  /** @param unixMs whole Unix milliseconds */
  timestamptz(unixMs: number): void {
    this.int8((unixMs - EPOCH_MS) * 1000)
  }

  null(): void {
    this.#reserve(4)
    this.#int32(-1)
  }

  /** Returns all rows; nothing can be added afterwards. */
  finish(): Buffer {
    this.#reserve(2)
    this.#int16(-1)
    return this.#buffer.subarray(0, this.#length)
  }

  #int16(value: number): void {
    const at = this.#length
    this.#buffer[at] = value >>> 8
    this.#buffer[at + 1] = value
    this.#length = at + 2
  }

  #int32(value: number): void {
    const at = this.#length
    const buffer = this.#buffer
    buffer[at] = value >>> 24
    buffer[at + 1] = value >>> 16
    buffer[at + 2] = value >>> 8
    buffer[at + 3] = value
    this.#length = at + 4
  }

  #reserve(bytes: number): void {
    if (this.#length + bytes <= this.#buffer.length) return
    const grown = allocateBody(Math.max(this.#length + bytes, this.#buffer.length * 2))
    this.#buffer.copy(grown, 0, 0, this.#length)
    this.#buffer = grown
  }
}
