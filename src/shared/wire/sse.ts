const LF = 0x0a
const CR = 0x0d
const SPACE = 0x20
const COLON = 0x3a

const DEFAULT_MAX_EVENT_BYTES = 8 * 1024 * 1024
const FIRST_REST_BYTES = 1024
const EMPTY = Buffer.alloc(0)

/** Where the next byte stands. */
const IN_LINE = 0
const LINE_START = 1
/** Behind the CR of a line with content: an LF would belong to it. */
const AFTER_CR = 2
/** Behind the CR of a blank line: the event is over, but an LF would still belong to it. */
const AFTER_BLANK_CR = 3

/** An event, or what has come of it, is longer than a splitter may keep. */
export class SseEventTooLargeError extends Error {
  readonly maxEventBytes: number

  constructor(maxEventBytes: number) {
    super(`An event is longer than ${maxEventBytes} bytes.`)
    this.name = 'SseEventTooLargeError'
    this.maxEventBytes = maxEventBytes
  }
}

/** Is given `bytes[start, end)`, one event with its blank line, valid until it returns. False: no more, please. */
export type SseEventListener = (bytes: Buffer, start: number, end: number) => boolean | void

/**
 * Cuts a byte stream into server-sent events behind each blank line, whatever the line ends (LF, CRLF, CR) and wherever
 * the chunks are cut; where it cuts does not depend on the chunks. What it hands out, put together, is the input: comments
 * and superfluous blank lines come as events of their own.
 *
 * Events that lie within a chunk are not copied. Each byte is looked at once, and copied at most a fixed number of times.
 * @note A stream whose lines end in a lone CR is one byte behind: only the next byte tells that no LF belongs to the CR.
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

  /**
   * Hands out every event that ends within `chunk` and keeps the rest. False once the listener has returned false: what
   * follows in this stream is thrown away. Throws SseEventTooLargeError.
   */
  split(chunk: Buffer, onEvent: SseEventListener): boolean {
    if (this.#stopped) return false
    const length = chunk.length
    const lfOnly = chunk.indexOf(CR) === -1
    let state = this.#state
    let eventStart = 0
    let at = 0
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

  /** What has come of an event that is not over. Valid until the next call. */
  rest(): Buffer {
    return this.#rest.subarray(0, this.#restLength)
  }

  /** The last line that has come is a whole comment, of an event that is not over. */
  endsInComment(): boolean {
    if (this.#state !== LINE_START || this.#restLength < 2) return false
    const lineStart = this.#rest.lastIndexOf(LF, this.#restLength - 2) + 1
    return this.#rest[lineStart] === COLON
  }

  /** At the end of the stream: hands the rest, if there is one, out as an event. It may lack its blank line. */
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
      // Out of our hands before the listener runs, which may throw: the next event gets another buffer.
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

/** Where the fields of one event stand. Made once per stream and filled anew by each `read`. */
export class SseFields {
  /** Of the last `event:` line's value; both 0 when there is none. */
  nameStart = 0
  nameEnd = 0
  /** Of the first `data:` line's value. */
  dataStart = 0
  dataEnd = 0
  /** With more than one, the payload is what `joinData` returns. */
  dataLines = 0

  /**
   * @note A lone CR is taken for a line end only if the event ends in one; a stray one stays in the value, where no JSON
   * can have it. `joinData` is exact.
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

/** The payload as the standard puts it together: the values of all `data:` lines with LF in between; null without any. */
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
