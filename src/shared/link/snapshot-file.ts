import { readFile, rename, writeFile } from 'node:fs/promises'
import { Seal } from '../runtime/seal.ts'
import type { Snapshot } from '../core/snapshot.ts'
import { FrameDecoder, createFrameEncoder } from '../wire/link-frames.ts'

/**
 * The last snapshot of a control process, for fronts that start while it is away. Sealed: it holds credentials of upstreams. It
 * lies beside the socket of the link, so that no later start of the gateway finds it.
 */
export class SnapshotFile {
  readonly #path: string
  readonly #seal: Seal
  readonly #encode = createFrameEncoder()
  #next: Snapshot | null = null
  /** Never rejects. */
  #writing: Promise<void> | null = null

  constructor(socketPath: string, secret: Buffer) {
    this.#path = `${socketPath}.snapshot`
    this.#seal = new Seal(secret, 'snapshot file')
  }

  /** Returns at once. Of snapshots that come while one is written, the last is kept. */
  keep(snapshot: Snapshot, onFault: (cause: unknown) => void): void {
    this.#next = snapshot
    this.#writing ??= this.#write()
      .catch(onFault)
      .finally(() => {
        this.#writing = null
      })
  }

  /** Null when there is none, or none that this gateway has written. */
  async last(): Promise<Snapshot | null> {
    const sealed = await readFile(this.#path).catch(() => null)
    const bytes = sealed === null ? null : this.#seal.open(sealed)
    let snapshot: Snapshot | null = null
    if (bytes !== null) {
      new FrameDecoder().push(bytes, (value) => {
        snapshot = value as Snapshot
      })
    }
    return snapshot
  }

  async #write(): Promise<void> {
    const temporary = `${this.#path}.new`
    while (this.#next !== null) {
      const snapshot = this.#next
      this.#next = null
      await writeFile(temporary, this.#seal.seal(this.#encode(snapshot)), { mode: 0o600 })
      await rename(temporary, this.#path)
    }
  }
}
