import { mkdirSync } from 'node:fs'
import type { Clock } from '../shared/runtime/clock.ts'
import { repeat } from '../shared/runtime/repeat.ts'
import type { JournalRecord } from '../shared/core/request-record.ts'
import { FrameWriter } from './frames.ts'
import type { SegmentHeader } from './frames.ts'
import { DiskReserve } from './disk-reserve.ts'
import { Segment, syncDirectory } from './segment.ts'

export interface JournalOptions {
  readonly directory: string
  readonly header: SegmentHeader
  readonly segmentMaxBytes: number
  /** A segment with records is closed after this long, so that it can be deleted once it is settled. */
  readonly segmentMaxAgeMs: number
  /** `os`: a record is durable when the operating system has it. `disk`: when the disk has it (fdatasync). */
  readonly durability: 'os' | 'disk'
  readonly reserve: { readonly path: string; readonly bytes: number }
  readonly clock: Clock
  /** Called when a write, a sync or the disk reserve fails, or when a segment cannot be opened or closed. */
  readonly onFault: (cause: Error) => void
  /** Called when the journal is writable again. */
  readonly onRecovered: () => void
  /** Called with the duration of each fdatasync. */
  readonly onSync: (durationUs: number) => void
}

type Waiter = (failure: Error | null) => void

const RETRY_MS = 100
const RECOVER_MS = 500
/** When writes fail this long, the waiters get the failure and their connections are cut. */
const GIVE_UP_MS = 10_000
/** The most bytes of records held in memory while the disk fails. New requests are refused long before. */
export const MAX_HELD_BYTES = 64 * 1024 * 1024

/**
 * Writes the journal segments of this process, with one write per turn of the event loop. No other process writes to them.
 * A record is durable before its waiter is called.
 */
export class Journal {
  readonly #options: JournalOptions
  readonly #frames = new FrameWriter()
  readonly #reserve: DiskReserve
  readonly #ageTimer: NodeJS.Timeout
  #waiting: Waiter[] = []
  #segment: Segment
  #sequence = 1
  #scheduled = false
  #syncing = false
  #awaitingSync: Waiter[] = []
  /** Bytes whose write failed; the next write begins with them. */
  #pending: Buffer | null = null
  #failingSinceMs: number | null = null
  /** After a failed fdatasync, it is unknown which bytes are on disk, and a second one proves nothing: a new segment is needed. */
  #isSyncBroken = false
  #recoverTimer: NodeJS.Timeout | null = null
  #closed = false
  #appendedRecords = 0
  #writtenBytes = 0

