const LF = 0x0a
const CR = 0x0d
const SPACE = 0x20
const COLON = 0x3a

const DEFAULT_MAX_EVENT_BYTES = 8 * 1024 * 1024
const FIRST_REST_BYTES = 1024
const EMPTY = Buffer.alloc(0)

/** States of the splitter: the place of the next byte. */
const IN_LINE = 0
const LINE_START = 1
/** After the CR of a line with content: an LF here belongs to that line. */
const AFTER_CR = 2
/** After the CR of a blank line: the event is over, but an LF here still belongs to it. */
const AFTER_BLANK_CR = 3

/** An event, whole or in part, is longer than the bound of the splitter. */
export class SseEventTooLargeError extends Error {
  readonly maxEventBytes: number

  constructor(maxEventBytes: number) {
    super(`An event is longer than ${maxEventBytes} bytes.`)
    this.name = 'SseEventTooLargeError'
    this.maxEventBytes = maxEventBytes
  }
}

/** Receives one event with its blank line, `bytes[start, end)`, valid until it returns. Returns false to receive no more. */
export type SseEventListener = (bytes: Buffer, start: number, end: number) => boolean | void

/**
 * Cuts a byte stream into server-sent events after each blank line. Lines end in LF, CRLF or CR. The cuts do not depend on the
 * chunks. The events, joined, are the input: comments and superfluous blank lines are events of their own.
 *
 * Events within one chunk are not copied. Each byte is read once, and copied at most a fixed number of times.
 * @note Where lines end in a lone CR, an event is one byte late: only the next byte shows that no LF belongs to the CR.
 */
export class SseSplitter {
  readonly #maxEventBytes: number
  #rest: Buffer = EMPTY
  #restLength = 0
  #state = LINE_START
  #stopped = false

  constructor(maxEventBytes: number = DEFAULT_MAX_EVENT_BYTES) {
    this.#maxEventBytes = maxEventBytes
  }

  /** The next byte begins an event: nothing is kept. */
  get isBetweenEvents(): boolean {
    return this.#restLength === 0 && this.#state === LINE_START && !this.#stopped
  }

