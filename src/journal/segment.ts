import { closeSync, fdatasync, fdatasyncSync, fsyncSync, ftruncateSync, openSync, unlinkSync, writeSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { FrameWriter } from './frames.ts'
import type { SegmentHeader } from './frames.ts'

const HEADER_BYTES = 1024

/** One file of a journal. */
export class Segment {
  readonly #descriptor: number
  readonly #headerBytes: number
  #written: number
  /** Part of a failed write is still in the file, after `#written`. */
  #isTorn = false

  private constructor(descriptor: number, headerBytes: number) {
    this.#descriptor = descriptor
    this.#headerBytes = headerBytes
    this.#written = headerBytes
  }

  /** Throws and leaves no file when the header cannot be written: a later segment makes the one before it final. */
  static create(directory: string, header: SegmentHeader, sequence: number): Segment {
    const path = join(directory, `${header.writer}-${String(sequence).padStart(8, '0')}.seg`)
    const descriptor = openSync(path, 'ax', 0o600)
    const writer = new FrameWriter(HEADER_BYTES)
    writer.appendHeader(header)
    const bytes = writer.take()
    try {
      if (writeSync(descriptor, bytes) !== bytes.length) {
        throw new Error('the header of a journal segment was written only in part')
      }
    } catch (cause) {
      closeSync(descriptor)
      unlinkSync(path)
      throw cause
    }
    return new Segment(descriptor, bytes.length)
  }

  get sizeBytes(): number {
    return this.#written
  }

  get hasRecords(): boolean {
    return this.#written > this.#headerBytes
  }

  /** Writes all bytes or none: a partial write would leave a torn frame in the middle of the segment. */
  write(bytes: Buffer): void {
    if (this.#isTorn) this.#cutPartialWrite()
    let done = 0
    try {
      while (done < bytes.length) done += writeSync(this.#descriptor, bytes, done, bytes.length - done)
    } catch (cause) {
      this.#isTorn = done > 0
      if (this.#isTorn) this.#cutPartialWrite()
      throw cause
    }
    this.#written += bytes.length
  }

  sync(then: (failure: Error | null) => void): void {
    fdatasync(this.#descriptor, then)
  }

  syncNow(): void {
    fdatasyncSync(this.#descriptor)
  }

  close(): void {
    closeSync(this.#descriptor)
  }

  /**
   * Whole frames of a failed write may be settled already: the same bytes must be written again at the same position, never to
   * another segment.
   */
  #cutPartialWrite(): void {
    ftruncateSync(this.#descriptor, this.#written)
    this.#isTorn = false
  }
}

/** Syncs the directory and its parent to disk: without this, a power cut can lose the names of their files. */
export function syncDirectory(directory: string): void {
  for (const path of [directory, dirname(directory)]) {
    const descriptor = openSync(path, 'r')
    try {
      fsyncSync(descriptor)
    } finally {
      closeSync(descriptor)
    }
  }
}
