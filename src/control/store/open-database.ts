import { join } from 'node:path'
import type { Database } from './database.ts'
import { openThreadedPglite } from './pglite-threaded.ts'

export interface DatabaseChoice {
  /** Null: the embedded database in the data directory. */
  readonly url: string | null
  readonly maxConnections: number
  readonly statementTimeoutMs: number
  readonly dataDir: string
  /** Called for broken connections and for failures in the background. */
  readonly onFault: (error: Error) => void
}

/** Opens Postgres when there is a URL, otherwise PGlite in `database/` of the data directory. Rejects when it cannot be reached. */
export async function openDatabase(choice: DatabaseChoice): Promise<Database> {
  const { url, maxConnections, statementTimeoutMs, onFault } = choice
  if (url === null) return openThreadedPglite(join(choice.dataDir, 'database'), onFault)
  const { openPostgres } = await import('./postgres-database.ts')
  const database = openPostgres({ url, maxConnections, statementTimeoutMs, onConnectionError: onFault })
  try {
    await database.ping()
    return database
  } catch (cause) {
    await database.close()
    throw cause
  }
}
