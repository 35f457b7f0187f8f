import { PGlite } from '@electric-sql/pglite'
import { migrate } from './migrate.ts'
import { OPTIONS, wrap } from './pglite-database.ts'

/**
 * An embedded database with the schema and nothing in it, as a compressed archive: see `PgliteOptions.template`. Takes seconds;
 * a build does it once.
 */
export async function makeTemplate(): Promise<Buffer> {
  const pglite = await PGlite.create('memory://', OPTIONS)
  try {
    await migrate(wrap(pglite, {}))
    // What is in the files alone has not to be read again from the write-ahead log.
    await pglite.exec('CHECKPOINT')
    const archive = await pglite.dumpDataDir('gzip')
    return Buffer.from(await archive.arrayBuffer())
  } finally {
    await pglite.close()
  }
}
