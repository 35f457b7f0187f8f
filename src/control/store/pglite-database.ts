import { existsSync } from 'node:fs'
import { mkdir, readFile, rename, rm } from 'node:fs/promises'
import { dirname } from 'node:path'
import type { Transaction } from '@electric-sql/pglite'
import { PGlite, types } from '@electric-sql/pglite'
import type { Database, Queryable } from './database.ts'
import { DatabaseError, parseInt8 } from './database.ts'
import { ROWS_PATH, RowsDevice } from './pglite-rows-device.ts'

/** The options of every embedded database. */
export const OPTIONS = {
  postgresqlconf: ['shared_buffers=32MB', 'timezone=UTC', 'min_wal_size=32MB'],
  parsers: {
    [types.INT8]: parseInt8,
    [types.BYTEA]: (text: string) => Buffer.from(text.slice(2), 'hex'),
    [types.DATE]: (text: string) => text,
    [types.INTERVAL]: (text: string) => text,
    [types.NUMERIC]: (text: string) => text,
  },
  serializers: {
    // PGlite's own serializer makes a string of every byte.
    [types.BYTEA]: (value: unknown) => (value instanceof Uint8Array ? `\\x${hex(value)}` : String(value)),
  },
}

/** Bytes of binary rows between two checkpoints. */
const CHECKPOINT_BYTES = 64 * 1024 * 1024
/** While checkpoints fail, rows are accepted up to this many times the bytes between two checkpoints. */
const UNCHECKED_SHARE = 4
const DISK_FULL = '53100'

export interface PgliteOptions {
  /**
   * Bytes of copied rows until a checkpoint cuts the write-ahead log. PGlite has no background checkpoints; without them it keeps a
   * second copy of every row, and reads all copies after a crash.
   */
  readonly checkpointBytes?: number
  /** Called for an unusable template, and for a failed checkpoint, which is tried again after the next transaction. */
  readonly onFault?: (error: Error) => void
  /** File that `makeTemplate` made. A new database starts as a copy of it, which saves seconds; without it, the database is initialised. */
  readonly template?: string
}

/**
 * Opens the database in `directory` in the calling thread, and creates it on first use. The caller must hold the lock of the data
 * directory: PGlite has no lock, and two processes in one directory destroy it.
 */
export async function openPglite(directory: string, options: PgliteOptions = {}): Promise<Database> {
  if (!existsSync(directory)) await initialise(directory, options)
  return wrap(await PGlite.create(directory, OPTIONS), options)
}

/** For tests: the database is only in memory. */
export async function openMemoryPglite(): Promise<Database> {
  return wrap(await PGlite.create('memory://', OPTIONS), {})
}

/** An interrupted first start would leave a directory that never opens: the database is made elsewhere and then renamed. */
async function initialise(directory: string, { template, onFault = ignore }: PgliteOptions): Promise<void> {
  const unfinished = `${directory}.initialising`
  await mkdir(dirname(directory), { recursive: true, mode: 0o700 })
  if (template !== undefined && existsSync(template)) {
    try {
      await make(unfinished, new Blob([await readFile(template)]))
    } catch (cause) {
      onFault(new Error(`the new database is made without the template ${template}`, { cause }))
      await make(unfinished)
    }
  } else await make(unfinished)
  await rename(unfinished, directory)
}

/** Makes a directory with a new database: empty, or from the archive of another one. */
async function make(directory: string, archive?: Blob): Promise<void> {
  await rm(directory, { recursive: true, force: true })
  await mkdir(directory, { mode: 0o700 })
  const pglite = await PGlite.create(directory, archive === undefined ? OPTIONS : { ...OPTIONS, loadDataDir: archive })
  await pglite.close()
}

