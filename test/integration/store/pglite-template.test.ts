import { mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest'
import { migrate, pendingMigrations } from '../../../src/control/store/migrate.ts'
import { openPglite } from '../../../src/control/store/pglite-database.ts'
import { makeTemplate } from '../../../src/control/store/pglite-template.ts'
import { itLater } from '../../support/dose.ts'

const MAKING_MS = 120_000
const root = mkdtempSync(join(tmpdir(), 'sluice-pglite-template-'))
const template = join(root, 'template.tar.gz')
let directory: string
let lives = 0

beforeAll(async () => {
  writeFileSync(template, await makeTemplate())
}, MAKING_MS)

beforeEach(() => {
  directory = join(root, `life-${lives++}`, 'database')
})

afterAll(() => {
  rmSync(root, { recursive: true, force: true })
})

it('is where a new database starts: the schema is there, and no row but those that name its migrations', async () => {
  const database = await openPglite(directory, { template })
  expect(await pendingMigrations(database)).toEqual([])
  expect(await database.query('SELECT count(*) AS users FROM users')).toEqual([{ users: 0 }])
  expect(await database.query('SHOW shared_buffers')).toEqual([{ shared_buffers: '32MB' }])
  await database.close()
  expect(readdirSync(join(directory, '..'))).toEqual(['database'])
  expect(statSync(directory).mode & 0o777).toBe(0o700)
})

it('does not touch a database that is there', async () => {
  const first = await openPglite(directory, { template })
  await first.script('CREATE TABLE kept (value int)')
  await first.close()
  const second = await openPglite(directory, { template })
  expect(await second.query('SELECT count(*) AS rows FROM kept')).toEqual([{ rows: 0 }])
  await second.close()
})

itLater('leaves what a newer version adds to be migrated', async () => {
  const database = await openPglite(directory, { template })
  const known = await database.query<{ id: string }>('SELECT id FROM schema_migrations ORDER BY id')
  const older = known.map(({ id }) => ({ id, sql: 'SELECT 1 / 0' }))
  const newer = { id: '9999-newer', sql: 'CREATE TABLE newer (value int)' }
  expect(await migrate(database, [...older, newer])).toEqual([newer.id])
  expect(await database.query('SELECT count(*) AS rows FROM newer')).toEqual([{ rows: 0 }])
  await database.close()
})

itLater(
  'is done without when it is broken, and what is told says so',
  async () => {
    const broken = join(root, 'broken.tar.gz')
    writeFileSync(broken, 'no archive')
    const faults: Error[] = []
    const database = await openPglite(directory, { template: broken, onFault: (fault) => void faults.push(fault) })
    expect(faults.map(({ message }) => message)).toEqual([`the new database is made without the template ${broken}`])
    expect(await database.query('SELECT 1 AS one')).toEqual([{ one: 1 }])
    await database.close()
  },
  MAKING_MS,
)
