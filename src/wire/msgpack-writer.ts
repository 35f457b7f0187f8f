/** Shorter text is copied by hand: a call out of V8 costs more than some dozens of characters. */
const SHORT_TEXT = 64
/**
 * Strings are of many kinds to V8 (flat, joined, parts of others, …): looked up on each, this costs more than what it does, once for
 * each character. A record takes half as long so.
 */
// eslint-disable-next-line @typescript-eslint/unbound-method -- called on a string each time
const { charCodeAt } = String.prototype

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
    if (value === null) {
      this.#bytes[this.#at++] = 0xc0
      return
    }
    if (value.length > SHORT_TEXT || !this.#shortText(value)) this.#longText(value)
  }

  /** False, and nothing written, when it is not ASCII. */
  #shortText(value: string): boolean {
    const bytes = this.#bytes
    const { length } = value
    let at = this.#at
    if (length < 32) bytes[at++] = 0xa0 | length
    else {
      bytes[at++] = 0xd9
      bytes[at++] = length
    }
    for (let i = 0; i < length; i++) {
      const code = charCodeAt.call(value, i)
      if (code >= 0x80) return false
      bytes[at++] = code
    }
    this.#at = at
    return true
  }

  #longText(value: string): void {
    const bytes = this.#bytes
    // Three bytes of head where two might do: the length in bytes is known afterwards.
    const length = bytes.write(value, this.#at + 5, 'utf8')
    bytes[this.#at] = 0xdb
    this.#at = bytes.writeUInt32BE(length, this.#at + 1) + length
  }
}