  constructor(options: JournalOptions) {
    this.#options = options
    mkdirSync(options.directory, { recursive: true, mode: 0o700 })
    this.#segment = this.#newSegment(this.#sequence)
    this.#reserve = new DiskReserve(options.reserve.path, options.reserve.bytes)
    if (!this.#reserve.take()) {
      this.#impair(new Error('the disk has too little free space for the reserve of the journal'))
    }
    const rotate = (): void => {
      if (this.#segment.hasRecords) this.#rotate()
    }
    this.#ageTimer = repeat(options.segmentMaxAgeMs, rotate, this.#onTimerFault).unref()
  }

  /** False while the disk takes no writes, or only those of requests under way. The caller then refuses new requests. */
  get writable(): boolean {
    return this.#failingSinceMs === null && this.#reserve.isHeld && !this.#isSyncBroken && !this.#closed
  }

  /** Bytes of records that are not written yet. */
  get heldBytes(): number {
    return (this.#pending?.length ?? 0) + this.#frames.pendingBytes
  }

  /** Totals since the start, without segment headers. */
  get totals(): { readonly records: number; readonly bytes: number } {
    return { records: this.#appendedRecords, bytes: this.#writtenBytes }
  }

  /**
   * Adds a record. `then` is called once the record is durable, or with the failure when it is not durable in time; the record may
   * still become durable later.
   */
  append(record: JournalRecord, then: Waiter): void {
    if (this.heldBytes > MAX_HELD_BYTES) {
      then(new Error(`the journal cannot write to its disk and holds ${this.heldBytes} bytes of records in memory`))
      return
    }
    this.#frames.append(record)
    this.#appendedRecords += 1
    this.#waiting.push(then)
    this.#schedule()
  }

  /** Writes the remaining records and closes the segment. */
  close(): void {
    if (this.#closed) return
    clearInterval(this.#ageTimer)
    if (this.#recoverTimer !== null) clearInterval(this.#recoverTimer)
    this.#flush()
    this.#closed = true
    this.#syncNow()
    // A sync under way still needs the descriptor; its callback closes the segment.
    if (!this.#syncing) this.#segment.close()
    this.#reserve.giveUp()
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
    this.#writtenBytes += bytes.length
    this.#pending = null
    if (this.#failingSinceMs !== null) this.#endFailure()
    const waiting = this.#waiting
    this.#waiting = []
    if (this.#options.durability === 'disk') this.#sync(waiting)
    else for (const then of waiting) then(null)
    if (this.#segment.sizeBytes >= this.#options.segmentMaxBytes) this.#rotate()
  }

  /** On a full disk, gives up the reserve and writes again: requests under way must be recorded. */
  #write(bytes: Buffer): void {
    try {
      this.#segment.write(bytes)
    } catch (cause) {
      if (!isDiskFull(cause) || !this.#reserve.isHeld) throw cause
      this.#reserve.giveUp()
      this.#impair(cause as Error)
      this.#segment.write(bytes)
    }
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

  #endFailure(): void {
    this.#failingSinceMs = null
    if (this.writable) this.#options.onRecovered()
  }

  /** Reports the fault, then tries to recover every `RECOVER_MS`. */
  #impair(cause: Error): void {
    this.#options.onFault(cause)
    const recover = (): void => {
      this.#recover()
    }
    this.#recoverTimer ??= repeat(RECOVER_MS, recover, this.#onTimerFault).unref()
  }

  readonly #onTimerFault = (cause: unknown): void => {
    this.#options.onFault(cause as Error)
  }

  #recover(): void {
    if (this.#isSyncBroken && this.#rotate()) this.#isSyncBroken = false
    if (!this.#reserve.take() || this.#isSyncBroken || this.#recoverTimer === null) return
    clearInterval(this.#recoverTimer)
    this.#recoverTimer = null
    if (this.writable) this.#options.onRecovered()
  }

  /** One fdatasync serves all writes before it. Writes during an fdatasync wait for the next one. */
  #sync(waiting: readonly Waiter[]): void {
    if (this.#isSyncBroken) {
      for (const then of waiting) {
        then(new Error('the journal cannot be synced to its disk: records are not durable until a new segment is open'))
      }
      return
    }
    this.#awaitingSync.push(...waiting)
    if (this.#syncing || this.#awaitingSync.length === 0) return
    this.#syncing = true
    const served = this.#awaitingSync
    this.#awaitingSync = []
    const { clock, segmentMaxBytes, onSync } = this.#options
    const segment = this.#segment
    const startUs = clock.monotonicUs()
    segment.sync((failure) => {
      this.#syncing = false
      onSync(clock.monotonicUs() - startUs)
      if (failure !== null) this.#breakSync(failure)
      for (const then of served) then(failure)
      if (this.#closed) {
        this.#discard(segment)
        return
      }
      if (this.#segment.sizeBytes >= segmentMaxBytes) this.#rotate()
      this.#sync([])
    })
  }

  /** Syncs synchronously for the waiters: the segment is about to be closed or replaced. */
  #syncNow(): void {
    const served = this.#awaitingSync
    this.#awaitingSync = []
    if (served.length === 0) return
    let failure: Error | null = null
    try {
      this.#segment.syncNow()
    } catch (cause) {
      failure = cause as Error
    }
    for (const then of served) then(failure)
  }

  #breakSync(cause: Error): void {
    this.#isSyncBroken = true
    this.#impair(cause)
    const waiting = this.#awaitingSync
    this.#awaitingSync = []
    for (const then of waiting) then(cause)
  }

  /** Continues in a new segment. If that cannot be created, the old segment stays in use and grows. */
  #rotate(): boolean {
    // Waiters of the sync under way wait for this file; the next sync would be of another file.
    if (this.#syncing || this.#closed) return false
    // Part of the failed write may be in this file, and settled: its bytes belong at the same position.
    if (this.#pending !== null) return false
    const old = this.#segment
    try {
      const next = this.#newSegment(this.#sequence + 1)
      this.#syncNow()
      this.#sequence += 1
      this.#segment = next
    } catch (cause) {
      this.#options.onFault(cause as Error)
      return false
    }
    this.#discard(old)
    return true
  }

  /** A failed close loses no record: every write was complete before. */
  #discard(segment: Segment): void {
    try {
      segment.close()
    } catch (cause) {
      this.#options.onFault(cause as Error)
    }
  }

  #newSegment(sequence: number): Segment {
    const { directory, header, durability } = this.#options
    const segment = Segment.create(directory, header, sequence)
    if (durability === 'disk') syncDirectory(directory)
    return segment
  }
}

function isDiskFull(cause: unknown): boolean {
  const { code } = cause as NodeJS.ErrnoException
  return code === 'ENOSPC' || code === 'EDQUOT'
}
