import { once } from 'node:events'
import { extname } from 'node:path'
import { Worker } from 'node:worker_threads'
import type { Database, Queryable } from './database.ts'
import { DatabaseError } from './database.ts'
import type { FromThread, ThreadRequest, ThreadWork } from './pglite-thread-messages.ts'

const THREAD = new URL(`./pglite-thread${extname(import.meta.url)}`, import.meta.url)

interface Waiter {
  readonly resolve: (value: unknown) => void
  readonly reject: (error: DatabaseError) => void
}

/**
 * Opens the embedded database in its own thread. The event loop here grants leases that requests wait for, and a batch of settled
 * rows would block it for a tenth of a second. When the thread ends unexpectedly, the process ends: the database is lost to it.
 *
 * @param onFault called for failures in the background
 * @param thread the module of the thread, as plain JavaScript
 */
export async function openThreadedPglite(
  directory: string,
  onFault: (error: Error) => void,
  thread: URL = THREAD,
): Promise<Database> {
  const worker = new Worker(thread, { workerData: { directory } })
  await opened(worker, onFault)
  const line = new ThreadLine(worker, onFault)
  return {
    kind: 'pglite',
    ...queryable(line, null),
    transaction: async (work) => {
      const number = (await line.ask(null, { kind: 'begin' })) as number
      let result: Awaited<ReturnType<typeof work>>
      try {
        result = await work(queryable(line, number))
      } catch (cause) {
        await line.ask(number, { kind: 'end', outcome: 'rollback' })
        throw cause
      }
      await line.ask(number, { kind: 'end', outcome: 'commit' })
      return result
    },
    listen: (channel, onNotify) => line.listen(channel, onNotify),
    ping: () => line.ask(null, { kind: 'ping' }) as Promise<number>,
    close: () => line.close(),
  }
}

/** Resolves when the database is open; rejects when the thread fails instead. */
function opened(worker: Worker, onFault: (error: Error) => void): Promise<void> {
  return new Promise((resolve, reject) => {
    const receive = (message: FromThread): void => {
      if (message.kind === 'fault') onFault(new Error(message.message))
      if (message.kind !== 'opened') return
      worker.off('message', receive)
      worker.off('error', reject)
      resolve()
    }
    worker.on('message', receive)
    worker.on('error', reject)
  })
}

function queryable(line: ThreadLine, transaction: number | null): Queryable {
  return {
    query: async <Row>(statement: Parameters<Queryable['query']>[0], parameters: readonly unknown[] = []) => {
      const text = typeof statement === 'string' ? statement : statement.text
      const rows = (await line.ask(transaction, { kind: 'query', text, parameters })) as Array<Record<string, unknown>>
      return rows.map(withBuffers) as Row[]
    },
    script: async (sql) => {
      await line.ask(transaction, { kind: 'script', sql })
    },
    copyIn: async (table, columns, rows) => {
      await line.ask(transaction, { kind: 'copy-in', table, columns, rows })
    },
  }
}

/** Sends requests to the thread and receives its answers. */
class ThreadLine {
  readonly #worker: Worker
  readonly #waiters = new Map<number, Waiter>()
  readonly #listeners = new Map<number, (payload: string) => void>()
  #lastId = 0
  #isClosed = false
  #isEnded = false
  readonly #onFault: (error: Error) => void

  constructor(worker: Worker, onFault: (error: Error) => void) {
    this.#worker = worker
    this.#onFault = onFault
    worker.on('message', (message: FromThread) => {
      this.#receive(message)
    })
    worker.on('exit', (code) => {
      const error = new DatabaseError('the database is closed', null, null)
      for (const { reject } of this.#waiters.values()) reject(error)
      this.#waiters.clear()
      if (!this.#isClosed) throw new Error(`the thread of the embedded database ended unexpectedly with code ${code}`)
      this.#isEnded = true
    })
  }

  /** Rejects with a DatabaseError, also when the database is closed. */
  ask(transaction: number | null, work: ThreadWork): Promise<unknown> {
    if (this.#isEnded) return Promise.reject(new DatabaseError('the database is closed', null, null))
    return new Promise((resolve, reject) => {
      this.#lastId += 1
      const request: ThreadRequest = { id: this.#lastId, transaction, work }
      this.#waiters.set(request.id, { resolve, reject })
      this.#worker.postMessage(request, transferOf(work))
    })
  }

  async listen(channel: string, onNotify: (payload: string) => void): Promise<() => Promise<void>> {
    const listener = (await this.ask(null, { kind: 'listen', channel })) as number
    this.#listeners.set(listener, onNotify)
    return async () => {
      this.#listeners.delete(listener)
      if (!this.#isClosed) await this.ask(null, { kind: 'unlisten', listener })
    }
  }

  async close(): Promise<void> {
    if (this.#isClosed) return
    this.#isClosed = true
    const exited = once(this.#worker, 'exit')
    await this.ask(null, { kind: 'close' })
    await exited
  }

  #receive(message: FromThread): void {
    if (message.kind === 'opened') return
    if (message.kind === 'fault') {
      this.#onFault(new Error(message.message))
      return
    }
    if (message.kind === 'notified') {
      this.#listeners.get(message.listener)?.(message.payload)
      return
    }
    const waiter = this.#waiters.get(message.id)
    this.#waiters.delete(message.id)
    if (message.kind === 'done') waiter?.resolve(message.value)
    else waiter?.reject(new DatabaseError(message.message, message.sqlState, null))
  }
}

/** Transfers rows that have their own memory: a copy costs as much as writing the rows. */
function transferOf(work: ThreadWork): ArrayBuffer[] {
  if (work.kind !== 'copy-in') return []
  const { buffer, byteOffset } = work.rows
  return byteOffset === 0 && buffer instanceof ArrayBuffer ? [buffer] : []
}

/** Restores Buffers, which arrive from another thread as plain Uint8Arrays. */
function withBuffers(row: Record<string, unknown>): Record<string, unknown> {
  for (const name in row) row[name] = asBuffers(row[name])
  return row
}

function asBuffers(value: unknown): unknown {
  if (value instanceof Uint8Array) return Buffer.from(value.buffer, value.byteOffset, value.byteLength)
  return Array.isArray(value) ? value.map(asBuffers) : value
}
