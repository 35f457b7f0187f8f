import { UsageError } from '../../../shared/config/config-error.ts'
import { bounded, MAX_ROWS, TABLES } from './rows.ts'
import type { Row, Table } from './rows.ts'

/** The used part of `node:sqlite`, which the types of Node 20 lack. */
interface SqliteModule {
  readonly DatabaseSync: new (
    path: string,
    options: { readonly readOnly: boolean },
  ) => {
    prepare(sql: string): { all(...parameters: readonly unknown[]): unknown[] }
    close(): void
  }
}

/** Reads a file of SQLite with Node's own library. Throws UsageError on a Node without it. */
export function readSqlite(file: string): ReadonlyMap<Table, readonly Row[]> {
  const sqlite = process.getBuiltinModule('node:sqlite') as SqliteModule | undefined
  if (sqlite === undefined) {
    throw new UsageError(
      `${file} is of SQLite, which Node ${process.versions.node} cannot read: use Node 22.13 or newer, or run "sqlite3 ${file} '.dump channels' '.dump tokens' '.dump users' '.dump options' > new-api.sql" and import new-api.sql`,
    )
  }
  try {
    const database = new sqlite.DatabaseSync(file, { readOnly: true })
    try {
      const tables = new Map<Table, readonly Row[]>()
      const known = database.prepare("SELECT name FROM sqlite_master WHERE type = 'table' AND name = ?")
      for (const table of TABLES) {
        if (known.all(table).length === 0) continue
        tables.set(
          table,
          bounded(table, database.prepare(`SELECT * FROM ${table} LIMIT ${MAX_ROWS + 1}`).all() as Row[]),
        )
      }
      return tables
    } finally {
      database.close()
    }
  } catch (cause) {
    if (cause instanceof UsageError) throw cause
    throw new UsageError(`${file} cannot be read: ${cause instanceof Error ? cause.message : String(cause)}`)
  }
}
