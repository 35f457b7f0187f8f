import type { StreamDecoder, StreamEncoder } from '../../shared/core/codec.ts'

/** All streams write here: the bytes go downstream before another stream is read. */
const output = Buffer.allocUnsafeSlow(65_536)
const EMPTY = Buffer.alloc(0)
/** The upper two bits of all bytes of a UTF-8 character but the first. */
const CONTINUATION = 0x80
/** The first byte of a character of four bytes, which are two UTF-16 units. */
const FOUR_BYTES = 0xf0

/**
 * Translates ordinary events from bytes to bytes: the text of each is copied into the frame that the encoder writes around texts.
 * Does the same as decoding and encoding them, in a quarter of the time.
 */
export class OrdinaryTexts {
  /** Bytes of the texts so far. */
  textBytes = 0
  readonly #decoder: StreamDecoder
  readonly #encoder: StreamEncoder
  #hasFrame = false
  #head: Buffer = EMPTY
  #tail: Buffer = EMPTY
  #length = 0

  constructor(decoder: StreamDecoder, encoder: StreamEncoder) {
    this.#decoder = decoder
    this.#encoder = encoder
  }

  /** Call when the encoder has encoded anything but a text: its frame may be another now. */
  forgetFrame(): void {
    this.#hasFrame = false
  }

  /** Takes the ordinary events that are whole in `bytes[from, to)`, as many as the output holds. Returns the index behind them. */
  take(bytes: Buffer, from: number, to: number): number {
    this.#length = 0
    if (this.#decoder.ordinaryText === undefined || this.#encoder.textFrame === undefined) return from
    let at = from
    while (at < to) {
      const event = this.#decoder.ordinaryText(bytes, at, to)
      if (event === null) break
      if (!this.#hasFrame) this.#readFrame(this.#encoder.textFrame())
      if (!this.#write(bytes, event.textStart, event.textEnd)) break
      at = event.end
    }
    return at
  }

  /** The translation of the events taken last, valid until another stream takes some. */
  written(): Buffer {
    return output.subarray(0, this.#length)
  }

  #readFrame({ head, tail }: { readonly head: string; readonly tail: string }): void {
    this.#head = Buffer.from(`${head}"`)
    this.#tail = Buffer.from(`"${tail}`)
    this.#hasFrame = true
  }

  /** Returns false when the output has no room for the event. */
  #write(bytes: Buffer, textStart: number, textEnd: number): boolean {
    const textLength = textEnd - textStart
    let at = this.#length
    if (at + this.#head.length + textLength + this.#tail.length > output.length) return false
    output.set(this.#head, at)
    at += this.#head.length
    let characters = 0
    // Texts are a few bytes long: a call of `copy` would take longer.
    for (let i = textStart; i < textEnd; i++) {
      const byte = bytes[i] as number
      output[at++] = byte
      if ((byte & 0xc0) !== CONTINUATION) characters += byte >= FOUR_BYTES ? 2 : 1
    }
    output.set(this.#tail, at)
    this.#length = at + this.#tail.length
    this.textBytes += textLength
    this.#encoder.countText?.(characters)
    return true
  }
}
