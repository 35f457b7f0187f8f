const LINE_FEED = 0x0a
const CARRIAGE_RETURN = 0x0d
const SPACE = 0x20
const TAB = 0x09
/** An answer makes progress with each of so many bytes; fewer within the idle timeout is a timeout. */
const LEAST_BYTES = 1_024

/**
 * Measures the progress of an answer by its bytes: another KiB has arrived, or, before the body begins, another blank line. Some
 * providers send blank lines while a request waits in their queue.
 */
export class AnswerPace {
  #bytes = 0
  #hasBegun = false

  /** Whether the answer has made progress since the last call that returned true. */
  take(bytes: Buffer, from: number, to: number): boolean {
    if (!this.#hasBegun) {
      const piece = bytes.subarray(from, to)
      if (piece.every(isBlank)) return piece.includes(LINE_FEED)
      this.#hasBegun = true
    }
    this.#bytes += to - from
    if (this.#bytes < LEAST_BYTES) return false
    this.#bytes = 0
    return true
  }
}

function isBlank(byte: number): boolean {
  return byte === LINE_FEED || byte === CARRIAGE_RETURN || byte === SPACE || byte === TAB
}
