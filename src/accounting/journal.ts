import { closeSync, fdatasync, fdatasyncSync, ftruncateSync, mkdirSync, openSync, unlinkSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import type { Clock } from '../core/clock.ts'
import type { JournalRecord } from '../core/request-record.ts'
import { FrameWriter } from '../wire/journal-frames.ts'
import type { SegmentHeader } from '../wire/journal-frames.ts'

export interface JournalOptions {
  readonly directory: string
  readonly header: SegmentHeader
  readonly segmentMaxBytes: number
  /** `os`: a record is safe when the operating system has it; `disk`: when the disk has. */
  readonly durability: 'os' | 'disk'
  readonly clock: Clock
  readonly onFault: (cause: Error) => void
}

type Waiting = (failure: Error | null) => void

const SEGMENT_HEADER_BYTES = 1024
const RETRY_MS = 100
/** How long finished requests wait for a full disk before their connections are cut. */
const GIVE_UP_MS = 10_000
/** Records held back by a failing disk; requests are refused long before. */
export const MAX_HELD_BYTES = 64 * 1024 * 1024

/**
 * This process's part of the journal: segment files that only it writes to, one write per turn of the event loop.
 * A record is durable before its waiter is called.
 */
export class Journal {
  readonly #options: JournalOptions
  readonly #frames = new FrameWriter()
  #waiting: Waiting[] = []
  #descriptor: number
  #sequence = 1
  #written: number
  #scheduled = false
  #syncing = false
  #awaitingSync: Waiting[] = []
  /** Bytes that could not be written yet. */
  #pending: Buffer | null = null
  #failingSinceMs: number | null = null
  #closed = false
  #appendedRecords = 0
  #writtenBytes = 0

  constructor(options: JournalOptions) {
    this.#options = options
    mkdirSync(options.directory, { recursive: true, mode: 0o700 })
    const { descriptor, written } = this.#openSegment(this.#sequence)
    this.#descriptor = descriptor
    this.#written = written
  }

  /** False while the disk takes nothing: new requests are to be refused. */
  get writable(): boolean {
    return this.#failingSinceMs === null && !this.#closed
  }

  /** Bytes of records that are not written yet. */
  get heldBytes(): number {
    return (this.#pending?.length ?? 0) + this.#frames.pendingBytes
  }

  /** Since the start, segment headers not included. */
  get totals(): { readonly records: number; readonly bytes: number } {
    return { records: this.#appendedRecords, bytes: this.#writtenBytes }
  }

  /** Adds a record; `then` is called once it is durable, or with the failure when it cannot be made so in time. */
  append(record: JournalRecord, then: Waiting): void {
    if (this.heldBytes > MAX_HELD_BYTES) {
      then(new Error('the journal holds back too much already'))
      return
    }
    this.#frames.append(record)
    this.#appendedRecords += 1
    this.#waiting.push(then)
    this.#schedule()
  }

  /** Writes what is left and closes the segment. */
  close(): void {
    if (this.#closed) return
    this.#flush()
    this.#closed = true
    closeSync(this.#descriptor)
  }

  #schedule(): void {
    if (this.#scheduled) return
    this.#scheduled = true
    if (this.#failingSinceMs === null) setImmediate(this.#flush)
    else setTimeout(this.#flush, RETRY_MS)
  }

  readonly #flush = (): void => {
    this.#scheduled = false
    if (this.#closed) return
    const fresh = this.#frames.take()
    const bytes = this.#pending === null ? fresh : Buffer.concat([this.#pending, fresh])
    if (bytes.length === 0) return
    try {
      this.#write(bytes)
    } catch (cause) {
      this.#hold(bytes, cause as Error)
      return
    }
    this.#pending = null
    this.#failingSinceMs = null
    const waiting = this.#waiting
    this.#waiting = []
    if (this.#options.durability === 'disk') this.#sync(waiting)
    else for (const then of waiting) then(null)
    this.#rotateWhenFull()
  }

  /** All or nothing: half a write would leave a torn frame in the middle of the segment. */
  #write(bytes: Buffer): void {
    let done = 0
    try {
      while (done < bytes.length) done += writeSync(this.#descriptor, bytes, done, bytes.length - done)
    } catch (cause) {
      if (done > 0) ftruncateSync(this.#descriptor, this.#written)
      throw cause
    }
    this.#written += bytes.length
    this.#writtenBytes += bytes.length
  }

  #hold(bytes: Buffer, cause: Error): void {
    const nowMs = this.#options.clock.now()
    if (this.#failingSinceMs === null) this.#options.onFault(cause)
    this.#failingSinceMs ??= nowMs
    this.#pending = Buffer.from(bytes)
    if (nowMs - this.#failingSinceMs >= GIVE_UP_MS) {
      const waiting = this.#waiting
      this.#waiting = []
      for (const then of waiting) then(cause)
    }
    this.#schedule()
  }

  /** One fdatasync for all that was written before it; what comes meanwhile waits for the next. */
  #sync(waiting: readonly Waiting[]): void {
    this.#awaitingSync.push(...waiting)
    if (this.#syncing || this.#awaitingSync.length === 0) return
    this.#syncing = true
    const served = this.#awaitingSync
    this.#awaitingSync = []
    fdatasync(this.#descriptor, (failure) => {
      this.#syncing = false
      for (const then of served) then(failure)
      if (this.#closed) return
      this.#rotateWhenFull()
      this.#sync([])
    })
  }

  /** Goes on in a new segment. One that cannot be made leaves things as they are: the old one just grows. */
  #rotateWhenFull(): void {
    if (this.#written < this.#options.segmentMaxBytes || this.#syncing) return
    const old = this.#descriptor
    try {
      // Whoever still waits for a sync waits for this file: the next sync is of another.
      if (this.#awaitingSync.length > 0) fdatasyncSync(old)
      const { descriptor, written } = this.#openSegment(this.#sequence + 1)
      this.#sequence += 1
      this.#descriptor = descriptor
      this.#written = written
    } catch (cause) {
      this.#options.onFault(cause as Error)
      return
    }
    const served = this.#awaitingSync
    this.#awaitingSync = []
    for (const then of served) then(null)
    closeSync(old)
  }

  #openSegment(sequence: number): { descriptor: number; written: number } {
    const name = `${this.#options.header.writer}-${String(sequence).padStart(8, '0')}.seg`
    const path = join(this.#options.directory, name)
    const descriptor = openSync(path, 'ax', 0o600)
    const writer = new FrameWriter(SEGMENT_HEADER_BYTES)
    writer.appendHeader(this.#options.header)
    try {
      return { descriptor, written: writeSync(descriptor, writer.take()) }
    } catch (cause) {
      // A later segment seals the one before it: one that was never begun must not exist.
      closeSync(descriptor)
      unlinkSync(path)
      throw cause
    }
  }
}
