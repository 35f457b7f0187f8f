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
  #head: Buffer = EMPTY
  #tail: Buffer = EMPTY
  /** The bytes after the padding; empty when there is no padding. */
  #afterPadding: Buffer = EMPTY
  #tries = 0
  #hits = 0
  #lessons = 0

  /** Index behind the ordinary event that begins at `start`; -1 for any other event, and for one that is not whole before `limit`. */
  match(bytes: Buffer, start: number, limit: number): number {
    const head = this.#head
    const textStart = start + head.length
    if (head.length === 0 || textStart >= limit) return -1
    this.#tries++
    if (bytes.compare(head, 0, head.length, start, textStart) !== 0) return -1
    const textEnd = this.#walkText(bytes, textStart, limit)
    if (textEnd === -1) return -1
    let end = behind(bytes, textEnd, limit, this.#tail)
    if (end !== -1 && this.#afterPadding.length > 0) {
      const quote = plainStringEnd(bytes, end, limit)
      end = quote === -1 ? -1 : behind(bytes, quote, limit, this.#afterPadding)
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
      this.#head = EMPTY
      return
    }
    if (this.#lessons > this.#hits + FREE_LESSONS || !endsInBlankLine(bytes, start, end)) return
    const paddingEnd = paddingStart === -1 ? end : plainStringEnd(bytes, paddingStart, end)
    if (paddingEnd === -1 || (paddingStart !== -1 && paddingStart < textEnd)) return
    this.#lessons++
    this.#head = Buffer.from(bytes.subarray(start, textStart))
    this.#tail = Buffer.from(bytes.subarray(textEnd, paddingStart === -1 ? end : paddingStart))
    this.#afterPadding = paddingEnd === end ? EMPTY : Buffer.from(bytes.subarray(paddingEnd, end))
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

/** Index behind `expected` at `at`; -1 when other bytes stand there. */
function behind(bytes: Buffer, at: number, limit: number, expected: Buffer): number {
  const { length } = expected
  if (at + length > limit) return -1
  for (let i = 0; i < length; i++) if (bytes[at + i] !== expected[i]) return -1
  return at + length
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
