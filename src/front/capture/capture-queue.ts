import type { Capture, CaptureBatch, CaptureReply } from '../../shared/core/capture.ts'
import { Deadline } from '../../shared/runtime/deadlines.ts'
import type { DeadlineClock } from '../../shared/runtime/deadlines.ts'

export type DropReason = 'full' | 'unanswered'

export interface CaptureQueueOptions {
  /** The most bytes of all captures, those of requests under way included. */
  readonly maxBytes: number
  readonly deadlines: DeadlineClock
  /** Returns false when there is no connection to the control process. */
  readonly send: (batch: CaptureBatch) => boolean
  readonly onTaken: (captures: number) => void
  readonly onDropped: (reason: DropReason) => void
}

interface Waiting {
  readonly capture: Capture
  readonly bytes: number
}

/** Bytes of one batch, unless a single capture has more. Leases share the connection and wait for a batch to pass. */
const BATCH_BYTES = 262_144
/** Captures of one batch: each takes a statement of the database or two. */
const BATCH_CAPTURES = 64
/** The size that a capture without any bytes counts: its ids, and the objects that hold it. */
const OVERHEAD_BYTES = 512
/** A batch is sent this much later than its first capture, and so never in the turn of an answer. */
const GATHER_MS = 50
/** After a batch that the database could not take. */
const RETRY_MS = 1_000
/** A batch without a reply is dropped after this time: the control process works on others, or does not know captures. */
const REPLY_MS = 60_000

/**
 * Captures on their way to the control process, within a bound. One batch is under way at a time, and is kept until it is in the
 * database. Nobody waits for it.
 */
export class CaptureQueue {
  readonly #options: CaptureQueueOptions
  #bytes = 0
  #waiting: Waiting[] = []
  #underWay: { readonly id: number; readonly waiting: readonly Waiting[] } | null = null
  #lastId = 0
  /** The time at which the next batch is sent, or the one under way is given up. */
  readonly #due: Deadline
  #onEmpty: (() => void) | null = null

  constructor(options: CaptureQueueOptions) {
    this.#options = options
    this.#due = new Deadline(() => {
      if (this.#underWay === null) this.#send()
      else this.#unanswered()
    })
  }

  get bytes(): number {
    return this.#bytes
  }

  /** Returns false, and reserves nothing, when the bytes do not fit. */
  reserve(bytes: number): boolean {
    if (this.#bytes + bytes > this.#options.maxBytes) return false
    this.#bytes += bytes
    return true
  }

  /** Gives reserved bytes back that nothing came of. */
  release(reserved: number): void {
    this.#bytes -= reserved
  }

  /** @param reserved the bytes that were reserved for it */
  drop(reserved: number, reason: DropReason): void {
    this.#bytes -= reserved
    this.#options.onDropped(reason)
  }

  /** @param reserved the bytes that were reserved for it */
  add(capture: Capture, reserved: number): void {
    if (!this.reserve(OVERHEAD_BYTES)) {
      this.drop(reserved, 'full')
      return
    }
    this.#waiting.push({ capture, bytes: reserved + OVERHEAD_BYTES })
    if (this.#underWay === null && this.#due.atMs === Infinity) this.#dueIn(GATHER_MS)
  }

  /** The control process can be reached. */
  linked(): void {
    if (this.#underWay === null) this.#send()
  }

  /** The control process is gone. Its successor gets the batch again, and ignores what it has. */
  lost(): void {
    this.#putBack()
  }

  receive({ id, isStored }: CaptureReply): void {
    if (this.#underWay?.id !== id) return
    if (isStored) {
      this.#options.onTaken(this.#underWay.waiting.length)
      this.#forget()
      this.#send()
    } else {
      this.#putBack()
      this.#dueIn(RETRY_MS)
    }
  }

  /** Resolves when all captures are in the database, or after `timeoutMs`. */
  drained(timeoutMs: number): Promise<void> {
    if (this.#underWay === null) this.#send()
    if (this.#waiting.length === 0 && this.#underWay === null) return Promise.resolve()
    const { deadlines } = this.#options
    return new Promise((resolve) => {
      const late = new Deadline(resolve)
      const emptied = (): void => {
        deadlines.forget(late)
        resolve()
      }
      late.atMs = deadlines.nowMs + timeoutMs
      deadlines.watch(late)
      this.#onEmpty = emptied
    })
  }

  #dueIn(ms: number): void {
    const { deadlines } = this.#options
    this.#due.atMs = deadlines.nowMs + ms
    deadlines.watch(this.#due)
  }

  #send(): void {
    if (this.#underWay !== null || this.#waiting.length === 0) return
    let count = 0
    let bytes = 0
    for (const { bytes: more } of this.#waiting) {
      if (count > 0 && (count === BATCH_CAPTURES || bytes + more > BATCH_BYTES)) break
      count += 1
      bytes += more
    }
    const waiting = this.#waiting.slice(0, count)
    const id = (this.#lastId += 1)
    // Without a connection they wait for `linked`.
    if (!this.#options.send({ type: 'captures', id, captures: waiting.map(({ capture }) => capture) })) return
    this.#waiting = this.#waiting.slice(count)
    this.#underWay = { id, waiting }
    this.#dueIn(REPLY_MS)
  }

  #unanswered(): void {
    const count = this.#underWay?.waiting.length ?? 0
    for (let dropped = 0; dropped < count; dropped++) this.#options.onDropped('unanswered')
    this.#forget()
    this.#send()
  }

  #putBack(): void {
    if (this.#underWay === null) return
    this.#waiting = [...this.#underWay.waiting, ...this.#waiting]
    this.#underWay = null
    this.#due.atMs = Infinity
  }

  #forget(): void {
    for (const { bytes } of this.#underWay?.waiting ?? []) this.#bytes -= bytes
    this.#underWay = null
    this.#due.atMs = Infinity
    if (this.#waiting.length === 0) this.#onEmpty?.()
  }
}
