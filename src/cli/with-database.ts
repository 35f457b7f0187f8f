import type { Config } from '../shared/config/shape.ts'
import { controlDirectory, lockDataDirectory } from '../shared/runtime/data-directory.ts'
import type { DataDirectoryLock } from '../shared/runtime/data-directory.ts'
import type { Database } from '../control/store/database.ts'
import { pendingMigrations } from '../control/store/migrate.ts'
import { openDatabase } from '../control/store/open-database.ts'
import type { Output } from './output.ts'

/** For callers that report a broken connection by the error of their statement alone. */
export const UNHEARD: Pick<Output, 'note'> = { note: () => undefined }

/**
 * Opens the database of a gateway for `work`. With Postgres the gateway may run meanwhile. The embedded database has one
 * owner: while a gateway runs on it, or still ends, this rejects with DirectoryInUseError.
 */
export async function withDatabase<T>(
  config: Config,
  output: Pick<Output, 'note'>,
  work: (database: Database) => Promise<T>,
): Promise<T> {
  const lock = config.database.url === null ? await lockDatabase(config.dataDir) : null
  try {
    const database = await openDatabase({
      ...config.database,
      dataDir: config.dataDir,
      onFault: (error) => {
        output.note(error.message)
      },
    })
    try {
      return await work(database)
    } finally {
      await database.close()
    }
  } finally {
    await lock?.release()
  }
}

/** Locks the data directory, then the control directory, which the control process of an ending gateway may still hold. */
async function lockDatabase(dataDir: string): Promise<DataDirectoryLock> {
  const outer = await lockDataDirectory(dataDir)
  try {
    const inner = await lockDataDirectory(controlDirectory(dataDir))
    return {
      release: async () => {
        await inner.release()
        await outer.release()
      },
    }
  } catch (cause) {
    await outer.release()
    throw cause
  }
}

/** Rejects when a migration of this program is not applied. */
export async function requireSchema(database: Database): Promise<void> {
  const pending = await pendingMigrations(database)
  if (pending.length > 0) {
    throw new Error(`the database lacks ${pending.length} migrations (from ${pending[0] ?? ''}): run sluice migrate`)
  }
}
