import type { EventVerdict, StreamInspector, UpstreamFailure } from '../../shared/core/dialect.ts'
import type { Usage } from '../../shared/core/usage.ts'
import { SseFields, joinData } from '../../shared/wire/sse.ts'
import { EventTemplate } from '../common/event-template.ts'
import { EVENT_ERROR, INVALID_EVENT, failureOfEvent, isDone, parseRange } from '../common/event.ts'
import { arrayOf } from '../common/fields.ts'
import { BROKEN, ObjectCursor, TextMeter, skipSpace, skipValue } from '../common/json-bytes.ts'
import { asObject } from '../common/json-value.ts'
import { OrdinaryEvent } from '../common/ordinary-event.ts'
import { failureOfChoices, isFailedFinish } from './stop-reason.ts'
import { readChatUsage } from './usage.ts'
import { writeUsage } from './write-usage.ts'

const CHOICES = Buffer.from('choices')
const USAGE = Buffer.from('usage')
const ERROR = Buffer.from('error')
const X_GROQ = Buffer.from('x_groq')
const DELTA = Buffer.from('delta')
const INDEX = Buffer.from('index')
const FINISH_REASON = Buffer.from('finish_reason')
/** Members with random text, which hides the length of tokens. Two providers use these names. */
const OBFUSCATION = Buffer.from('obfuscation')
const PADDING = Buffer.from('p')

const OPEN_OBJECT = 0x7b
const CLOSE_ARRAY = 0x5d
const COMMA = 0x2c
const DIGIT_0 = 0x30
const EMPTY = Buffer.alloc(0)

/** Walks each chunk's JSON in place and parses only usage and errors. A failed stream is never `finished`. */
export class ChatStreamInspector implements StreamInspector {
  usage: Usage | null = null
  readonly usageIsFinal = true
  failure: UpstreamFailure | null = null
  readonly #clientWantsUsage: boolean
  /** Of the first chunk with a choice, for `usageEvent`. Kept when the client asked for usage. */
  #names: { readonly id: unknown; readonly created: unknown; readonly model: unknown } | null = null
  readonly #fields = new SseFields()
  readonly #chunk = new ObjectCursor()
  readonly #inner = new ObjectCursor()
  readonly #text = new TextMeter()
  readonly #template = new EventTemplate()
  readonly #ordinary = new OrdinaryEvent()
  // One bit per choice index: the answer is whole when every choice that began has ended.
  #begun = 0
  #ended = 0
  #over = false
  // State of the current chunk.
  #hasChoices = false
  #hasError = false
  #usageStart = 0
  #usageEnd = 0
  /** The chunk has nothing but its delta. */
  #plain = false
  #deltas = 0
  #deltaStart = 0
  #deltaEnd = 0
  #paddingStart = -1

  constructor(clientWantsUsage: boolean) {
    this.#clientWantsUsage = clientWantsUsage
  }

  get finished(): boolean {
    return this.failure === null && this.#ended !== 0 && (this.#begun & ~this.#ended) === 0
  }

  get observedTextBytes(): number {
    return this.#text.total
  }

