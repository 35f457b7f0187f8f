import type { BinaryRows } from '../store/binary-copy.ts'
import type { RollupRow } from '../store/rollups.ts'
import { LOG_COLUMNS } from '../store/request-log.ts'
import { END, END_FIELDS } from '../../journal/record.ts'
import { ByteTranscriber, isNumberHead, NOT_PLAIN } from './byte-transcriber.ts'
import type { PriceOf } from './rows.ts'
import { FIRST_MS, FREE, LAST_MS, MAX_ID_LENGTH, MAX_STATUS, wholeCount } from './rows.ts'

/** No byte of a record becomes more than this in a row: a number of one byte becomes `,"durationUs":` and its digits. */
const GROWTH = 32
const FIXED_BYTES = 1024
const POSTGRES_EPOCH_MS = Date.UTC(2000, 0)

// Of msgpack.
const NIL = 0xc0
const ARRAY_16 = 0xdc

const PLAIN_ATTEMPT = 7
const CHOSEN_ATTEMPT = 11
const DROPPED_ATTEMPT = 12

/**
 * Rows of the log from the bytes of end records, field by field, without making strings and objects of them: that was a fifth of
 * what the control process took per request. Takes what fronts write as a rule; for all else
 * (names beyond ASCII, numbers that need mending, other versions) there is `rowOfEnd`, which this agrees with byte for byte.
 */
export class EndTranscriber extends ByteTranscriber {
  readonly #node: Buffer
  readonly #priceOf: PriceOf

  constructor(node: string, priceOf: PriceOf = FREE) {
    super()
    this.#node = Buffer.from(node)
    this.#priceOf = priceOf
  }

  /** Adds the row of the record in `bytes[start, end)` to `rows`. Null, and nothing added, when it is not plain. */
  add(rows: BinaryRows, bytes: Buffer, start: number, end: number): (RollupRow & { readonly id: string }) | null {
    this.from = bytes
    this.at = start
    this.end = end
    this.to = rows.room((end - start) * GROWTH + FIXED_BYTES)
    this.out = rows.length
    try {
      const row = this.#row()
      // What does not fit is not written, and nothing says so.
      if (this.out > this.to.length) return null
      rows.advance(this.out)
      return row
    } catch (cause) {
      if (cause === NOT_PLAIN || cause instanceof RangeError) return null
      throw cause
    }
  }

  #row(): RollupRow & { readonly id: string } {
    if (this.byte() !== ARRAY_16 || this.byte() !== 0 || this.byte() !== END_FIELDS + 1 || this.byte() !== END)
      throw NOT_PLAIN
    this.to[this.out++] = 0
    this.to[this.out++] = LOG_COLUMNS.length
    const id = this.#id()
    const atMs = this.#time()
    const endpoint = this.required()
    this.required()
    this.text()
    const keyId = this.cached()
    this.text()
    this.text()
    const userId = this.cached()
    this.text()
    const enterpriseId = this.cached()
    this.text()
    const departmentId = this.cached()
    this.text()
    const memberId = this.cached()
    this.text()
    const model = this.cached()
    this.flag()
    this.required()
    this.required()
    this.text()
    const status = this.#status()
    this.text()
    this.text()
    this.text()
    const providerId = this.cached()
    this.text()
    const upstreamKeyId = this.cached()
    this.text()
    const servedModel = this.cached()
    this.#attempts(this.textStart, this.textEnd)
    const tokens = {
      promptTokens: this.#count(),
      completionTokens: this.#count(),
      cachedTokens: this.#count(),
      cacheWriteTokens: this.#count(),
      reasoningTokens: this.#count(),
    }
    this.required()
    const aborted = this.flag()
    const queueUs = this.#count()
    const ttftUs = this.isNil() ? null : this.#count()
    const totalUs = this.#count()
    const overheadUs = this.#count()
    this.text()
    if (this.at !== this.end) throw NOT_PLAIN
    this.#nodeField()
    const costMicro = wholeCount('costMicro', this.#priceOf(providerId, servedModel, tokens))
    this.int8(costMicro)
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
      upstreamKeyId,
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
    const isPresent = this.text()
    const length = this.textEnd - this.textStart
    if (!isPresent || !this.textIsAscii || length === 0 || length > MAX_ID_LENGTH) throw NOT_PLAIN
    return this.to.toString('latin1', this.textStart, this.textEnd)
  }

