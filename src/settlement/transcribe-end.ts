import { isUtf8 } from 'node:buffer'
import type { BinaryRows } from '../store/binary-copy.ts'
import type { RollupRow } from '../store/rollups.ts'
import { LOG_COLUMNS } from '../store/request-log.ts'
import { TextCache } from '../store/text-cache.ts'
import { END, END_FIELDS } from '../wire/journal-record.ts'
import type { PriceOf } from './rows.ts'
import { FIRST_MS, FREE, LAST_MS, MAX_ID_LENGTH, MAX_STATUS, wholeCount } from './rows.ts'

/** Thrown within this file only: the bytes are to be decoded and looked at field by field. */
const NOT_PLAIN = new Error('not a plain end record')

/** No byte of a record becomes more than this in a row: a number of one byte becomes `,"durationUs":` and its digits. */
const GROWTH = 32
const FIXED_BYTES = 1024
const POSTGRES_EPOCH_MS = Date.UTC(2000, 0)
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
const ARRAY_16 = 0xdc

const PLAIN_ATTEMPT = 7
const CHOSEN_ATTEMPT = 11
const DROPPED_ATTEMPT = 12

/**
 * Rows of the log from the bytes of end records, field by field, without making strings and objects of them: a third of
 * what it costs to decode a record and write its row (`bench/micro/settle.ts`). Takes what fronts write as a rule; for all else
 * (names beyond ASCII, numbers that need mending, other versions) there is `rowOfEnd`, which this agrees with byte for byte.
 */
export class EndTranscriber {
  readonly #node: Buffer
  readonly #priceOf: PriceOf
  readonly #texts = new TextCache()
  #from: Buffer = Buffer.alloc(0)
  #at = 0
  #end = 0
  #to: Buffer = Buffer.alloc(0)
  #out = 0
  /** Where the last text lies in `#to`; a start below 0: it was null. */
  #textStart = 0
  #textEnd = 0
  #textIsAscii = true

  constructor(node: string, priceOf: PriceOf = FREE) {
    this.#node = Buffer.from(node)
    this.#priceOf = priceOf
  }

  /** Adds the row of the record in `bytes[start, end)` to `rows`. Null, and nothing added, when it is not plain. */
  add(rows: BinaryRows, bytes: Buffer, start: number, end: number): (RollupRow & { readonly id: string }) | null {
    this.#from = bytes
    this.#at = start
    this.#end = end
    this.#to = rows.room((end - start) * GROWTH + FIXED_BYTES)
    this.#out = rows.length
    try {
      const row = this.#row()
      rows.advance(this.#out)
      return row
    } catch (cause) {
      if (cause === NOT_PLAIN || cause instanceof RangeError) return null
      throw cause
    }
  }

  #row(): RollupRow & { readonly id: string } {
    if (this.#byte() !== ARRAY_16 || this.#byte() !== 0 || this.#byte() !== END_FIELDS + 1 || this.#byte() !== END)
      throw NOT_PLAIN
    this.#to[this.#out++] = 0
    this.#to[this.#out++] = LOG_COLUMNS.length
    const id = this.#id()
    const atMs = this.#time()
    const endpoint = this.#required()
    this.#required()
    this.#text()
    const keyId = this.#cached()
    this.#text()
    this.#text()
    const userId = this.#cached()
    this.#text()
    const enterpriseId = this.#cached()
    this.#text()
    const departmentId = this.#cached()
    this.#text()
    const memberId = this.#cached()
    this.#text()
    const model = this.#cached()
    this.#flag()
    this.#required()
    this.#required()
    this.#text()
    const status = this.#status()
    this.#text()
    this.#text()
    this.#text()
    const providerId = this.#cached()
    this.#text()
    this.#text()
    const servedModel = this.#cached()
    this.#attempts(this.#textStart, this.#textEnd)
    const tokens = {
      promptTokens: this.#count(),
      completionTokens: this.#count(),
      cachedTokens: this.#count(),
      cacheWriteTokens: this.#count(),
      reasoningTokens: this.#count(),
    }
    this.#required()
    const aborted = this.#flag()
    const queueUs = this.#count()
    const ttftUs = this.#isNil() ? null : this.#count()
    const totalUs = this.#count()
    const overheadUs = this.#count()
    this.#text()
    if (this.#at !== this.#end) throw NOT_PLAIN
    this.#nodeField()
    const costMicro = wholeCount('costMicro', this.#priceOf(providerId, servedModel, tokens))
    this.#int8(costMicro)
    return {
      id,
      atMs,
      endpoint,
      keyId,
      userId,
      enterpriseId,
      departmentId,
      memberId,
      model,
      providerId,
      status,
      aborted,
      promptTokens: tokens.promptTokens,
      completionTokens: tokens.completionTokens,
      cachedTokens: tokens.cachedTokens,
      cacheWriteTokens: tokens.cacheWriteTokens,
      reasoningTokens: tokens.reasoningTokens,
      costMicro,
      queueUs,
      ttftUs,
      totalUs,
      overheadUs,
    }
  }

  #id(): string {
    const isPresent = this.#text()
    const length = this.#textEnd - this.#textStart
    if (!isPresent || !this.#textIsAscii || length === 0 || length > MAX_ID_LENGTH) throw NOT_PLAIN
    return this.#to.toString('latin1', this.#textStart, this.#textEnd)
  }

  #time(): number {
    const atMs = this.#number()
    if (!(atMs >= FIRST_MS && atMs < LAST_MS)) throw NOT_PLAIN
    const whole = Math.round(atMs)
    this.#int8((whole - POSTGRES_EPOCH_MS) * 1000)
    return whole
  }

  #status(): number {
    const status = this.#number()
    if (!Number.isInteger(status) || status < 0 || status > MAX_STATUS) throw NOT_PLAIN
    this.#int32(4)
    this.#int32(status)
    return status
  }

  #count(): number {
    const value = wholeCount('', this.#number())
    this.#int8(value)
    return value
  }

  #flag(): boolean {
    const head = this.#byte()
    if (head !== TRUE && head !== FALSE) throw NOT_PLAIN
    this.#int32(1)
    this.#to[this.#out++] = head === TRUE ? 1 : 0
    return head === TRUE
  }

