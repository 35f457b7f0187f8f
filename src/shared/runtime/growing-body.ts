import { allocateBody, allocatePiece } from './body-buffers.ts'

/** Most that is allocated ahead of the bytes. */
const MAX_BLOCK_BYTES = 65_536

/**
 * A body that arrives in pieces of any size. Small pieces share blocks of memory, so that its memory follows from its bytes, not
 * from the number of pieces. A Buffer for each piece costs 100 to 150 bytes more.
 */
export class GrowingBody {
  #blocks: Buffer[] = []
  /** Unused bytes at the end of the last block. */
  #free = 0
  #length = 0

  get length(): number {
    return this.#length
  }

  /** Copies the bytes. */
  append(bytes: Uint8Array): void {
    const last = this.#blocks.at(-1)
    const fitting = Math.min(this.#free, bytes.length)
    if (last !== undefined && fitting > 0) {
      last.set(fitting === bytes.length ? bytes : bytes.subarray(0, fitting), last.length - this.#free)
      this.#free -= fitting
    }
    const rest = bytes.length - fitting
    if (rest > 0) {
      const block = allocatePiece(Math.max(rest, Math.min(this.#length, MAX_BLOCK_BYTES)))
      block.set(fitting === 0 ? bytes : bytes.subarray(fitting))
      this.#blocks.push(block)
      this.#free = block.length - rest
    }
    this.#length += bytes.length
  }

  /** Allocates one block for all `total` bytes and copies the bytes so far into it, so that `take` need not join blocks. */
  reserve(total: number): void {
    const whole = allocateBody(Math.max(total, this.#length))
    this.#copyTo(whole)
    this.#blocks = [whole]
    this.#free = whole.length - this.#length
  }

  /** Returns all the bytes in one piece of memory, which the caller then owns. The body is empty afterwards. */
  take(): Buffer {
    const [first] = this.#blocks
    const isWhole = first !== undefined && this.#blocks.length === 1 && this.#free === 0
    const bytes = isWhole ? first : this.#joined()
    this.clear()
    return bytes
  }

  clear(): void {
    this.#blocks = []
    this.#free = 0
    this.#length = 0
  }

  #joined(): Buffer {
    const whole = allocateBody(this.#length)
    this.#copyTo(whole)
    return whole
  }

  #copyTo(whole: Buffer): void {
    let at = 0
    for (const block of this.#blocks) at += block.copy(whole, at, 0, Math.min(block.length, this.#length - at))
  }
}
