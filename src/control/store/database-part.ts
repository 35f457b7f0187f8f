import { Semaphore } from '../../shared/runtime/semaphore.ts'
import type { Database, Queryable } from './database.ts'

/** Connections that are left to snapshots, settling and health, however much others ask. */
const RESERVED = 3

/**
 * A database for those who can wait: its statements have a part of the connections, so that whoever has the whole waits for few of
 * them. Of the embedded database, which has one connection, it asks one statement after the other. Statements of a transaction
 * must go through the transaction.
 */
export function partOf(database: Database, maxConnections: number): Database {
  const turns = new Semaphore(database.kind === 'pglite' ? 1 : Math.max(1, maxConnections - RESERVED))
  const part: Queryable = {
    query: (statement, parameters) => turns.run(() => database.query(statement, parameters)),
    script: (sql) => turns.run(() => database.script(sql)),
    copyIn: (table, columns, rows) => turns.run(() => database.copyIn(table, columns, rows)),
  }
  return {
    ...part,
    kind: database.kind,
    transaction: (work) => turns.run(() => database.transaction(work)),
    listen: (channel, onNotify) => database.listen(channel, onNotify),
    ping: () => database.ping(),
    close: () => database.close(),
  }
}
