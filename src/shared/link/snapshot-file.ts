import { readFile, rename, writeFile } from 'node:fs/promises'
import { Seal } from '../runtime/seal.ts'
import type { Snapshot } from '../core/snapshot.ts'
import { FrameDecoder, createFrameEncoder } from '../wire/link-frames.ts'

/**
 * Keeps the last snapshot for fronts that start while the control process is away. The file is sealed, because it holds
 * credentials of upstreams. It is next to the socket of the link, so that a later start of the gateway does not find it.
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

  /** Returns at once. Of the snapshots that arrive during a write, only the last is written. */
  keep(snapshot: Snapshot, onFault: (cause: unknown) => void): void {
    this.#next = snapshot
    this.#writing ??= this.#write()
      .catch(onFault)
      .finally(() => {
        this.#writing = null
      })
  }

  /** Null when there is no file, or this gateway has not written it. */
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
