import type { Snapshot } from '../../shared/core/snapshot.ts'

/**
 * Keeps the snapshot from fronts until it is opened. A new front listens once it has a snapshot: while a gateway hands over, the
 * fronts before serve until limits can be had here.
 */
export class SnapshotGate {
  readonly #send: (snapshot: Snapshot) => void
  readonly #opened: Promise<void>
  #onOpened: () => void = () => undefined
  #isOpen = false
  #current: Snapshot | null = null

  /** @param send tells all fronts that are connected */
  constructor(send: (snapshot: Snapshot) => void) {
    this.#send = send
    this.#opened = new Promise((resolve) => (this.#onOpened = resolve))
  }

  /** The snapshot that fronts may have; null while the gate is closed. */
  get current(): Snapshot | null {
    return this.#isOpen ? this.#current : null
  }

  /** Resolves when it is open. */
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