  #time(): number {
    const atMs = this.number()
    if (!(atMs >= FIRST_MS && atMs < LAST_MS)) throw NOT_PLAIN
    const whole = Math.round(atMs)
    this.int8((whole - POSTGRES_EPOCH_MS) * 1000)
    return whole
  }

  #status(): number {
    const status = this.number()
    if (!Number.isInteger(status) || status < 0 || status > MAX_STATUS) throw NOT_PLAIN
    this.int32(4)
    this.int32(status)
    return status
  }

  #count(): number {
    const value = wholeCount('', this.number())
    this.int8(value)
    return value
  }

  /** What `attemptsJson` makes of the attempts. */
  #attempts(servedStart: number, servedEnd: number): void {
    const lengthAt = this.out
    this.out += 4
    const count = this.array()
    this.ascii('[')
    for (let index = 0; index < count; index++) {
      if (index > 0) this.ascii(',')
      this.#attempt(servedStart, servedEnd)
    }
    this.ascii(']')
    const end = this.out
    this.out = lengthAt
    this.int32(end - lengthAt - 4)
    this.out = end
  }

  #attempt(servedStart: number, servedEnd: number): void {
    const fields = this.array()
    if (fields !== PLAIN_ATTEMPT && fields !== CHOSEN_ATTEMPT && fields !== DROPPED_ATTEMPT) throw NOT_PLAIN
    this.ascii('{"providerId":')
    this.jsonText()
    this.ascii(',"upstreamKeyId":')
    this.jsonText()
    this.ascii(',"status":')
    this.jsonNumber()
    this.ascii(',"outcome":')
    this.jsonText()
    this.ascii(',"startUs":')
    this.jsonNumber()
    this.ascii(',"durationUs":')
    this.jsonNumber()
    this.ascii(',"model":')
    this.#jsonModel(servedStart, servedEnd)
    this.ascii(',"choice":')
    if (fields === PLAIN_ATTEMPT) this.ascii('null')
    else this.#jsonChoice()
    this.ascii(',"dropped":')
    this.jsonTexts(fields === DROPPED_ATTEMPT ? this.array() : 0)
    this.ascii('}')
  }

  /** 0 stands for the model that served. */
  #jsonModel(servedStart: number, servedEnd: number): void {
    const head = this.from[this.at]
    if (head === NIL) {
      this.at += 1
      this.ascii('null')
    } else if (head !== 0) this.jsonText()
    else {
      this.at += 1
      if (servedStart < 0) this.ascii('null')
      else this.jsonTextOf(this.to, servedStart, servedEnd)
    }
  }

  #jsonChoice(): void {
    if (this.from[this.at] === NIL) {
      for (let field = PLAIN_ATTEMPT; field < CHOSEN_ATTEMPT; field++) if (this.byte() !== NIL) throw NOT_PLAIN
      this.ascii('null')
      return
    }
    this.ascii('{"how":')
    this.jsonText()
    this.ascii(',"score":')
    if (this.from[this.at] === NIL) {
      this.at += 1
      this.ascii('null')
    } else this.jsonNumber()
    this.ascii(',"waitUs":')
    this.jsonNumber()
    this.ascii(',"others":[')
    const others = this.array()
    for (let index = 0; index < others; index++) {
      this.ascii(index === 0 ? '[' : ',[')
      if (this.array() !== 2) throw NOT_PLAIN
      this.jsonText()
      this.ascii(',')
      if (isNumberHead(this.from[this.at] as number)) this.jsonNumber()
      else this.jsonText()
      this.ascii(']')
    }
    this.ascii(']}')
  }

  #nodeField(): void {
    this.int32(this.#node.length)
    this.out += this.#node.copy(this.to, this.out)
  }
}
