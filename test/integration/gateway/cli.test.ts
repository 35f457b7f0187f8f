import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, inject, it, vi } from 'vitest'
import { MAX_USER_KEYS } from '../../../src/shared/api/operations/keys.ts'
import { expectAdmin, expectKeysOnDatabase, expectOneKey, jsonOf } from '../../support/cli-commands.ts'
import type { Run } from '../../support/cli-commands.ts'
import { eventually } from '../../support/eventually.ts'
import { startGateway } from '../../support/gateway.ts'
import type { TestGateway } from '../../support/gateway.ts'
import { ManagementClient } from '../../support/management-client.ts'
import { askChat, copyMadeDatabase, databaseEnv } from '../../support/program.ts'
import { sluice } from '../../support/sluice.ts'
import type { Said } from '../../support/sluice.ts'
import { itLater } from '../../support/dose.ts'

const root = mkdtempSync(join(tmpdir(), 'sluice-cli-'))
const isEmbedded = inject('database') === 'pglite'
let directories = 0
vi.setConfig({ testTimeout: 180_000, hookTimeout: 180_000 })

afterAll(() => {
  rmSync(root, { recursive: true, force: true })
})

function newDirectory(): string {
  const directory = join(root, String(directories++))
  mkdirSync(directory)
  return directory
}

/** A command in a directory where it finds an empty database whose schema is as this version has it. */
async function newStore(): Promise<Run> {
  const cwd = newDirectory()
  copyMadeDatabase(join(cwd, 'data'))
  const env = await databaseEnv()
  const run: Run = (args, more = {}) => sluice(args, { cwd, ...more, env: { ...env, ...more.env } })
  if (!isEmbedded) expect((await run(['migrate'])).code).toBe(0)
  return run
}

describe('migrate', () => {
  it('makes the schema, once, and says what there is to do before', async () => {
    const cwd = newDirectory()
    const env = await databaseEnv()
    const before = await sluice(['migrate', '--check', '--json'], { cwd, env })
    if (isEmbedded) {
      // A new one is a copy of one that has the schema.
      expect([before.code, jsonOf(before)]).toEqual([0, { pending: [] }])
      return
    }
    expect(before.code).toBe(1)
    const { pending } = jsonOf(before) as unknown as { pending: string[] }
    expect(pending[0]).toBe('0001-initial')
    for (const args of [['keys', 'list'], ['reconcile']]) {
      const lacking = await sluice(args, { cwd, env })
      expect(lacking.code).toBe(1)
      expect(lacking.stderr).toContain('run sluice migrate')
    }
    expect(jsonOf(await sluice(['migrate', '--json'], { cwd, env }))).toEqual({ applied: pending })
    expect(await sluice(['migrate'], { cwd, env })).toMatchObject({ code: 0, stdout: 'The schema is up to date.\n' })
    expect(await sluice(['migrate', '--check'], { cwd, env })).toMatchObject({ code: 0 })
  })
})

// Commands wait seconds for an embedded database to open: the long tier does on one all that is done on Postgres here.
it.runIf(!isEmbedded)('makes an admin, with the password from where nobody else sees it', async () => {
  await expectAdmin(await newStore())
})

itLater('keeps keys on the database', async () => {
  await (isEmbedded ? expectOneKey : expectKeysOnDatabase)(await newStore())
})

it('proves that the books agree', async () => {
  const run = await newStore()
  expect(await run(['reconcile'])).toEqual({ code: 0, stdout: 'The books agree.\n', stderr: '' })
  expect(jsonOf(await run(['reconcile', '--json']))).toEqual({ agree: true, enterprises: [], drifts: [] })
})