/** Wraps an open PGlite as a `Database`. */
export function wrap(
  pglite: PGlite,
  { checkpointBytes = CHECKPOINT_BYTES, onFault = ignore }: PgliteOptions,
): Database {
  const log = new WriteAheadLog(pglite, checkpointBytes, onFault)
  const device = new RowsDevice(pglite)
  return {
    kind: 'pglite',
    ...queryable(pglite, log, device),
    transaction: async (work) => {
      try {
        // A full log accepts no rows, and only rows lead to another checkpoint: the checkpoint must be tried here.
        if (log.isFull) await log.cut()
        const result = await pglite.transaction((tx) => work(queryable(tx, log, device)))
        // The transaction is committed, even if this checkpoint fails.
        if (log.isLong) await log.cut()
        return result
      } catch (cause) {
        throw isServerError(cause) ? DatabaseError.from(cause) : cause
      }
    },
    listen: async (channel, onNotify) => {
      // PGlite fails to unlisten when a name needs quotes: later notifications are dropped here.
      let isEnded = false
      const unlisten = await pglite.listen(quoteIdentifier(channel), (payload) => {
        if (!isEnded) onNotify(payload)
      })
      return async () => {
        isEnded = true
        if (!pglite.closed) await unlisten()
      }
    },
    ping: async () => {
      const startMs = performance.now()
      await pglite.exec('SELECT 1')
      return performance.now() - startMs
    },
    close: async () => {
      if (!pglite.closed) await pglite.close()
    },
  }
}

/** Counts the bytes of rows in the write-ahead log, and cuts the log with a checkpoint. */
class WriteAheadLog {
  readonly #pglite: PGlite
  readonly #checkpointBytes: number
  readonly #onFault: (error: Error) => void
  #bytes = 0

  constructor(pglite: PGlite, checkpointBytes: number, onFault: (error: Error) => void) {
    this.#pglite = pglite
    this.#checkpointBytes = checkpointBytes
    this.#onFault = onFault
  }

  get isLong(): boolean {
    return this.#bytes >= this.#checkpointBytes
  }

  get isFull(): boolean {
    return this.#bytes >= this.#checkpointBytes * UNCHECKED_SHARE
  }

  /** Counts rows to come. Throws DISK_FULL while checkpoints fail and the log is too long: the caller must keep the rows. */
  expect(bytes: number): void {
    if (this.isFull) {
      throw new DatabaseError(
        `the embedded database takes no rows: ${this.#bytes} bytes wait for a checkpoint, and checkpoints fail`,
        DISK_FULL,
        null,
      )
    }
    this.#bytes += bytes
  }

  async cut(): Promise<void> {
    try {
      await this.#pglite.exec('CHECKPOINT')
      this.#bytes = 0
    } catch (cause) {
      this.#onFault(new Error('the embedded database cannot make a checkpoint', { cause }))
    }
  }
}

function queryable(target: PGlite | Transaction, log: WriteAheadLog, device: RowsDevice): Queryable {
  return {
    query: async <Row>(statement: Parameters<Queryable['query']>[0], parameters: readonly unknown[] = []) => {
      try {
        const text = typeof statement === 'string' ? statement : statement.text
        return (await target.query<Row>(text, [...parameters])).rows
      } catch (cause) {
        throw DatabaseError.from(cause)
      }
    },
    script: async (sql) => {
      try {
        await target.exec(sql)
      } catch (cause) {
        throw DatabaseError.from(cause)
      }
    },
    copyIn: async (table, columns, rows) => {
      try {
        log.expect(rows.byteLength)
        const sql = `COPY ${table} (${columns.join(', ')}) FROM '${ROWS_PATH}' (FORMAT binary)`
        await device.copy(target, sql, rows)
      } catch (cause) {
        throw DatabaseError.from(cause)
      }
    },
  }
}

function isServerError(cause: unknown): boolean {
  return typeof (cause as { severity?: unknown } | null)?.severity === 'string'
}

function quoteIdentifier(name: string): string {
  return `"${name.replaceAll('"', '""')}"`
}

function hex(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('hex')
}

function ignore(): void {}
