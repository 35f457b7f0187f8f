import { execFile } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { afterAll, expect, it } from 'vitest'
import { parse } from 'yaml'
import { installFromNpm } from '../../support/installed-client.ts'
import { KEPT_KEY, newApiRows, newApiSql } from '../../support/new-api-database.ts'

// A file of SQLite, read by the Node that has a library for it: this one, or the one that npm has for this machine.

const SLUICE = fileURLToPath(new URL('../../../dist/cli/sluice.js', import.meta.url))
const NODE = `node-${process.platform}-${process.arch}`
const VERSION = '22.23.3'
const PATIENCE = { timeout: 600_000 }
const WRITE = `
  const { DatabaseSync } = require('node:sqlite')
  const database = new DatabaseSync('one-api.db')
  database.exec(require('node:fs').readFileSync('new-api.sql', 'utf8'))
  database.close()
`

const run = promisify(execFile)
const root = mkdtempSync(join(tmpdir(), 'sluice-new-api-'))
afterAll(() => {
  rmSync(root, { recursive: true, force: true })
})

async function nodeWithSqlite(): Promise<string | { readonly missing: string }> {
  if (process.getBuiltinModule('node:sqlite') !== undefined) return process.execPath
  const installed = await installFromNpm([`${NODE}@${VERSION}`])
  return 'missing' in installed ? installed : join(installed.directory, 'node_modules', NODE, 'bin', 'node')
}

it('reads the same from a file of SQLite as from its dump', PATIENCE, async ({ skip }) => {
  const node = await nodeWithSqlite()
  if (typeof node !== 'string') return skip(`no Node with SQLite can be installed here: ${node.missing}`)
  const sql = newApiSql(newApiRows('http://127.0.0.1:9'), 'sqlite')
  writeFileSync(join(root, 'new-api.sql'), sql)
  await run(node, ['-e', WRITE], { cwd: root })
  // The address as SQLITE_PATH of new-api may have it.
  await run(node, [SLUICE, 'import', 'new-api', 'one-api.db?_busy_timeout=30000', '--output', 'file.yaml'], {
    cwd: root,
  })
  await run(node, [SLUICE, 'import', 'new-api', 'new-api.sql', '--output', 'dump.yaml'], { cwd: root })
  const [ofFile, ofDump] = ['file.yaml', 'dump.yaml'].map((name) => {
    const { keys, ...rest } = parse(readFileSync(join(root, name), 'utf8')) as { keys: Array<{ key: string }> }
    return { ...rest, keys: keys.map(({ key, ...one }) => ({ ...one, isKept: key === KEPT_KEY })) }
  })
  expect(ofFile?.keys).toHaveLength(6)
  expect(ofFile).toEqual(ofDump)
})
