import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { openThreadedPglite } from '../../../src/control/store/pglite-threaded.ts'
import { databaseContract } from '../../contract/database.ts'
import { storeContract } from '../../contract/store.ts'
import { oneDatabase } from '../../support/one-database.ts'

/** As built: a thread runs plain JavaScript. */
const THREAD = new URL('../../../dist/control/store/pglite-thread.js', import.meta.url)

const root = mkdtempSync(join(tmpdir(), 'sluice-threaded-'))

afterAll(() => rmSync(root, { recursive: true, force: true }))

describe('PGlite in a thread of its own', () => {
  const open = oneDatabase(() => openThreadedPglite(join(root, 'database'), () => undefined, THREAD))

  databaseContract(open)
  storeContract(open)

  it('lets the event loop go on while a statement computes', async () => {
    const database = await open()
    let turns = 0
    const timer = setInterval(() => (turns += 1), 1)
    await database.query('SELECT count(*) FROM generate_series(1, 2000000) AS s (n) WHERE n % 7 = 3')
    clearInterval(timer)
    expect(turns).toBeGreaterThan(10)
  }, 60_000)
})
