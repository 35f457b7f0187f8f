import { PGlite } from '@electric-sql/pglite'
import { migrate } from './migrate.ts'
import { OPTIONS, wrap } from './pglite-database.ts'

/**
 * Makes a compressed archive of an empty embedded database with the schema, for `PgliteOptions.template`. This takes seconds; a
 * build does it once.
 */
export async function makeTemplate(): Promise<Buffer> {
  const pglite = await PGlite.create('memory://', OPTIONS)
  try {
    await migrate(wrap(pglite, {}))
    // After a checkpoint, an open of the archive need not read the write-ahead log.
    await pglite.exec('CHECKPOINT')
    const archive = await pglite.dumpDataDir('gzip')
    return Buffer.from(await archive.arrayBuffer())
  } finally {
    await pglite.close()
  }
}
