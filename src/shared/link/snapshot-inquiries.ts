import type { DeadlineClock } from '../runtime/deadlines.ts'
import { Deadline } from '../runtime/deadlines.ts'
import type { SnapshotInquiry, SnapshotInquiryReply } from './messages.ts'

/** Longest wait for the reply of the control process to one inquiry. */
const REPLY_TIMEOUT_MS = 1_500
/** Least time between two inquiries of a front: callers with unknown keys must not keep the store busy. */
const SPACING_MS = 20
const MAX_WAITING = 1_000

type Resolve = (isCurrent: boolean) => void

/** Asks the control process whether this front's snapshot is current. One inquiry at a time answers all calls made before it. */
export class SnapshotInquiries {
  readonly #send: (message: SnapshotInquiry) => boolean
  readonly #deadlines: DeadlineClock
  readonly #deadline: Deadline
  #askers: Resolve[] | null = null
  #next: Resolve[] = []
  #id = 0
  #sentMs = -Infinity

  constructor(send: (message: SnapshotInquiry) => boolean, deadlines: DeadlineClock) {
    this.#send = send
    this.#deadlines = deadlines
    this.#deadline = new Deadline(() => {
      if (this.#askers === null) this.#advance()
      else this.#settle(false)
    })
  }

  /**
   * Resolves to true when this front has everything that was in the store at the time of the call. Resolves to false when an
   * inquiry gets no reply within {@link REPLY_TIMEOUT_MS} (a call waits for two at most), or when too many calls wait.
   */
  isCurrent(): Promise<boolean> {
    if (this.#next.length >= MAX_WAITING) return Promise.resolve(false)
    return new Promise((resolve) => {
      this.#next.push(resolve)
      this.#advance()
    })
  }

  receive({ id, isCurrent }: SnapshotInquiryReply): void {
    if (id === this.#id) this.#settle(isCurrent)
  }

  /** The connection is lost. */
  lost(): void {
    this.#settle(false)
  }

  #advance(): void {
    if (this.#askers !== null || this.#next.length === 0) return
    const { nowMs } = this.#deadlines
    if (nowMs < this.#sentMs + SPACING_MS) {
      this.#dueAt(this.#sentMs + SPACING_MS)
      return
    }
    this.#askers = this.#next
    this.#next = []
    this.#sentMs = nowMs
    this.#id += 1
    this.#dueAt(nowMs + REPLY_TIMEOUT_MS)
    if (!this.#send({ type: 'snapshot-inquiry', id: this.#id })) this.#settle(false)
  }

  #dueAt(atMs: number): void {
    this.#deadline.atMs = atMs
    this.#deadlines.watch(this.#deadline)
  }

  #settle(isCurrent: boolean): void {
    if (this.#askers === null) return
    const askers = this.#askers
    this.#askers = null
    this.#deadline.atMs = Infinity
    for (const resolve of askers) resolve(isCurrent)
    this.#advance()
  }
}