describe('beside a gateway', () => {
  let gateway: TestGateway
  let admin: ManagementClient
  let env: Record<string, string>
  beforeAll(async () => {
    gateway = await startGateway()
    admin = await ManagementClient.ofAdmin(gateway)
    env = {
      SLUICE_DATA_DIR: gateway.dataDir,
      ...(gateway.databaseUrl === null ? {} : { DATABASE_URL: gateway.databaseUrl }),
    }
  })
  afterAll(() => gateway.stop())

  // Over HTTP: no command sees the database.
  it.runIf(isEmbedded && inject('tier') === 'long')('keeps keys through it', async () => {
    const run = (args: readonly string[], token = admin.token ?? ''): Promise<Said> =>
      sluice(['keys', ...args, '--url', gateway.url], { cwd: root, env: { SLUICE_TOKEN: token } })
    const made = jsonOf(await run(['create', '--name', 'remote', '--json']))
    const id = String(made['id'])
    await eventually(async () => expect((await askChat(gateway.url, String(made['key']), 'sim-gpt')).status).toBe(200))
    expect((await run(['list'])).stdout).toContain('remote')
    expect(await run(['toggle', id, '--off'])).toMatchObject({ code: 0, stdout: `off: remote (${id})\n` })
    await eventually(async () => expect((await askChat(gateway.url, String(made['key']), 'sim-gpt')).status).toBe(401))
    expect((await run(['rotate', id])).stdout).toContain('sk-')
    expect(await run(['delete', id])).toMatchObject({ code: 0, stdout: `deleted: ${id}\n` })
    const gone = await run(['delete', id, '--json'])
    expect(gone.code).toBe(1)
    expect(jsonOf(gone)).toMatchObject({ error: { code: 'NOT_FOUND', status: 404 } })
    const stranger = await run(['list'], 'no-token')
    expect(stranger.code).toBe(1)
    expect(stranger.stderr).toContain('token')
    const nobody = await sluice(['keys', 'list', '--url', 'nowhere'], { cwd: root, env: { SLUICE_TOKEN: 'a' } })
    expect(nobody).toMatchObject({ code: 2 })
  })

  it('leaves the embedded database to its owner, and shares Postgres', async () => {
    const said = await sluice(['keys', 'create', '--name', 'beside', '--json'], { cwd: root, env })
    if (isEmbedded) {
      expect(said.code).toBe(1)
      expect(jsonOf(said)).toMatchObject({
        error: { message: expect.stringContaining('is in use by process') as string },
      })
      return
    }
    expect(said.code).toBe(0)
    const key = String(jsonOf(said)['key'])
    await eventually(async () => expect((await askChat(gateway.url, key, 'sim-gpt')).status).toBe(200))
  })

  it('examines what it stands on', async () => {
    const said = await sluice(['doctor', '--json'], { cwd: root, env: { ...env, PORT: String(gateway.port) } })
    expect(said).toMatchObject({ code: 0, stderr: '' })
    const { findings } = jsonOf(said) as unknown as { findings: Array<{ check: string; status: string; says: string }> }
    const of = (check: string) => findings.find((finding) => finding.check === check)
    expect(of('data directory')).toMatchObject({ status: 'ok', says: expect.stringContaining('in use') as string })
    expect(of('port')).toMatchObject({ status: 'skipped' })
    expect(of('database')).toMatchObject({ status: isEmbedded ? 'skipped' : 'ok' })
    expect(of('upstreams')).toMatchObject({ status: 'skipped' })
    if (!isEmbedded) {
      expect(of('migrations')).toMatchObject({ status: 'ok' })
      expect(of('clock')).toMatchObject({ status: 'ok' })
    }
  })

  it.runIf(!isEmbedded)('changes no keys of a deleted enterprise, and makes none above the limit', async () => {
    const { json: made } = await admin.expect('adminCreateEnterprise', 201, { body: { name: 'Acme' } })
    const id = String(made['id'])
    await admin.expect('deleteEnterprise', 204, { params: { id } })
    const late = await sluice(['keys', 'create', '--name', 'late', '--enterprise', id], { cwd: root, env })
    expect(late).toMatchObject({ code: 1, stdout: '' })
    expect(late.stderr).toContain('This enterprise is deleted')
    expect((await sluice(['keys', 'list', '--enterprise', id], { cwd: root, env })).code).toBe(0)

    const { json: user } = await admin.expect('me', 200)
    const database = new pg.Client({ connectionString: gateway.databaseUrl ?? '' })
    await database.connect()
    await database.query(
      `INSERT INTO entry_keys (id, digest, masked, name, user_id, status)
        SELECT 'full-' || n, 'full-' || n, 'sk-', 'full', $1, 'disabled' FROM generate_series(1, $2::int) AS n`,
      [user['id'], MAX_USER_KEYS],
    )
    await database.end()
    const above = await sluice(['keys', 'create', '--name', 'above'], { cwd: root, env })
    expect(above).toMatchObject({ code: 1, stdout: '' })
    expect(above.stderr).toContain('which is the limit')
  })
})
