import { fileURLToPath } from 'node:url'
import { parentPort, workerData } from 'node:worker_threads'
import { loopRest } from '../../shared/runtime/loop-sampler.ts'
import { repeat } from '../../shared/runtime/repeat.ts'
import { RestCollector } from '../../shared/runtime/rest-collector.ts'
import { yieldTo } from '../../shared/runtime/thread-priority.ts'
import type { Database, Queryable } from './database.ts'
import { DatabaseError } from './database.ts'
import { openPglite } from './pglite-database.ts'
import type { FromThread, ThreadRequest } from './pglite-thread-messages.ts'

/*
 * Runs the embedded database in a worker thread: a statement blocks its thread, a batch of rows for a tenth of a second.
 * `pglite-threaded.ts` is the other side.
 */

const NICENESS = 10
const REST_CHECK_MS = 5_000
/** The statements that a gateway at rest sends take some 2 % of the thread. */
const BUSY_SHARE = 0.05
/** A build puts the template beside this file. */
const TEMPLATE = fileURLToPath(new URL('./pglite-template.tar.gz', import.meta.url))

interface OpenTransaction {
  readonly queryable: Queryable
  readonly commit: () => void
  readonly rollback: () => void
}

/** The error of a transaction that is rolled back on request. */
class RolledBack extends Error {}

const transactions = new Map<number, OpenTransaction>()
const listeners = new Map<number, () => Promise<void>>()
let lastNumber = 0

function send(message: FromThread): void {
  parentPort?.postMessage(message)
}

async function serve(database: Database, request: ThreadRequest): Promise<unknown> {
  const { transaction, work } = request
  const open = transaction === null ? undefined : transactions.get(transaction)
  const target = transaction === null ? database : open?.queryable
  if (target === undefined) throw new DatabaseError('the transaction is over', null, null)
  switch (work.kind) {
    case 'query':
      return target.query(work.text, work.parameters)
    case 'script':
      return target.script(work.sql)
    case 'copy-in':
      return target.copyIn(
        work.table,
        work.columns,
        Buffer.from(work.rows.buffer, work.rows.byteOffset, work.rows.length),
      )
    case 'begin':
      return begin(database)
    case 'end':
      return end(transaction, work.outcome)
    case 'listen':
      return listen(database, work.channel)
    case 'unlisten':
      await listeners.get(work.listener)?.()
      listeners.delete(work.listener)
      return undefined
    case 'ping':
      return database.ping()
    case 'close':
      return database.close()
  }
}

const endings = new Map<number, Promise<void>>()

/** Resolves when the transaction is open. It stays open until `end`. */
function begin(database: Database): Promise<number> {
  lastNumber += 1
  const number = lastNumber
  return new Promise((resolve, reject) => {
    const ending = database.transaction(
      (queryable) =>
        new Promise<void>((commit, fail) => {
          transactions.set(number, {
            queryable,
            commit,
            rollback: () => {
              fail(new RolledBack())
            },
          })
          resolve(number)
        }),
    )
    endings.set(number, ending)
    // This reports failures before the transaction is open; `end` reports later ones.
    ending.catch(reject)
  })
}

async function end(number: number | null, outcome: 'commit' | 'rollback'): Promise<void> {
  const open = number === null ? undefined : transactions.get(number)
  if (number === null || open === undefined) return
  transactions.delete(number)
  const ending = endings.get(number)
  endings.delete(number)
  open[outcome]()
  try {
    await ending
  } catch (cause) {
    if (!(cause instanceof RolledBack)) throw cause
  }
}

async function listen(database: Database, channel: string): Promise<number> {
  lastNumber += 1
  const listener = lastNumber
  listeners.set(
    listener,
    await database.listen(channel, (payload) => {
      send({ kind: 'notified', listener, payload })
    }),
  )
  return listener
}

const { directory } = workerData as { directory: string }
const database = await openPglite(directory, {
  template: TEMPLATE,
  onFault: ({ message, cause }) => {
    send({ kind: 'fault', message: `${message}: ${cause instanceof Error ? cause.message : String(cause)}` })
  },
})
// The priority drops only now, because the start waits for the open database.
yieldTo(NICENESS)
parentPort?.on('message', (request: ThreadRequest) => {
  serve(database, request).then(
    (value) => {
      send({ kind: 'done', id: request.id, value })
      if (request.work.kind === 'close') parentPort?.close()
    },
    (cause: unknown) => {
      const { message, sqlState } = DatabaseError.from(cause)
      send({ kind: 'failed', id: request.id, message, sqlState })
    },
  )
})
// At a first start, another instance of the database has made the directory, and its 50 MB of memory are garbage.
const collector = new RestCollector({ hasRested: loopRest(BUSY_SHARE) })
repeat(
  REST_CHECK_MS,
  () => {
    collector.check()
  },
  (cause) => {
    send({ kind: 'fault', message: String(cause) })
  },
).unref()
send({ kind: 'opened' })
