import { residentBytes } from './resident-memory.ts'

/** Smaller ones are not worth a mapping of their own. */
const LARGE_BYTES = 65_536
/** Made without V8 counting them, until the process is looked at. */
const LOOKED_AFTER_BYTES = 256 * 1024 * 1024
/** Of the process, past which bodies are counted. */
const MAX_GROWTH_BYTES = 256 * 1024 * 1024
/** So many are counted then: enough that V8 collects its heap, wherever they have been handed to. */
const COUNTED_BYTES = 128 * 1024 * 1024

/**
 * Memory for large bodies. V8 collects its whole heap after every few dozen MiB of buffers, however short they live: with bodies of
 * megabytes that is several times a second, and every request waits for it. Memory that threads share is not counted, and is
 * given back by small collections as well. Whether it has been is seen by the resident memory of the process, after each 256 MiB
 * of bodies: where it has grown by more than 256 MiB since an earlier look, the next 128 MiB are of the counted kind. One for each
 * thread.
 */
export class BodyMemory {
  readonly #residentBytes: () => number
  #least = Infinity
  #made = 0
  #counted = false

  /** @param residentBytes of the process */
  constructor(residentBytes: () => number) {
    this.#residentBytes = residentBytes
  }

  /** Memory for a body: its own, and mostly readable by all threads, when it is large. Not zeroed. */
  allocate(size: number): Buffer {
    if (size < LARGE_BYTES) return Buffer.allocUnsafe(size)
    if (this.#made + size > (this.#counted ? COUNTED_BYTES : LOOKED_AFTER_BYTES)) this.#look()
    this.#made += size
    return this.#counted ? Buffer.allocUnsafeSlow(size) : Buffer.from(new SharedArrayBuffer(size))
  }

  #look(): void {
    const resident = this.#residentBytes()
    // Collected, it is as small as it gets: what it has grown by is in use.
    this.#least = this.#counted ? resident : Math.min(this.#least, resident)
    this.#counted = resident - this.#least > MAX_GROWTH_BYTES
    this.#made = 0
  }
}

const memory = new BodyMemory(residentBytes)

/** Memory for a body: its own, and mostly readable by all threads, when it is large. Not zeroed. */
export function allocateBody(size: number): Buffer {
  return memory.allocate(size)
}

/** As `Buffer.concat`, into such memory. */
export function joinBody(pieces: readonly Uint8Array[]): Buffer {
  const whole = allocateBody(pieces.reduce((sum, { length }) => sum + length, 0))
  let at = 0
  for (const piece of pieces) {
    whole.set(piece, at)
    at += piece.length
  }
  return whole
}

/** The same bytes as they can go to another thread, with no memory of others: shared, or a copy that may be transferred. */
export function unpooled(bytes: Uint8Array): Uint8Array {
  if (bytes.buffer instanceof SharedArrayBuffer) return bytes
  return bytes.length < LARGE_BYTES ? new Uint8Array(bytes) : joinBody([bytes])
}

/** What of it has to be transferred. */
export function transfersOf({ buffer }: Uint8Array): ArrayBuffer[] {
  return buffer instanceof ArrayBuffer ? [buffer] : []
}
