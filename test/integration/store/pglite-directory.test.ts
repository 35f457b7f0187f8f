import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { BinaryRows } from '../../../src/store/binary-copy.ts'
import { openPglite } from '../../../src/store/pglite-database.ts'

const MIB = 1024 * 1024

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

  it('keeps no write-ahead log of rows that are long in their tables', async () => {
    const directory = join(root, 'database')
    const database = await openPglite(directory, 8 * MIB)
    await database.script('CREATE TABLE copied (value text)')
    for (let i = 0; i < 160; i++) {
      const rows = new BinaryRows(MIB)
      for (let j = 0; j < 1_024; j++) {
        rows.row(1)
        rows.text('x'.repeat(1_024))
      }
      await database.transaction((tx) => tx.copyIn('copied', ['value'], rows.finish()))
    }
    const log = join(directory, 'pg_wal')
    const bytes = readdirSync(log).reduce((sum, name) => sum + statSync(join(log, name)).size, 0)
    expect(bytes).toBeLessThan(100 * MIB)
    expect(await database.query('SELECT count(*) AS rows FROM copied')).toEqual([{ rows: 160 * 1_024 }])
    await database.close()
  }, 120_000)
})
