import { cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { PGlite } from '@electric-sql/pglite'
import { afterEach, beforeEach, describe, expect, inject, it, vi } from 'vitest'
import { BinaryRows } from '../../../src/control/store/binary-copy.ts'
import type { Database } from '../../../src/control/store/database.ts'
import { openPglite } from '../../../src/control/store/pglite-database.ts'
import { itLater } from '../../support/dose.ts'

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

  itLater(
    'keeps no write-ahead log of rows that are long in their tables',
    async () => {
      const directory = madeDatabase(root)
      const database = await openPglite(directory, { checkpointBytes: 8 * MIB })
      await database.script('CREATE TABLE copied (value text)')
      for (let i = 0; i < 160; i++) await copyMebibyte(database)
      const log = join(directory, 'pg_wal')
      const bytes = readdirSync(log).reduce((sum, name) => sum + statSync(join(log, name)).size, 0)
      expect(bytes).toBeLessThan(100 * MIB)
      expect(await database.query('SELECT count(*) AS rows FROM copied')).toEqual([{ rows: 160 * 1_024 }])
      await database.close()
    },
    120_000,
  )

  itLater(
    'tells of checkpoints that fail, takes no more than four times the rows, and goes on once one succeeds',
    async () => {
      const faults: Error[] = []
      const onFault = (fault: Error): void => void faults.push(fault)
      const database = await openPglite(madeDatabase(root), { checkpointBytes: 2 * MIB, onFault })
      await database.script('CREATE TABLE copied (value text)')
      const { exec } = PGlite.prototype
      const spy = vi.spyOn(PGlite.prototype, 'exec').mockImplementation(function (this: PGlite, sql, options) {
        return sql === 'CHECKPOINT'
          ? Promise.reject(new Error('No space left on device'))
          : exec.call(this, sql, options)
      })
      try {
        for (let i = 0; i < 8; i++) await copyMebibyte(database)
        expect(faults.length).toBeGreaterThan(0)
        await expect(copyMebibyte(database)).rejects.toMatchObject({ sqlState: '53100' })
        await database.transaction((tx) => tx.query('SELECT 1'))
      } finally {
        spy.mockRestore()
      }
      faults.length = 0
      for (let i = 0; i < 8; i++) await copyMebibyte(database)
      expect(faults).toEqual([])
      expect(await database.query('SELECT count(*) AS rows FROM copied')).toEqual([{ rows: 16 * 1_024 }])
      await database.close()
    },
    120_000,
  )
})

function madeDatabase(root: string): string {
  cpSync(inject('pgliteTemplate'), root, { recursive: true })
  return join(root, 'database')
}

async function copyMebibyte(database: Database): Promise<void> {
  const rows = new BinaryRows(MIB)
  for (let j = 0; j < 1_024; j++) {
    rows.row(1)
    rows.text('x'.repeat(1_024))
  }
  await database.transaction((tx) => tx.copyIn('copied', ['value'], rows.finish()))
}
