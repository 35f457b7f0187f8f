import { setTimeout as elapsed } from 'node:timers/promises'
import type { Snapshot } from '../../shared/core/snapshot.ts'
import { SnapshotFile } from '../../shared/link/snapshot-file.ts'
import type { FrontBase } from './base.ts'

/** A front that starts anew waits this long for the control process. After it the last snapshot on disk serves. */
const SNAPSHOT_WAIT_MS = 500

interface SnapshotUser {
  update(snapshot: Snapshot): void
}

/** The snapshot that this front works with. Hands each new one to the parts that use it. */
export class CurrentSnapshot {
  readonly #base: FrontBase
  readonly #users: readonly SnapshotUser[]
  #current: Snapshot | null = null
  #atMs = 0
  #onFirst: () => void = () => undefined

  constructor(base: FrontBase, users: readonly SnapshotUser[]) {
    this.#base = base
    this.#users = users
  }

  get isThere(): boolean {
    return this.#current !== null
  }

  /** 0 before there is one. */
  get version(): number {
    return this.#current?.version ?? 0
  }

  get ageSeconds(): number {
    return (this.#base.clock.now() - this.#atMs) / 1000
  }

  /** Takes what a control process publishes. One that was started anew may know less than the one before, but never an older state. */
  apply(snapshot: Snapshot): void {
    this.#current = snapshot
    this.#atMs = this.#base.clock.now()
    for (const user of this.#users) user.update(snapshot)
    if (snapshot.version > 0) this.#onFirst()
  }

  /** Resolves when the store has been read into a snapshot. Until then the front could only refuse what others on its port serve. */
  first(): Promise<void> {
    return new Promise((resolve) => (this.#onFirst = resolve))
  }

  /** Takes the last snapshot from disk if no other comes in time. */
  async fallBack(socketPath: string): Promise<void> {
    await elapsed(SNAPSHOT_WAIT_MS)
    const kept = this.isThere ? null : await new SnapshotFile(socketPath, this.#base.secrets.keyHash).last()
    if (kept === null || this.isThere) return
    this.#base.logger.warn(
      { snapshotVersion: kept.version },
      'the control process is away; the front starts with the last configuration',
    )
    this.apply(kept)
  }
}
