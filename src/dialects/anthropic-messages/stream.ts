import type { EventVerdict, StreamInspector, UpstreamFailure } from '../../shared/core/dialect.ts'
import type { Usage } from '../../shared/core/usage.ts'
import { SseFields, joinData } from '../../shared/wire/sse.ts'
import { EventTemplate } from '../common/event-template.ts'
import { EVENT_ERROR, INVALID_EVENT, failureOfEvent, isDone, parseRange } from '../common/event.ts'
import { BROKEN, ObjectCursor, TextMeter, skipSpace } from '../common/json-bytes.ts'
import { OrdinaryEvent } from '../common/ordinary-event.ts'
import { MessageUsage } from './usage.ts'

const TYPE = Buffer.from('type')
const MESSAGE = Buffer.from('message')
const DELTA = Buffer.from('delta')
const CONTENT_BLOCK = Buffer.from('content_block')
const USAGE = Buffer.from('usage')
const TEXT = Buffer.from('text')
const THINKING = Buffer.from('thinking')
const STOP_REASON = Buffer.from('stop_reason')
const ERROR = Buffer.from('error')

const OPEN_OBJECT = 0x7b
const EMPTY = Buffer.alloc(0)

/** Walks each event's JSON in place and parses only usage and errors. A failed stream is never `finished`. */
export class MessagesStreamInspector implements StreamInspector {
  failure: UpstreamFailure | null = null
  readonly #fields = new SseFields()
  readonly #event = new ObjectCursor()
  readonly #inner = new ObjectCursor()
  readonly #text = new TextMeter()
  readonly #template = new EventTemplate()
  readonly #ordinary = new OrdinaryEvent()
  readonly #usage = new MessageUsage()
  #started = false
  #hasContent = false
  #hasDelta = false
  #stopped = false
  #over = false
  // State of the current event.
  #type: EventType = 'other'
  #hasError = false
  #usageStart = 0
  #usageEnd = 0
  #deltas = 0
  #deltaStart = 0
  #deltaEnd = 0

  get usage(): Usage | null {
    return this.#usage.read()
  }

  /** `message_start` precedes the answer's tokens, so its usage is not final. */
  get usageIsFinal(): boolean {
    return this.#hasDelta
  }

  get finished(): boolean {
    return this.failure === null && this.#stopped
  }

  get observedTextBytes(): number {
    return this.#text.total
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
      if (this.#walkEvent(bytes, fields.dataStart, fields.dataEnd)) {
        if (this.#isPlainDelta()) {
          this.#template.learn(bytes, start, this.#deltaStart, this.#deltaEnd, -1, end)
          this.#learnOrdinary(bytes, start, -1, end)
        }
        return this.#judge(bytes, fields.dataStart, fields.dataEnd)
      }
      // Some services also send `[DONE]`, which ends streams of the other dialect.
      if (isDone(bytes, fields.dataStart, fields.dataEnd)) return 'drop'
    }
    const payload = joinData(bytes, start, end) ?? EMPTY
    return this.#walkEvent(payload, 0, payload.length)
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

  /** The current event has nothing but its delta. */
  #isPlainDelta(): boolean {
    return this.#type === 'other' && this.#deltas === 1 && !this.#hasError && this.#usageEnd === 0
  }

  #judge(bytes: Buffer, start: number, end: number): EventVerdict {
    if (this.#hasError || this.#type === 'error') return this.#fail(failureOfEvent(bytes.subarray(start, end)))
    switch (this.#type) {
      case 'message_start':
        return this.#start(bytes)
      case 'content_block_start':
        this.#hasContent = true
        return 'forward'
      case 'message_delta':
        this.#takeUsage(bytes)
        this.#hasDelta = true
        if (this.#deltaHasStopReason(bytes)) this.#stopped = true
        return 'forward'
      case 'message_stop':
        return this.#end()
      default:
        return 'forward'
    }
  }

  /**
   * Clients break on a second start. Before any content it is dropped; after content, two answers are mixed and the stream
   * fails.
   */
  #start(bytes: Buffer): EventVerdict {
    if (this.#hasContent) return this.#fail(INVALID_EVENT)
    this.#takeUsage(bytes)
    if (this.#started) return 'drop'
    this.#started = true
    return 'forward'
  }

  #takeUsage(bytes: Buffer): void {
    if (this.#usageEnd > 0) this.#usage.apply(parseRange(bytes, this.#usageStart, this.#usageEnd))
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
  #walkEvent(bytes: Buffer, start: number, end: number): boolean {
    this.#type = 'other'
    this.#hasError = false
    this.#usageEnd = 0
    this.#deltas = 0
    const open = skipSpace(bytes, start, end)
    if (open >= end || bytes[open] !== OPEN_OBJECT) return false
    const event = this.#event
    event.open(bytes, open, end)
    while (event.next()) {
      if (event.keyIs(TYPE)) {
        this.#type = typeOf(bytes, event.valueStart, event.valueEnd())
      } else if (event.keyIs(DELTA)) {
        this.#deltas++
        this.#deltaStart = event.valueStart
        this.#deltaEnd = this.#text.walk(bytes, event.valueStart, end)
        event.walkedTo(this.#deltaEnd)
      } else if (event.keyIs(CONTENT_BLOCK)) {
        if (event.valueIsObject) event.walkedTo(this.#walkBlock(bytes, event.valueStart, end))
      } else if (event.keyIs(MESSAGE)) {
        if (event.valueIsObject) event.walkedTo(this.#walkMessage(bytes, event.valueStart, end))
      } else if (event.keyIs(USAGE)) {
        this.#noteUsage(event)
      } else if (event.keyIs(ERROR)) {
        this.#hasError = event.valueIsTruthy
      }
    }
    return event.end !== BROKEN && skipSpace(bytes, event.end, end) === end
  }

  /** Counts text and thinking that come with the block's start, but not the results of server tools. */
  #walkBlock(bytes: Buffer, open: number, end: number): number {
    const block = this.#inner
    block.open(bytes, open, end)
    while (block.next()) {
      if (!block.valueIsText || !(block.keyIs(TEXT) || block.keyIs(THINKING))) continue
      this.#text.count(bytes, block.valueStart, block.valueEnd())
    }
    return block.end
  }

  #deltaHasStopReason(bytes: Buffer): boolean {
    const delta = this.#inner
    if (this.#deltas === 0 || bytes[this.#deltaStart] !== OPEN_OBJECT) return false
    delta.open(bytes, this.#deltaStart, this.#deltaEnd)
    while (delta.next()) if (delta.keyIs(STOP_REASON) && delta.valueIsText) return delta.valueIsTruthy
    return false
  }

  #walkMessage(bytes: Buffer, open: number, end: number): number {
    const message = this.#inner
    message.open(bytes, open, end)
    while (message.next()) if (message.keyIs(USAGE)) this.#noteUsage(message)
    return message.end
  }

  #noteUsage(cursor: ObjectCursor): void {
    if (!cursor.valueIsObject) return
    this.#usageStart = cursor.valueStart
    this.#usageEnd = cursor.valueEnd()
  }
}

type EventType = 'other' | 'error' | 'message_start' | 'content_block_start' | 'message_delta' | 'message_stop'

const EVENT_TYPES = (
  ['error', 'message_start', 'content_block_start', 'message_delta', 'message_stop'] as const satisfies EventType[]
).map((name) => ({ name, json: Buffer.from(`"${name}"`) }))

function typeOf(bytes: Buffer, start: number, end: number): EventType {
  for (const { name, json } of EVENT_TYPES) {
    if (json.length === end - start && json.compare(bytes, start, end) === 0) return name
  }
  return 'other'
}
