/** `COPY … FROM STDIN (FORMAT binary)`: signature, flags and length of the extension, see Postgres's manual on COPY. */
const HEADER = Buffer.from('PGCOPY\n\xff\r\n\0\0\0\0\0\0\0\0\0', 'latin1')
const NULL = -1
const JSONB_VERSION = 1
/** Timestamps count from 2000-01-01. */
const EPOCH_MS = Date.UTC(2000, 0)
const HIGH_WORD = 0x1_0000_0000
const MAX_BYTES_PER_UNIT = 3

/**
 * Rows in the binary form of COPY: about half of what it costs to send them as arrays of parameters, here and in the
 * database (`bench/micro/settle.ts`). Fields follow each other as their columns do.
 */
export class BinaryRows {
  #buffer: Buffer
  #length: number

  constructor(initialBytes: number) {
    this.#buffer = Buffer.allocUnsafeSlow(Math.max(initialBytes, HEADER.length))
    this.#length = HEADER.copy(this.#buffer)
  }

  /** Begins a row of so many fields. */
  row(fields: number): void {
    this.#reserve(2)
    this.#length = this.#buffer.writeInt16BE(fields, this.#length)
  }

  text(value: string | null): void {
    if (value === null) this.null()
    else this.#string(value, 0)
  }

  /** @param json text of a JSON value */
  jsonb(json: string): void {
    const versionAt = this.#length + 4
    this.#string(json, 1)
    this.#buffer[versionAt] = JSONB_VERSION
  }

  /** @param value an integer that a number holds exactly */
  int8(value: number | null): void {
    if (value === null) this.null()
    else this.#int8(value)
  }

  int4(value: number | null): void {
    if (value === null) {
      this.null()
      return
    }
    this.#reserve(8)
    const at = this.#buffer.writeInt32BE(4, this.#length)
    this.#length = this.#buffer.writeInt32BE(value, at)
  }

  bool(value: boolean): void {
    this.#reserve(5)
    const at = this.#buffer.writeInt32BE(1, this.#length)
    this.#buffer[at] = value ? 1 : 0
    this.#length = at + 1
  }

  /** @param unixMs whole Unix milliseconds */
  timestamptz(unixMs: number): void {
    this.#int8((unixMs - EPOCH_MS) * 1000)
  }

  null(): void {
    this.#reserve(4)
    this.#length = this.#buffer.writeInt32BE(NULL, this.#length)
  }

  /** All rows so far; nothing can be added afterwards. */
  finish(): Buffer {
    this.#reserve(2)
    this.#length = this.#buffer.writeInt16BE(-1, this.#length)
    return this.#buffer.subarray(0, this.#length)
  }

  /** Leaves `ahead` bytes free before the string, which count as its own. */
  #string(value: string, ahead: number): void {
    this.#reserve(4 + ahead + value.length * MAX_BYTES_PER_UNIT)
    const start = this.#length + 4 + ahead
    const bytes = this.#buffer.write(value, start)
    this.#buffer.writeInt32BE(ahead + bytes, this.#length)
    this.#length = start + bytes
  }

  #int8(value: number): void {
    this.#reserve(12)
    const high = Math.floor(value / HIGH_WORD)
    let at = this.#buffer.writeInt32BE(8, this.#length)
    at = this.#buffer.writeInt32BE(high, at)
    this.#length = this.#buffer.writeUInt32BE(value - high * HIGH_WORD, at)
  }

  #reserve(bytes: number): void {
    if (this.#length + bytes <= this.#buffer.length) return
    const grown = Buffer.allocUnsafeSlow(Math.max(this.#length + bytes, this.#buffer.length * 2))
    this.#buffer.copy(grown, 0, 0, this.#length)
    this.#buffer = grown
  }
}
