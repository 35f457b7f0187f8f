import { afterAll, beforeAll } from 'vitest'
import type { Database } from '../../src/control/store/database.ts'

/**
 * One database for all suites of a file, emptied for each: creating one takes seconds. To be called outside of tests. The returned
 * function gives the database to one suite after the other; its `close` does nothing.
 */
export function oneDatabase(open: () => Promise<Database>): () => Promise<Database> {
  let database: Database
  beforeAll(async () => {
    database = await open()
  }, 60_000)
  afterAll(() => database.close())
  return async () => {
    await database.script('DROP SCHEMA public CASCADE; CREATE SCHEMA public')
    return { ...database, close: () => Promise.resolve() }
  }
}
