import type { Snapshot } from '../../shared/core/snapshot.ts'

/**
 * Withholds the snapshot from fronts until the gate is opened. A new front listens once it has a snapshot. During a hand-over, the
 * old fronts therefore serve until this control process can lease limits.
 */
export class SnapshotGate {
  readonly #send: (snapshot: Snapshot) => void
  readonly #opened: Promise<void>
  #onOpened: () => void = () => undefined
  #isOpen = false
  #current: Snapshot | null = null

  /** @param send sends the snapshot to all connected fronts */
  constructor(send: (snapshot: Snapshot) => void) {
    this.#send = send
    this.#opened = new Promise((resolve) => (this.#onOpened = resolve))
  }

  /** The snapshot that fronts may have; null while the gate is closed. */
  get current(): Snapshot | null {
    return this.#isOpen ? this.#current : null
  }

  /** Resolves when the gate is open. */
  get opened(): Promise<void> {
    return this.#opened
  }

  publish(snapshot: Snapshot): void {
    this.#current = snapshot
    if (this.#isOpen) this.#send(snapshot)
  }

  open(): void {
    if (this.#isOpen) return
    this.#isOpen = true
    if (this.#current !== null) this.#send(this.#current)
    this.#onOpened()
  }
}
