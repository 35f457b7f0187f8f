import { closeSync, openSync, statfsSync, unlinkSync, writeSync } from 'node:fs'
import { dirname } from 'node:path'

const CHUNK = Buffer.alloc(256 * 1024, 0xa5)
/** Of its size that must be free before the space is taken back: others need some of it too. */
const ROOM = 2

/**
 * Space on the journal's disk that nobody else can have. It is given up when the disk is full, so that what is under way can
 * still be recorded, and taken back when there is room.
 */
export class DiskReserve {
  readonly #path: string
  readonly #bytes: number
  #isHeld = false

  /** @param bytes 0: there is none, and it counts as held */
  constructor(path: string, bytes: number) {
    this.#path = path
    this.#bytes = bytes
  }

  get isHeld(): boolean {
    return this.#isHeld || this.#bytes === 0
  }

  /** Takes the space, over what an earlier process left of it; false when the disk has no room for it. */
  take(): boolean {
    if (this.isHeld) return true
    try {
      const { bavail, bsize } = statfsSync(dirname(this.#path))
      if (bavail * bsize < this.#bytes * ROOM) return false
      this.#fill()
      this.#isHeld = true
      return true
    } catch {
      this.#remove()
      return false
    }
  }

  /** Afterwards the disk has that much more room. */
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
      // It was not there, which is as good.
    }
  }
}