  #isNil(): boolean {
    if (this.#from[this.#at] !== NIL) return false
    this.#at += 1
    this.#int32(-1)
    return true
  }

  /** Copies a text field; false when it is null. */
  #text(): boolean {
    if (this.#isNil()) {
      this.#textStart = -1
      return false
    }
    const length = this.#textLength()
    this.#int32(length)
    this.#textStart = this.#out
    const from = this.#from
    const to = this.#to
    const end = this.#at + length
    let out = this.#out
    let beyondAscii = 0
    for (let at = this.#at; at < end; at++) {
      const byte = from[at] as number
      if (byte === 0) throw NOT_PLAIN
      beyondAscii |= byte & 0x80
      to[out++] = byte
    }
    if (beyondAscii !== 0 && !isUtf8(from.subarray(this.#at, end))) throw NOT_PLAIN
    this.#at = end
    this.#out = out
    this.#textEnd = out
    this.#textIsAscii = beyondAscii === 0
    return true
  }

  #required(): string {
    if (!this.#text()) throw NOT_PLAIN
    return this.#cached() ?? ''
  }

  /** The last text as a string. */
  #cached(): string | null {
    if (this.#textStart < 0) return null
    if (!this.#textIsAscii) return this.#to.toString('utf8', this.#textStart, this.#textEnd)
    return this.#texts.of(this.#to, this.#textStart, this.#textEnd)
  }

  /** What `attemptsJson` makes of the attempts. */
  #attempts(servedStart: number, servedEnd: number): void {
    const lengthAt = this.#out
    this.#out += 4
    const count = this.#array()
    this.#ascii('[')
    for (let index = 0; index < count; index++) {
      if (index > 0) this.#ascii(',')
      this.#attempt(servedStart, servedEnd)
    }
    this.#ascii(']')
    const end = this.#out
    this.#out = lengthAt
    this.#int32(end - lengthAt - 4)
    this.#out = end
  }

  #attempt(servedStart: number, servedEnd: number): void {
    const fields = this.#array()
    if (fields !== PLAIN_ATTEMPT && fields !== CHOSEN_ATTEMPT && fields !== DROPPED_ATTEMPT) throw NOT_PLAIN
    this.#ascii('{"providerId":')
    this.#jsonText()
    this.#ascii(',"upstreamKeyId":')
    this.#jsonText()
    this.#ascii(',"status":')
    this.#jsonNumber()
    this.#ascii(',"outcome":')
    this.#jsonText()
    this.#ascii(',"startUs":')
    this.#jsonNumber()
    this.#ascii(',"durationUs":')
    this.#jsonNumber()
    this.#ascii(',"model":')
    this.#jsonModel(servedStart, servedEnd)
    this.#ascii(',"choice":')
    if (fields === PLAIN_ATTEMPT) this.#ascii('null')
    else this.#jsonChoice()
    this.#ascii(',"dropped":')
    this.#jsonTexts(fields === DROPPED_ATTEMPT ? this.#array() : 0)
    this.#ascii('}')
  }

  /** 0 stands for the model that served. */
  #jsonModel(servedStart: number, servedEnd: number): void {
    const head = this.#from[this.#at]
    if (head === NIL) {
      this.#at += 1
      this.#ascii('null')
    } else if (head !== 0) this.#jsonText()
    else {
      this.#at += 1
      if (servedStart < 0) this.#ascii('null')
      else this.#jsonTextOf(this.#to, servedStart, servedEnd)
    }
  }

