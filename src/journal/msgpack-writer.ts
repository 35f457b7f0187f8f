/** Of a text, with its length in 32 bits. */
const LONG_HEAD = 5

/**
 * Writes msgpack (https://github.com/msgpack/msgpack/blob/master/spec.md) into a buffer that somebody else keeps large enough.
 * Writing a journal record so costs a third of what a general encoder takes, which looks at each value for its type.
 */
export class MsgpackWriter {
  #bytes: Buffer = Buffer.alloc(0)
  #at = 0

  /** Most bytes that a text of so many UTF-16 units can take. */
  static textBytes(length: number): number {
    return length * 3 + 5
  }

  begin(bytes: Buffer, at: number): void {
    this.#bytes = bytes
    this.#at = at
  }

  /** Behind the last byte written. */
  get at(): number {
    return this.#at
  }

  array(length: number): void {
    const bytes = this.#bytes
    if (length < 16) bytes[this.#at++] = 0x90 | length
    else {
      bytes[this.#at++] = 0xdc
      bytes[this.#at++] = length >>> 8
      bytes[this.#at++] = length
    }
  }

  boolean(value: boolean): void {
    this.#bytes[this.#at++] = value ? 0xc3 : 0xc2
  }

  /** Integers below 2^32 as such, all else as a double. */
  number(value: number | null): void {
    const bytes = this.#bytes
    if (value === null) bytes[this.#at++] = 0xc0
    else if (value >= 0 && value === value >>> 0) {
      if (value < 0x80) bytes[this.#at++] = value
      else if (value < 0x10000) {
        bytes[this.#at++] = 0xcd
        bytes[this.#at++] = value >>> 8
        bytes[this.#at++] = value
      } else {
        bytes[this.#at++] = 0xce
        bytes[this.#at++] = value >>> 24
        bytes[this.#at++] = value >>> 16
        bytes[this.#at++] = value >>> 8
        bytes[this.#at++] = value
      }
    } else {
      bytes[this.#at] = 0xcb
      this.#at = bytes.writeDoubleBE(value, this.#at + 1)
    }
  }

  text(value: string | null): void {
    const bytes = this.#bytes
    const at = this.#at
    if (value === null) {
      bytes[at] = 0xc0
      this.#at = at + 1
      return
    }
    // How many bytes it takes is known once it is written, behind the head that as many characters of ASCII need.
    const { length } = value
    const head = length < 32 ? 1 : length < 0x100 ? 2 : LONG_HEAD
    const written = bytes.write(value, at + head)
    this.#at = at + head + written
    if (head === 1 && written < 32) bytes[at] = 0xa0 | written
    else if (head === 2 && written < 0x100) {
      bytes[at] = 0xd9
      bytes[at + 1] = written
    } else this.#longHead(at, head, written)
  }

  #longHead(at: number, head: number, written: number): void {
    const bytes = this.#bytes
    if (head < LONG_HEAD) bytes.copyWithin(at + LONG_HEAD, at + head, at + head + written)
    bytes[at] = 0xdb
    this.#at = bytes.writeUInt32BE(written, at + 1) + written
  }
}
