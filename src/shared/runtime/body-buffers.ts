import { markAsUntransferable } from 'node:worker_threads'
import { residentBytes } from './resident-memory.ts'

/** Bodies up to this size share slabs. In Node's own slabs lie many other things, so the body of a long stream keeps a whole one. */
const SMALL_BYTES = 2_048
const SLAB_BYTES = 8_192

/** Smaller buffers are not worth a memory mapping of their own. */
const LARGE_BYTES = 65_536
/** Bytes of shared buffers after which the resident memory is checked. */
const CHECK_EVERY_BYTES = 256 * 1024 * 1024
/** Growth of the resident memory above which the next buffers are of the kind that V8 counts. */
const MAX_GROWTH_BYTES = 256 * 1024 * 1024
/** Bytes of counted buffers until the next check: enough that every thread that receives some collects its heap. */
const COUNTED_BYTES = 128 * 1024 * 1024

/**
 * Memory for bodies. Small ones share slabs. Large ones are shared memory: V8 collects its whole heap after every few dozen MiB of
 * buffers, however short they live: with bodies of megabytes that is several times a second, and every request waits for it. V8 does
 * not count shared memory, and small collections free it as well. After each 256 MiB of bodies, the resident memory of the process shows whether they did: if it has
 * grown by more than 256 MiB since an earlier check, the next 128 MiB are buffers that V8 counts. One instance for each thread.
 */
export class BodyMemory {
  readonly #residentBytes: () => number
  #least = Infinity
  #made = 0
  #counted = false
  #slab = Buffer.alloc(0)
  #slabUsed = 0

  /** @param residentBytes of the process */
  constructor(residentBytes: () => number) {
    this.#residentBytes = residentBytes
  }

  /** Allocates memory for a body, not zeroed. A large body has memory of its own, which mostly all threads can read. */
  allocate(size: number): Buffer {
    if (size <= SMALL_BYTES) return this.#allocateSmall(size)
    if (size < LARGE_BYTES) return Buffer.allocUnsafe(size)
    if (this.#made + size > (this.#counted ? COUNTED_BYTES : CHECK_EVERY_BYTES)) this.#check()
    this.#made += size
    return this.#counted ? Buffer.allocUnsafeSlow(size) : Buffer.from(new SharedArrayBuffer(size))
  }

  #allocateSmall(size: number): Buffer {
    if (this.#slabUsed + size > this.#slab.length) {
      this.#slab = Buffer.allocUnsafeSlow(SLAB_BYTES)
      markAsUntransferable(this.#slab.buffer)
      this.#slabUsed = 0
    }
    const from = this.#slabUsed
    this.#slabUsed += size
    return this.#slab.subarray(from, this.#slabUsed)
  }

  #check(): void {
    const resident = this.#residentBytes()
    // After counted buffers V8 has collected its heap: the growth that is left is in use, and becomes the new baseline.
    this.#least = this.#counted ? resident : Math.min(this.#least, resident)
    this.#counted = resident - this.#least > MAX_GROWTH_BYTES
    this.#made = 0
  }
}

const memory = new BodyMemory(residentBytes)

/** Allocates memory for a body, not zeroed. A large body has memory of its own, which mostly all threads can read. */
export function allocateBody(size: number): Buffer {
  return memory.allocate(size)
}

/** Allocates memory for a piece of a body, not zeroed. Only this thread can read it. */
export function allocatePiece(size: number): Buffer {
  return size < LARGE_BYTES ? memory.allocate(size) : Buffer.allocUnsafe(size)
}

/** As `Buffer.concat`, into memory of `allocateBody`. */
export function joinBody(pieces: readonly Uint8Array[]): Buffer {
  const whole = allocateBody(pieces.reduce((sum, { length }) => sum + length, 0))
  let at = 0
  for (const piece of pieces) {
    whole.set(piece, at)
    at += piece.length
  }
  return whole
}

/** The same bytes in memory that holds nothing else, for another thread: shared memory, or a copy that can be transferred. */
export function unpooled(bytes: Uint8Array): Uint8Array {
  if (bytes.buffer instanceof SharedArrayBuffer) return bytes
  return bytes.length < LARGE_BYTES ? new Uint8Array(bytes) : joinBody([bytes])
}

/** The buffers that a message with these bytes has to transfer: none for shared memory. */
export function transfersOf({ buffer }: Uint8Array): ArrayBuffer[] {
  return buffer instanceof ArrayBuffer ? [buffer] : []
}
