import { isUtf8 } from 'node:buffer'
import { TextCache } from '../store/text-cache.ts'

/** What is thrown on bytes that are to be decoded and looked at field by field. */
export const NOT_PLAIN = new Error('not a plain record')

const HIGH_WORD = 0x1_0000_0000

// Of msgpack.
const NIL = 0xc0
const FALSE = 0xc2
const TRUE = 0xc3
const DOUBLE = 0xcb
const UINT_16 = 0xcd
const UINT_32 = 0xce
const TEXT_8 = 0xd9
const TEXT_32 = 0xdb

/**
 * Reads values of msgpack, as journals hold them, from one buffer, and writes them into another as fields of a row in the binary form of
 * COPY, or as JSON. Each method goes on where the last one ended, on both sides, and throws NOT_PLAIN where the bytes hold something else.
 */
export class ByteTranscriber {
  protected readonly texts = new TextCache()
  protected from: Buffer = Buffer.alloc(0)
  protected at = 0
  protected end = 0
  protected to: Buffer = Buffer.alloc(0)
  protected out = 0
  /** Where the last text lies in `to`; a start below 0: it was null. */
  protected textStart = 0
  protected textEnd = 0
  protected textIsAscii = true

  protected isNil(): boolean {
    if (this.from[this.at] !== NIL) return false
    this.at += 1
    this.int32(-1)
    return true
  }

  /** Copies a text field; false when it is null. */
  protected text(): boolean {
    if (this.isNil()) {
      this.textStart = -1
      return false
    }
    const length = this.textLength()
    this.int32(length)
    this.textStart = this.out
    const from = this.from
    const to = this.to
    const end = this.at + length
    let out = this.out
    let beyondAscii = 0
    for (let at = this.at; at < end; at++) {
      const byte = from[at] as number
      if (byte === 0) throw NOT_PLAIN
      beyondAscii |= byte & 0x80
      to[out++] = byte
    }
    if (beyondAscii !== 0 && !isUtf8(from.subarray(this.at, end))) throw NOT_PLAIN
    this.at = end
    this.out = out
    this.textEnd = out
    this.textIsAscii = beyondAscii === 0
    return true
  }

  protected required(): string {
    if (!this.text()) throw NOT_PLAIN
    return this.cached() ?? ''
  }

  /** The last text as a string. */
  protected cached(): string | null {
    if (this.textStart < 0) return null
    if (!this.textIsAscii) return this.to.toString('utf8', this.textStart, this.textEnd)
    return this.texts.of(this.to, this.textStart, this.textEnd)
  }

  protected flag(): boolean {
    const head = this.byte()
    if (head !== TRUE && head !== FALSE) throw NOT_PLAIN
    this.int32(1)
    this.to[this.out++] = head === TRUE ? 1 : 0
    return head === TRUE
  }

  protected jsonTexts(count: number): void {
    this.ascii('[')
    for (let index = 0; index < count; index++) {
      if (index > 0) this.ascii(',')
      this.jsonText()
    }
    this.ascii(']')
  }

  protected jsonText(): void {
    const length = this.textLength()
    const start = this.at
    this.at = start + length
    this.jsonTextOf(this.from, start, this.at)
  }

  protected jsonTextOf(from: Buffer, start: number, end: number): void {
    const to = this.to
    let out = this.out
    to[out++] = 0x22
    for (let at = start; at < end; at++) {
      const byte = from[at] as number
      if (byte < 0x20 || byte > 0x7e || byte === 0x22 || byte === 0x5c) throw NOT_PLAIN
      to[out++] = byte
    }
    to[out++] = 0x22
    this.out = out
  }

  protected jsonNumber(): void {
    const value = this.number()
    if (value !== value >>> 0) {
      this.ascii(Number.isFinite(value) ? String(value) : 'null')
      return
    }
    let digits = 1
    for (let bound = 10; value >= bound; bound *= 10) digits += 1
    let rest = value
    for (let at = this.out + digits - 1; at >= this.out; at--) {
      const tenth = Math.floor(rest / 10)
      this.to[at] = 0x30 + rest - tenth * 10
      rest = tenth
    }
    this.out += digits
  }

  protected ascii(text: string): void {
    const to = this.to
    let out = this.out
    for (let index = 0; index < text.length; index++) to[out++] = text.charCodeAt(index)
    this.out = out
  }

  protected int8(value: number): void {
    const high = Math.floor(value / HIGH_WORD)
    this.int32(8)
    this.int32(high)
    this.int32(value - high * HIGH_WORD)
  }

  protected int32(value: number): void {
    const to = this.to
    const out = this.out
    to[out] = value >>> 24
    to[out + 1] = value >>> 16
    to[out + 2] = value >>> 8
    to[out + 3] = value
    this.out = out + 4
  }

  protected byte(): number {
    if (this.at >= this.end) throw NOT_PLAIN
    return this.from[this.at++] as number
  }

  protected array(): number {
    const head = this.byte()
    if ((head & 0xf0) !== 0x90) throw NOT_PLAIN
    return head & 0x0f
  }

  protected textLength(): number {
    const head = this.byte()
    let length: number
    if ((head & 0xe0) === 0xa0) length = head & 0x1f
    else if (head === TEXT_8) length = this.byte()
    else if (head === TEXT_32) length = this.uint(4)
    else throw NOT_PLAIN
    if (this.at + length > this.end) throw NOT_PLAIN
    return length
  }

  protected number(): number {
    const head = this.byte()
    if (head < 0x80) return head
    if (head === UINT_16) return this.uint(2)
    if (head === UINT_32) return this.uint(4)
    if (head !== DOUBLE || this.at + 8 > this.end) throw NOT_PLAIN
    this.at += 8
    return this.from.readDoubleBE(this.at - 8)
  }

  protected uint(bytes: number): number {
    let value = 0
    for (let index = 0; index < bytes; index++) value = value * 256 + this.byte()
    return value
  }
}

export function isNumberHead(head: number): boolean {
  return head < 0x80 || head === UINT_16 || head === UINT_32 || head === DOUBLE
}