  usageEvent(usage: Usage): Buffer | null {
    if (this.usage !== null || this.#names === null) return null
    const { id, created, model } = this.#names
    const chunk = { id, object: 'chat.completion.chunk', created, model, choices: [], usage: writeUsage(usage) }
    return Buffer.from(`data: ${JSON.stringify(chunk)}\n\n`)
  }

  takeOrdinary(bytes: Buffer, start: number, limit: number): number {
    if (this.failure !== null || this.#over) return -1
    const end = this.#ordinary.match(bytes, start, limit)
    if (end !== -1) this.#text.count(bytes, this.#ordinary.textStart - 1, this.#ordinary.textEnd + 1)
    return end
  }

  inspect(bytes: Buffer, start: number, end: number): EventVerdict {
    if (this.failure !== null) return 'error'
    if (this.#over) return 'drop'
    if (this.#matchesTemplate(bytes, start, end)) return 'forward'
    const fields = this.#fields
    fields.read(bytes, start, end)
    if (fields.nameIs(bytes, EVENT_ERROR)) return this.#fail(failureOfEvent(joinData(bytes, start, end) ?? EMPTY))
    if (fields.dataLines === 0) return 'forward'
    if (fields.dataLines === 1) {
      if (this.#walkChunk(bytes, fields.dataStart, fields.dataEnd)) {
        if (this.#plain && this.#deltas === 1) {
          this.#template.learn(bytes, start, this.#deltaStart, this.#deltaEnd, this.#paddingStart, end)
          this.#learnOrdinary(bytes, start, this.#paddingStart, end)
        }
        // Azure's first chunk has no choices and no id.
        if (this.#clientWantsUsage && this.#hasChoices) this.#names ??= namesOf(bytes, fields.dataStart, fields.dataEnd)
        return this.#judge(bytes, fields.dataStart, fields.dataEnd)
      }
      if (isDone(bytes, fields.dataStart, fields.dataEnd)) return this.#end()
    }
    const payload = joinData(bytes, start, end) ?? EMPTY
    return this.#walkChunk(payload, 0, payload.length)
      ? this.#judge(payload, 0, payload.length)
      : this.#fail(INVALID_EVENT)
  }

  /** Whether the event differs from the template only in its delta. The delta's text is counted then. */
  #matchesTemplate(bytes: Buffer, start: number, end: number): boolean {
    const deltaStart = this.#template.matchHead(bytes, start, end)
    if (deltaStart === -1) return false
    const countedBefore = this.#text.total
    const deltaEnd = this.#text.walk(bytes, deltaStart, end)
    if (deltaEnd !== BROKEN && this.#template.matchTail(bytes, deltaStart, deltaEnd, end)) {
      this.#learnOrdinary(bytes, start, this.#template.paddingStart, end)
      return true
    }
    this.#text.total = countedBefore
    return false
  }

  /** For an event whose delta is its only content, and has been walked last. */
  #learnOrdinary(bytes: Buffer, start: number, paddingStart: number, end: number): void {
    const { texts, textStart, textEnd } = this.#text
    if (texts === 1) this.#ordinary.learn(bytes, start, textStart, textEnd, paddingStart, end)
  }

  #judge(bytes: Buffer, start: number, end: number): EventVerdict {
    const hasUsage = this.#usageEnd > 0
    // Services that send several usages count from the start each time, so the last one wins.
    if (hasUsage) this.usage = readChatUsage(parseRange(bytes, this.#usageStart, this.#usageEnd)) ?? this.usage
    if (this.#hasError) return this.#fail(failureOfChunk(bytes.subarray(start, end)))
    return hasUsage && !this.#hasChoices && !this.#clientWantsUsage ? 'drop' : 'forward'
  }

  /** No event may follow the last one. */
  #end(): 'terminal' {
    this.#over = true
    return 'terminal'
  }

  #fail(failure: UpstreamFailure): 'error' {
    this.failure = failure
    return 'error'
  }

  /** Returns false when the range is not one JSON object. */
  #walkChunk(bytes: Buffer, start: number, end: number): boolean {
    this.#hasChoices = false
    this.#hasError = false
    this.#usageEnd = 0
    this.#plain = true
    this.#deltas = 0
    this.#paddingStart = -1
    const open = skipSpace(bytes, start, end)
    if (open >= end || bytes[open] !== OPEN_OBJECT) return false
    const chunk = this.#chunk
    chunk.open(bytes, open, end)
    while (chunk.next()) {
      if (chunk.keyIs(CHOICES)) {
        if (chunk.valueIsArray) chunk.walkedTo(this.#walkChoices(bytes, chunk.valueStart, end))
      } else if (chunk.keyIs(USAGE)) {
        this.#noteUsage(chunk)
      } else if (chunk.keyIs(ERROR)) {
        if (chunk.valueIsTruthy) {
          this.#hasError = true
          this.#plain = false
        }
      } else if (chunk.keyIs(X_GROQ)) {
        if (chunk.valueIsObject) chunk.walkedTo(this.#walkVendor(bytes, chunk.valueStart, end))
      } else if (chunk.keyIs(OBFUSCATION) || chunk.keyIs(PADDING)) {
        if (chunk.valueIsText && this.#deltas > 0) this.#paddingStart = chunk.valueStart + 1
      }
    }
    return chunk.end !== BROKEN && skipSpace(bytes, chunk.end, end) === end
  }

  #walkChoices(bytes: Buffer, open: number, end: number): number {
    let at = skipSpace(bytes, open + 1, end)
    if (bytes[at] === CLOSE_ARRAY) return at + 1
    this.#hasChoices = true
    while (at < end) {
      at = bytes[at] === OPEN_OBJECT ? this.#walkChoice(bytes, at, end) : skipValue(bytes, at, end)
      if (at === BROKEN) return BROKEN
      at = skipSpace(bytes, at, end)
      if (bytes[at] === CLOSE_ARRAY) return at + 1
      if (bytes[at] !== COMMA) return BROKEN
      at = skipSpace(bytes, at + 1, end)
    }
    return BROKEN
  }

  #walkChoice(bytes: Buffer, open: number, end: number): number {
    const choice = this.#inner
    let index = 0
    let ended = false
    choice.open(bytes, open, end)
    while (choice.next()) {
      if (choice.keyIs(DELTA)) {
        this.#deltas++
        this.#deltaStart = choice.valueStart
        this.#deltaEnd = this.#text.walk(bytes, choice.valueStart, end)
        choice.walkedTo(this.#deltaEnd)
      } else if (choice.keyIs(FINISH_REASON)) {
        ended = choice.valueIsText && choice.valueIsTruthy
        if (ended && isFailedFinish(bytes, choice.valueStart, choice.valueEnd())) this.#hasError = true
      } else if (choice.keyIs(INDEX)) {
        index = smallNumber(bytes, choice.valueStart, choice.valueEnd())
      } else if (choice.keyIs(USAGE)) {
        this.#noteUsage(choice)
      }
    }
    this.#begun |= 1 << index
    if (ended) {
      this.#ended |= 1 << index
      this.#plain = false
    }
    return choice.end
  }

  #walkVendor(bytes: Buffer, open: number, end: number): number {
    const vendor = this.#inner
    vendor.open(bytes, open, end)
    while (vendor.next()) if (vendor.keyIs(USAGE)) this.#noteUsage(vendor)
    return vendor.end
  }

  #noteUsage(cursor: ObjectCursor): void {
    if (!cursor.valueIsObject) return
    this.#plain = false
    this.#usageStart = cursor.valueStart
    this.#usageEnd = cursor.valueEnd()
  }
}

function namesOf(bytes: Buffer, start: number, end: number): { id: unknown; created: unknown; model: unknown } {
  const { id, created, model } = asObject(parseRange(bytes, start, end)) ?? {}
  return { id, created, model }
}

/** An error of the chunk wins over an error of a choice. */
function failureOfChunk(bytes: Buffer): UpstreamFailure {
  const chunk = asObject(parseRange(bytes, 0, bytes.length))
  const ofChoice = chunk === null || chunk['error'] ? null : failureOfChoices(arrayOf(chunk['choices']))
  return ofChoice ?? failureOfEvent(bytes)
}

/** A shift takes the number modulo 32, which is enough to tell choices apart. */
function smallNumber(bytes: Buffer, start: number, end: number): number {
  let number = 0
  for (let i = start; i < end; i++) number = number * 10 + ((bytes[i] as number) - DIGIT_0)
  return number
}
