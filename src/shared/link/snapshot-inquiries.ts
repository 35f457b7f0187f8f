import type { DeadlineClock } from '../runtime/deadlines.ts'
import { Deadline } from '../runtime/deadlines.ts'
import type { SnapshotInquiry, SnapshotInquiryReply } from './messages.ts'

/** How long the control process may take for one look into the store. */
const PATIENCE_MS = 1_500
/** Between two inquiries of a front: strangers with keys of their own must not keep the store busy. */
const SPACING_MS = 20
const MAX_WAITING = 1_000

type Resolve = (isCurrent: boolean) => void

/** A front's questions whether its snapshot is what the store has. One is under way at a time, for all who asked before it left. */
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
    deadlines.watch(this.#deadline)
  }

  /**
   * Resolves to true when this front has all that was in the store at the moment of the call, to false when the control process
   * cannot tell within {@link PATIENCE_MS} of its turn (two turns at most), or too many ask.
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

  /** The channel is gone. */
  lost(): void {
    this.#settle(false)
  }

  #advance(): void {
    if (this.#askers !== null || this.#next.length === 0) return
    const { nowMs } = this.#deadlines
    if (nowMs < this.#sentMs + SPACING_MS) {
      this.#deadline.atMs = this.#sentMs + SPACING_MS
      return
    }
    this.#askers = this.#next
    this.#next = []
    this.#sentMs = nowMs
    this.#id += 1
    this.#deadline.atMs = nowMs + PATIENCE_MS
    if (!this.#send({ type: 'snapshot-inquiry', id: this.#id })) this.#settle(false)
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
