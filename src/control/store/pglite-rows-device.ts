import type { PGlite, Transaction } from '@electric-sql/pglite'

/** The file that a COPY reads from. */
export const ROWS_PATH = '/dev/rows'
/** No other device of PGlite's has this major number; its own `/dev/blob` is 64. */
const MAJOR = 65

/** The used part of Emscripten's file system, see its manual on `FS.registerDevice`. */
interface DeviceFiles {
  makedev(major: number, minor: number): number
  registerDevice(device: number, operations: DeviceOperations): void
  mkdev(path: string, device: number): void
}

interface DeviceOperations {
  open(): void
  close(): void
  /** Copies up to `length` bytes from `position` on to `memory` at `offset`; returns how many, 0 at the end. */
  read(stream: unknown, memory: Int8Array, offset: number, length: number, position: number): number
}

/**
 * A device file in PGlite that contains the rows of the COPY under way. PGlite's own device for this, `/dev/blob`, is read byte by
 * byte and needs a copy of the rows.
 */
export class RowsDevice {
  #rows: Int8Array = new Int8Array()

  constructor(pglite: PGlite) {
    const files = (pglite.Module as unknown as { readonly FS: DeviceFiles }).FS
    const device = files.makedev(MAJOR, 0)
    files.registerDevice(device, {
      open: ignore,
      close: ignore,
      read: (_stream, memory, offset, length, position) => {
        const part = this.#rows.subarray(position, position + length)
        memory.set(part, offset)
        return part.length
      },
    })
    files.mkdev(ROWS_PATH, device)
  }

  /** Runs a COPY from `ROWS_PATH`. The caller must not change the rows before it is done. */
  async copy(target: PGlite | Transaction, sql: string, rows: Buffer): Promise<void> {
    const bytes = new Int8Array(rows.buffer, rows.byteOffset, rows.byteLength)
    // PGlite reads the blob when the statement begins: earlier COPY statements are done by then.
    const blob = {
      arrayBuffer: () => {
        this.#rows = bytes
        return Promise.resolve(new ArrayBuffer())
      },
    } as Blob
    try {
      await target.query(sql, [], { blob })
    } finally {
      if (this.#rows === bytes) this.#rows = new Int8Array()
    }
  }
}

function ignore(): void {}