  /**
   * Hands out every event that ends within `chunk`, from `from` on, and keeps the rest. Returns false once the listener has returned
   * false: the rest of the stream is discarded. Throws SseEventTooLargeError.
   */
  split(chunk: Buffer, onEvent: SseEventListener, from = 0): boolean {
    if (this.#stopped) return false
    const length = chunk.length
    const lfOnly = chunk.indexOf(CR, from) === -1
    let state = this.#state
    let eventStart = from
    let at = from
    while (at < length) {
      if (state === IN_LINE && lfOnly) {
        const lineFeed = chunk.indexOf(LF, at)
        if (lineFeed === -1) break
        at = lineFeed + 1
        state = LINE_START
        continue
      }
      const byte = chunk[at]
      if (state === AFTER_BLANK_CR && byte !== LF) {
        if (!this.#emit(chunk, eventStart, at, onEvent)) return false
        eventStart = at
        state = LINE_START
      }
      at++
      if (byte === LF) {
        if (state === LINE_START || state === AFTER_BLANK_CR) {
          if (!this.#emit(chunk, eventStart, at, onEvent)) return false
          eventStart = at
        }
        state = LINE_START
      } else if (byte === CR) {
        state = state === IN_LINE ? AFTER_CR : AFTER_BLANK_CR
      } else {
        state = IN_LINE
      }
    }
    this.#state = state
    if (eventStart < length) this.#keep(chunk, eventStart, length)
    return true
  }

  /** The bytes so far of an event that is not over. Valid until the next call. */
  rest(): Buffer {
    return this.#rest.subarray(0, this.#restLength)
  }

  /** True when the last line so far is a whole comment in an event that is not over. */
  endsInComment(): boolean {
    if (this.#state !== LINE_START || this.#restLength < 2) return false
    const lineStart = this.#rest.lastIndexOf(LF, this.#restLength - 2) + 1
    return this.#rest[lineStart] === COLON
  }

  /** For the end of the stream: hands out the rest, if any, as an event. It may lack its blank line. */
  finish(onEvent: SseEventListener): void {
    if (this.#stopped || this.#restLength === 0) return
    this.#state = LINE_START
    this.#emit(EMPTY, 0, 0, onEvent)
    this.#stopped = true
  }

  #emit(chunk: Buffer, start: number, end: number, onEvent: SseEventListener): boolean {
    let goOn: boolean | void
    if (this.#restLength === 0) {
      if (end - start > this.#maxEventBytes) throw new SseEventTooLargeError(this.#maxEventBytes)
      goOn = onEvent(chunk, start, end)
    } else {
      this.#keep(chunk, start, end)
      const event = this.#rest
      const length = this.#restLength
      // Cleared before the listener runs, which may throw: the next event gets another buffer.
      this.#rest = EMPTY
      this.#restLength = 0
      goOn = onEvent(event, 0, length)
    }
    if (goOn !== false) return true
    this.#stopped = true
    return false
  }

  #keep(chunk: Buffer, start: number, end: number): void {
    const length = this.#restLength + (end - start)
    if (length > this.#maxEventBytes) throw new SseEventTooLargeError(this.#maxEventBytes)
    if (length > this.#rest.length) {
      const larger = Buffer.allocUnsafe(Math.min(this.#maxEventBytes, Math.max(FIRST_REST_BYTES, 2 * length)))
      this.#rest.copy(larger, 0, 0, this.#restLength)
      this.#rest = larger
    }
    chunk.copy(this.#rest, this.#restLength, start, end)
    this.#restLength = length
  }
}

/** The positions of the fields of one event. Made once per stream; each `read` fills it anew. */
export class SseFields {
  /** Bounds of the value of the last `event:` line; both 0 when there is none. */
  nameStart = 0
  nameEnd = 0
  /** Bounds of the value of the first `data:` line. */
  dataStart = 0
  dataEnd = 0
  /** Number of `data:` lines. With more than one, `joinData` returns the payload. */
  dataLines = 0

  /**
   * @note A lone CR ends a line only if the event ends in one. Otherwise it stays in the value, which is then not valid JSON.
   * `joinData` is exact.
   */
  read(bytes: Buffer, start: number, end: number): void {
    this.nameStart = this.nameEnd = this.dataStart = this.dataEnd = this.dataLines = 0
    const loneCr = bytes[end - 1] === CR
    let at = skipByteOrderMark(bytes, start, end)
    while (at < end) {
      const lineStart = at
      let lineEnd: number
      if (loneCr) {
        lineEnd = lineEndFrom(bytes, at, end)
        at = behindLineEnd(bytes, lineEnd, end)
      } else {
        const lineFeed = bytes.indexOf(LF, at)
        const found = lineFeed !== -1 && lineFeed < end
        lineEnd = found ? lineFeed : end
        at = found ? lineFeed + 1 : end
        if (lineEnd > lineStart && bytes[lineEnd - 1] === CR) lineEnd--
      }
      if (isField(bytes, lineStart, lineEnd, DATA)) {
        if (this.dataLines++ === 0) {
          this.dataStart = valueStart(bytes, lineStart + DATA.length, lineEnd)
          this.dataEnd = lineEnd
        }
      } else if (isField(bytes, lineStart, lineEnd, EVENT)) {
        this.nameStart = valueStart(bytes, lineStart + EVENT.length, lineEnd)
        this.nameEnd = lineEnd
      }
    }
  }

  nameIs(bytes: Buffer, name: Buffer): boolean {
    return this.nameEnd - this.nameStart === name.length && startsWith(bytes, this.nameStart, name)
  }
}

const DATA = Buffer.from('data')
const EVENT = Buffer.from('event')

/** The payload by the rule of the standard: the values of all `data:` lines, joined with LF; null without any. */
export function joinData(bytes: Buffer, start: number, end: number): Buffer | null {
  // Values are shorter than their lines.
  const joined = Buffer.allocUnsafe(end - start)
  let length = 0
  let lines = 0
  let at = skipByteOrderMark(bytes, start, end)
  while (at < end) {
    const lineEnd = lineEndFrom(bytes, at, end)
    if (isField(bytes, at, lineEnd, DATA)) {
      if (lines++ > 0) joined[length++] = LF
      length += bytes.copy(joined, length, valueStart(bytes, at + DATA.length, lineEnd), lineEnd)
    }
    at = behindLineEnd(bytes, lineEnd, end)
  }
  return lines === 0 ? null : joined.subarray(0, length)
}

function lineEndFrom(bytes: Buffer, from: number, end: number): number {
  let at = from
  while (at < end && bytes[at] !== LF && bytes[at] !== CR) at++
  return at
}

function behindLineEnd(bytes: Buffer, lineEnd: number, end: number): number {
  const crLf = bytes[lineEnd] === CR && lineEnd + 1 < end && bytes[lineEnd + 1] === LF
  return lineEnd + (crLf ? 2 : 1)
}

/** The line is `name`, or begins with `name:`. */
function isField(bytes: Buffer, lineStart: number, lineEnd: number, name: Buffer): boolean {
  const nameEnd = lineStart + name.length
  if (nameEnd > lineEnd || !startsWith(bytes, lineStart, name)) return false
  return nameEnd === lineEnd || bytes[nameEnd] === COLON
}

function valueStart(bytes: Buffer, nameEnd: number, lineEnd: number): number {
  if (nameEnd === lineEnd) return lineEnd
  return nameEnd + 1 < lineEnd && bytes[nameEnd + 1] === SPACE ? nameEnd + 2 : nameEnd + 1
}

function startsWith(bytes: Buffer, at: number, prefix: Buffer): boolean {
  for (let i = 0; i < prefix.length; i++) if (bytes[at + i] !== prefix[i]) return false
  return true
}

function skipByteOrderMark(bytes: Buffer, start: number, end: number): number {
  return end - start >= 3 && bytes[start] === 0xef && bytes[start + 1] === 0xbb && bytes[start + 2] === 0xbf
    ? start + 3
    : start
}
