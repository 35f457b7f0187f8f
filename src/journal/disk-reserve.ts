import { closeSync, openSync, statfsSync, unlinkSync, writeSync } from 'node:fs'
import { dirname } from 'node:path'

const CHUNK = Buffer.alloc(256 * 1024, 0xa5)
/** The reserve is taken back only when the disk has this many times its size free: other programs need space too. */
const MIN_FREE_FACTOR = 2

/**
 * A file that reserves space on the journal's disk. The journal gives it up when the disk is full, so that requests under way
 * are still recorded, and takes it back when the disk has space again.
 */
export class DiskReserve {
  readonly #path: string
  readonly #bytes: number
  #isHeld = false

  /** @param bytes 0 turns the reserve off; it then counts as held */
  constructor(path: string, bytes: number) {
    this.#path = path
    this.#bytes = bytes
  }

  get isHeld(): boolean {
    return this.#isHeld || this.#bytes === 0
  }

  /** Writes the file, over one that an earlier process left. Returns false when the disk has too little free space. */
  take(): boolean {
    if (this.isHeld) return true
    try {
      const { bavail, bsize } = statfsSync(dirname(this.#path))
      if (bavail * bsize < this.#bytes * MIN_FREE_FACTOR) return false
      this.#fill()
      this.#isHeld = true
      return true
    } catch {
      this.#remove()
      return false
    }
  }

  /** Deletes the file, which frees its space. */
  giveUp(): void {
    this.#isHeld = false
    this.#remove()
  }

  #fill(): void {
    const descriptor = openSync(this.#path, 'w', 0o600)
    try {
      let left = this.#bytes
      while (left > 0) left -= writeSync(descriptor, CHUNK, 0, Math.min(left, CHUNK.length))
    } finally {
      closeSync(descriptor)
    }
  }

  #remove(): void {
    if (this.#bytes === 0) return
    try {
      unlinkSync(this.#path)
    } catch {
      // The file did not exist.
    }
  }
}
