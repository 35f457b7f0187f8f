const LINE_FEED = 0x0a
const CARRIAGE_RETURN = 0x0d
const SPACE = 0x20
const TAB = 0x09
/** An answer that brings less than this within the idle timeout is dripping. */
const LEAST_BYTES = 1_024

/**
 * Tells by its bytes whether an answer gets on: another KiB of it has come, or, before it has begun, another blank line, which
 * some providers send while a request waits there.
 */
export class AnswerPace {
  #bytes = 0
  #hasBegun = false

  /** Whether the answer has got on since the last time. */
  take(bytes: Buffer): boolean {
    if (!this.#hasBegun) {
      if (bytes.every(isBlank)) return bytes.includes(LINE_FEED)
      this.#hasBegun = true
    }
    this.#bytes += bytes.length
    if (this.#bytes < LEAST_BYTES) return false
    this.#bytes = 0
    return true
  }
}

function isBlank(byte: number): boolean {
  return byte === LINE_FEED || byte === CARRIAGE_RETURN || byte === SPACE || byte === TAB
}
