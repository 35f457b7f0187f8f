import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import type { Database } from '../../../src/store/database.ts'
import { openThreadedPglite } from '../../../src/store/pglite-threaded.ts'
import { databaseContract } from '../../contract/database.ts'
import { storeContract } from '../../contract/store.ts'

/** As built: a thread runs plain JavaScript. */
const THREAD = new URL('../../../dist/store/pglite-thread.js', import.meta.url)
const roots: string[] = []

function open(): Promise<Database> {
  const root = mkdtempSync(join(tmpdir(), 'sluice-threaded-'))
  roots.push(root)
  return openThreadedPglite(join(root, 'database'), () => undefined, THREAD)
}

afterAll(() => {
  for (const root of roots) rmSync(root, { recursive: true, force: true })
})

describe('PGlite in a thread of its own', () => {
  databaseContract(open)
  storeContract(open)

  it('lets the event loop go on while a statement computes', async () => {
    const database = await open()
    let turns = 0
    const timer = setInterval(() => (turns += 1), 1)
    await database.query('SELECT count(*) FROM generate_series(1, 2000000) AS s (n) WHERE n % 7 = 3')
    clearInterval(timer)
    expect(turns).toBeGreaterThan(10)
    await database.close()
  }, 60_000)
})
