import { Semaphore } from '../../shared/runtime/semaphore.ts'
import type { Database, Queryable } from './database.ts'

/** Connections that are reserved for snapshots, settlement and health checks. */
const RESERVED = 3

/**
 * Limits the concurrent statements of lower-priority callers to a part of the connections, so that other callers wait for few of
 * them. The embedded database has one connection and gets one statement at a time. Statements of a transaction must go through the
 * transaction.
 */
export function partOf(database: Database, maxConnections: number): Database {
  const connections = new Semaphore(database.kind === 'pglite' ? 1 : Math.max(1, maxConnections - RESERVED))
  const part: Queryable = {
    query: (statement, parameters) => connections.run(() => database.query(statement, parameters)),
    script: (sql) => connections.run(() => database.script(sql)),
    copyIn: (table, columns, rows) => connections.run(() => database.copyIn(table, columns, rows)),
  }
  return {
    ...part,
    kind: database.kind,
    transaction: (work) => connections.run(() => database.transaction(work)),
    listen: (channel, onNotify) => database.listen(channel, onNotify),
    ping: () => database.ping(),
    close: () => database.close(),
  }
}
