/** Bytes before a text whose length is written in 32 bits. */
const LONG_HEAD = 5
const MAX_BYTES_PER_UNIT = 3
/** Texts up to this length, as most are, are written in a loop: a call into the runtime costs more. */
const LOOPED_TEXT = 64
const FIRST_SURROGATE = 0xd800
const LAST_SURROGATE = 0xdfff
/** The most bytes that a value other than a text takes. */
const MOST_BYTES = 9

/**
 * Writes msgpack (https://github.com/msgpack/msgpack/blob/master/spec.md) into a buffer, and replaces a full buffer by a larger one.
 * A journal record takes a third of the time of a general encoder, which checks the type of each value.
 */
export class MsgpackWriter {
  #bytes: Buffer = Buffer.alloc(0)
  #at = 0

  begin(bytes: Buffer, at: number): void {
    this.#bytes = bytes
    this.#at = at
  }

  /** The buffer given to `begin`, or the larger one that replaced it. */
  get bytes(): Buffer {
    return this.#bytes
  }

  /** The position after the last byte written. */
  get at(): number {
    return this.#at
  }

  array(length: number): void {
    const bytes = this.#room(MOST_BYTES)
    if (length < 16) bytes[this.#at++] = 0x90 | length
    else {
      bytes[this.#at++] = 0xdc
      bytes[this.#at++] = length >>> 8
      bytes[this.#at++] = length
    }
  }

  boolean(value: boolean): void {
    this.#room(MOST_BYTES)[this.#at++] = value ? 0xc3 : 0xc2
  }

  /** Writes an integer from 0 to 2^32 - 1 as an integer, and any other number as a double. */
  number(value: number | null): void {
    const bytes = this.#room(MOST_BYTES)
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
    const at = this.#at
    if (value === null) {
      this.#room(MOST_BYTES)[at] = 0xc0
      this.#at = at + 1
      return
    }
    const { length } = value
    const bytes = this.#room(LONG_HEAD + length * MAX_BYTES_PER_UNIT)
    // The byte length is known only after writing. The text is written after a head of the size that ASCII text needs.
    const head = length < 32 ? 1 : length < 0x100 ? 2 : LONG_HEAD
    const start = at + head
    let written = length <= LOOPED_TEXT ? writeUnits(bytes, start, value) : -1
    if (written < 0) written = bytes.write(value, start)
    this.#at = at + head + written
    if (head === 1 && written < 32) bytes[at] = 0xa0 | written
    else if (head === 2 && written < 0x100) {
      bytes[at] = 0xd9
      bytes[at + 1] = written
    } else this.#longHead(at, head, written)
  }

  /** Returns the buffer, grown if it has no room for `bytes` more. */
  #room(bytes: number): Buffer {
    return this.#at + bytes <= this.#bytes.length ? this.#bytes : this.#grow(bytes)
  }

  #grow(bytes: number): Buffer {
    const grown = Buffer.allocUnsafeSlow(Math.max(this.#at + bytes, this.#bytes.length * 2))
    this.#bytes.copy(grown, 0, 0, this.#at)
    this.#bytes = grown
    return grown
  }

  #longHead(at: number, head: number, written: number): void {
    const bytes = this.#bytes
    if (head < LONG_HEAD) bytes.copyWithin(at + LONG_HEAD, at + head, at + head + written)
    bytes[at] = 0xdb
    this.#at = bytes.writeUInt32BE(written, at + 1) + written
  }
}

/** Writes UTF-8. Returns the number of bytes, or -1 when the text has surrogates. */
function writeUnits(bytes: Buffer, start: number, text: string): number {
  let at = start
  for (let index = 0; index < text.length; index++) {
    const unit = text.charCodeAt(index)
    if (unit < 0x80) bytes[at++] = unit
    else if (unit >= FIRST_SURROGATE && unit <= LAST_SURROGATE) return -1
    else {
      if (unit < 0x800) bytes[at++] = 0xc0 | (unit >>> 6)
      else {
        bytes[at++] = 0xe0 | (unit >>> 12)
        bytes[at++] = 0x80 | ((unit >>> 6) & 0x3f)
      }
      bytes[at++] = 0x80 | (unit & 0x3f)
    }
  }
  return at - start
}
