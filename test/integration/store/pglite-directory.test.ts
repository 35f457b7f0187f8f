import { existsSync, mkdirSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { openPglite } from '../../../src/store/pglite-database.ts'

describe('PGlite in a directory', () => {
  let root: string

  beforeEach(() => {
    root = mkdtempSync(join(tmpdir(), 'sluice-pglite-'))
  })
  afterEach(() => rmSync(root, { recursive: true, force: true }))

  it('is made on first use, whatever an interrupted first use left, and found again', async () => {
    const directory = join(root, 'data', 'database')
    mkdirSync(`${directory}.initialising`, { recursive: true })
    writeFileSync(join(`${directory}.initialising`, 'PG_VERSION'), 'half')

    const first = await openPglite(directory)
    await first.script('CREATE TABLE kept (value int); INSERT INTO kept VALUES (7)')
    await first.close()
    expect(existsSync(`${directory}.initialising`)).toBe(false)
    expect(statSync(directory).mode & 0o777).toBe(0o700)

    const second = await openPglite(directory)
    expect(await second.query('SELECT value FROM kept')).toEqual([{ value: 7 }])
    await second.close()
    await second.close()
    // The first start computes for four seconds on an idle machine.
  }, 120_000)
})