  #jsonChoice(): void {
    if (this.#from[this.#at] === NIL) {
      for (let field = PLAIN_ATTEMPT; field < CHOSEN_ATTEMPT; field++) if (this.#byte() !== NIL) throw NOT_PLAIN
      this.#ascii('null')
      return
    }
    this.#ascii('{"how":')
    this.#jsonText()
    this.#ascii(',"score":')
    if (this.#from[this.#at] === NIL) {
      this.#at += 1
      this.#ascii('null')
    } else this.#jsonNumber()
    this.#ascii(',"waitUs":')
    this.#jsonNumber()
    this.#ascii(',"others":[')
    const others = this.#array()
    for (let index = 0; index < others; index++) {
      this.#ascii(index === 0 ? '[' : ',[')
      if (this.#array() !== 2) throw NOT_PLAIN
      this.#jsonText()
      this.#ascii(',')
      if (isNumberHead(this.#from[this.#at] as number)) this.#jsonNumber()
      else this.#jsonText()
      this.#ascii(']')
    }
    this.#ascii(']}')
  }

  #jsonTexts(count: number): void {
    this.#ascii('[')
    for (let index = 0; index < count; index++) {
      if (index > 0) this.#ascii(',')
      this.#jsonText()
    }
    this.#ascii(']')
  }

  #jsonText(): void {
    const length = this.#textLength()
    const start = this.#at
    this.#at = start + length
    this.#jsonTextOf(this.#from, start, this.#at)
  }

  #jsonTextOf(from: Buffer, start: number, end: number): void {
    const to = this.#to
    let out = this.#out
    to[out++] = 0x22
    for (let at = start; at < end; at++) {
      const byte = from[at] as number
      if (byte < 0x20 || byte > 0x7e || byte === 0x22 || byte === 0x5c) throw NOT_PLAIN
      to[out++] = byte
    }
    to[out++] = 0x22
    this.#out = out
  }

  #jsonNumber(): void {
    const value = this.#number()
    if (value !== value >>> 0) {
      this.#ascii(Number.isFinite(value) ? String(value) : 'null')
      return
    }
    let digits = 1
    for (let bound = 10; value >= bound; bound *= 10) digits += 1
    let rest = value
    for (let at = this.#out + digits - 1; at >= this.#out; at--) {
      const tenth = Math.floor(rest / 10)
      this.#to[at] = 0x30 + rest - tenth * 10
      rest = tenth
    }
    this.#out += digits
  }

  #nodeField(): void {
    this.#int32(this.#node.length)
    this.#out += this.#node.copy(this.#to, this.#out)
  }

  #ascii(text: string): void {
    const to = this.#to
    let out = this.#out
    for (let index = 0; index < text.length; index++) to[out++] = text.charCodeAt(index)
    this.#out = out
  }

  #int8(value: number): void {
    const high = Math.floor(value / HIGH_WORD)
    this.#int32(8)
    this.#int32(high)
    this.#int32(value - high * HIGH_WORD)
  }

  #int32(value: number): void {
    const to = this.#to
    const out = this.#out
    to[out] = value >>> 24
    to[out + 1] = value >>> 16
    to[out + 2] = value >>> 8
    to[out + 3] = value
    this.#out = out + 4
  }

  #byte(): number {
    if (this.#at >= this.#end) throw NOT_PLAIN
    return this.#from[this.#at++] as number
  }

  #array(): number {
    const head = this.#byte()
    if ((head & 0xf0) !== 0x90) throw NOT_PLAIN
    return head & 0x0f
  }

  #textLength(): number {
    const head = this.#byte()
    let length: number
    if ((head & 0xe0) === 0xa0) length = head & 0x1f
    else if (head === TEXT_8) length = this.#byte()
    else if (head === TEXT_32) length = this.#uint(4)
    else throw NOT_PLAIN
    if (this.#at + length > this.#end) throw NOT_PLAIN
    return length
  }

  #number(): number {
    const head = this.#byte()
    if (head < 0x80) return head
    if (head === UINT_16) return this.#uint(2)
    if (head === UINT_32) return this.#uint(4)
    if (head !== DOUBLE || this.#at + 8 > this.#end) throw NOT_PLAIN
    this.#at += 8
    return this.#from.readDoubleBE(this.#at - 8)
  }

  #uint(bytes: number): number {
    let value = 0
    for (let index = 0; index < bytes; index++) value = value * 256 + this.#byte()
    return value
  }
}

function isNumberHead(head: number): boolean {
  return head < 0x80 || head === UINT_16 || head === UINT_32 || head === DOUBLE
}
