import { copyOf } from './copy-of.ts'

const LF = 0x0a
const CR = 0x0d
const SPACE = 0x20
const QUOTE = 0x22
const BACKSLASH = 0x5c
const DEL = 0x7f
const EMPTY = Buffer.alloc(0)

const FREE_LESSONS = 4
const TRIALS = 32

/**
 * The ordinary event of one stream, in which only one JSON string changes. All other bytes are compared, the blank line included, so a
 * match proves where the event ends and what it means, without splitting or parsing it.
 *
 * ```
 * data: {"id":…,"choices":[{"index":0,"delta":{"content":"Hello"},"finish_reason":null}],"obfuscation":"x7Fq"}
 * └──────────────────────── head ────────────────────────┘     └────────────────── tail ──────────────┘    └ after the padding
 * ```
 */
export class OrdinaryEvent {
  /** Bounds of the text of the last match, without its quotes. */
  textStart = 0
  textEnd = 0
  /** Index behind the last match. */
  end = 0
  /** The text of the last match has escapes. */
  isEscaped = false
  /** The text of the last match has ASCII characters only. */
  isAscii = true
  /** The learned event, and where its parts are. */
  #event: Buffer = EMPTY
  /** The head begins with the event. 0: nothing is learned. */
  #headEnd = 0
  #tailStart = 0
  #tailEnd = 0
  /** The end of the event when there is no padding. */
  #paddingEnd = 0
  #tries = 0
  #hits = 0
  #lessons = 0

  /** Index behind the ordinary event that begins at `start`; -1 for any other event, and for one that is not whole before `limit`. */
  match(bytes: Buffer, start: number, limit: number): number {
    const event = this.#event
    const headEnd = this.#headEnd
    const textStart = start + headEnd
    if (headEnd === 0 || textStart >= limit) return -1
    this.#tries++
    if (bytes.compare(event, 0, headEnd, start, textStart) !== 0) return -1
    const textEnd = this.#walkText(bytes, textStart, limit)
    if (textEnd === -1) return -1
    let end = behind(bytes, textEnd, limit, event, this.#tailStart, this.#tailEnd)
    if (end !== -1 && this.#paddingEnd < event.length) {
      const quote = plainStringEnd(bytes, end, limit)
      end = quote === -1 ? -1 : behind(bytes, quote, limit, event, this.#paddingEnd, event.length)
    }
    if (end === -1) return -1
    this.#hits++
    this.textStart = textStart
    this.textEnd = textEnd
    this.end = end
    return end
  }

  /**
   * Learns from the event `bytes[start, end)`. Stops learning when the surroundings keep changing: it then costs more than it saves.
   * @param textStart index after the opening quote of the text
   * @param textEnd index of its closing quote
   * @param paddingStart index after the opening quote of another string that varies from event to event; -1 when there is none
   */
  learn(bytes: Buffer, start: number, textStart: number, textEnd: number, paddingStart: number, end: number): void {
    if (this.#tries >= TRIALS && this.#hits * 2 < this.#tries) {
      this.#event = EMPTY
      this.#headEnd = 0
      return
    }
    if (this.#lessons > this.#hits + FREE_LESSONS || !endsInBlankLine(bytes, start, end)) return
    const paddingEnd = paddingStart === -1 ? end : plainStringEnd(bytes, paddingStart, end)
    if (paddingEnd === -1 || (paddingStart !== -1 && paddingStart < textEnd)) return
    this.#lessons++
    this.#event = copyOf(bytes, start, end)
    this.#headEnd = textStart - start
    this.#tailStart = textEnd - start
    this.#tailEnd = (paddingStart === -1 ? end : paddingStart) - start
    this.#paddingEnd = paddingEnd - start
  }

  /** Index of the closing quote, or -1. */
  #walkText(bytes: Buffer, from: number, limit: number): number {
    let isEscaped = false
    let isAscii = true
    for (let at = from; at < limit; at++) {
      const byte = bytes[at] as number
      if (byte === QUOTE) {
        this.isEscaped = isEscaped
        this.isAscii = isAscii
        return at
      }
      if (byte === BACKSLASH) {
        isEscaped = true
        at++
        if (at < limit && (bytes[at] as number) < SPACE) return -1
      } else if (byte < SPACE) return -1
      else if (byte > DEL) isAscii = false
    }
    return -1
  }
}

/** Index behind the bytes `expected[from, to)` at `at`; -1 when other bytes stand there. */
function behind(bytes: Buffer, at: number, limit: number, expected: Buffer, from: number, to: number): number {
  const offset = at - from
  if (offset + to > limit) return -1
  for (let i = from; i < to; i++) if (bytes[offset + i] !== expected[i]) return -1
  return offset + to
}

/** Index of the closing quote of a string without escapes; -1 for others. */
function plainStringEnd(bytes: Buffer, from: number, limit: number): number {
  for (let at = from; at < limit; at++) {
    const byte = bytes[at] as number
    if (byte === QUOTE) return at
    if (byte < SPACE || byte === BACKSLASH) return -1
  }
  return -1
}

/** A lone CR may be half of a line end, so an event that ends in one ends at no certain place. */
function endsInBlankLine(bytes: Buffer, start: number, end: number): boolean {
  if (end - start < 3 || bytes[end - 1] !== LF) return false
  return bytes[end - 2] === LF || (bytes[end - 2] === CR && bytes[end - 3] === LF)
}
