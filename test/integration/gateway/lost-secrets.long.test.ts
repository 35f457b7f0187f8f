import { randomBytes } from 'node:crypto'
import { existsSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, inject, it, vi } from 'vitest'
import { openPglite } from '../../../src/control/store/pglite-database.ts'
import { openPostgres } from '../../../src/control/store/postgres-database.ts'
import { readSetting } from '../../../src/control/store/settings.ts'
import { dose } from '../../support/dose.ts'
import { askChat, copyMadeDatabase, databaseEnv, runProgram } from '../../support/program.ts'
import { sluice } from '../../support/sluice.ts'

vi.setConfig({ testTimeout: 240_000, hookTimeout: 240_000 })

const REFUSALS = dose('SLUICE_TEST_REFUSALS', { short: 1, long: 2 })
const cwd = mkdtempSync(join(tmpdir(), 'sluice-secrets-'))
const dataDir = join(cwd, 'data')
const file = join(dataDir, 'secrets.json')
const kept = join(cwd, 'kept-secrets.json')
let env: Record<string, string>
let apiKey: string

beforeAll(async () => {
  copyMadeDatabase(dataDir)
  env = { PORT: '0', SLUICE__SERVER__DRAIN_ANNOUNCE_MS: '0', ...(await databaseEnv()) }
  await served(env)
  apiKey = (JSON.parse(readFileSync(join(dataDir, 'first-run.json'), 'utf8')) as { api_key: string }).api_key
  writeFileSync(kept, readFileSync(file))
})

afterAll(() => {
  rmSync(cwd, { recursive: true, force: true })
})

/** What the first key gets from a gateway that starts; null: there is no key yet. */
async function served(environment: Record<string, string>): Promise<number | null> {
  const program = runProgram(cwd, environment)
  try {
    const url = await program.ready()
    return apiKey === undefined ? null : (await askChat(url, apiKey, 'sim-gpt')).status
  } finally {
    await program.stop()
  }
}

/** All that a gateway says which does not start. */
async function refusal(environment: Record<string, string>): Promise<string> {
  const program = runProgram(cwd, environment)
  expect(await program.ended).toBe(1)
  expect(program.stdout()).toBe('')
  return program.stderr()
}

function writeOthers(path: string): void {
  const secret = (): string => randomBytes(32).toString('base64')
  writeFileSync(path, JSON.stringify({ keyHash: secret(), jwtKeys: [{ kid: 'other', secret: secret() }] }))
}

it('does not start without its secrets beside a filled database, says in one line what to restore, and goes on with that', async () => {
  rmSync(file)
  for (let start = 0; start < REFUSALS; start++) {
    const said = await refusal(env)
    expect(said).toMatch(/^sluice: \S+\/data\/secrets\.json: is missing, [^\n]*restore it from a backup[^\n]*\n$/)
    expect(existsSync(file)).toBe(false)
  }
  writeFileSync(file, readFileSync(kept), { mode: 0o600 })
  expect(await served(env)).toBe(200)
})

it.runIf(inject('database') === 'postgres')(
  'does not start in a new data directory at a Postgres whose keys were made with other secrets',
  async () => {
    const anew = { ...env, SLUICE_DATA_DIR: join(cwd, 'new-data') }
    expect(await refusal(anew)).toMatch(/^sluice: \S+\/new-data\/secrets\.json: is missing, [^\n]*restore[^\n]*\n$/)
    expect(existsSync(join(cwd, 'new-data', 'secrets.json'))).toBe(false)
    writeOthers(join(cwd, 'new-data', 'secrets.json'))
    expect(await refusal(anew)).toMatch(/^sluice: \S+\/secrets\.json: holds other secrets [^\n]*restore[^\n]*\n$/)

    // As the nodes of a cluster have theirs.
    const { keyHash } = JSON.parse(readFileSync(kept, 'utf8')) as { keyHash: string }
    rmSync(join(cwd, 'new-data'), { recursive: true })
    expect(await served({ ...anew, SLUICE_SECRET_KEY_HASH: keyHash })).toBe(200)
  },
)

// Six more starts.
const itInLongTier = it.runIf(inject('tier') === 'long')

itInLongTier('takes a database of the version before this check as it is, and checks it from then on', async () => {
  const { DATABASE_URL: url } = env
  const database =
    url === undefined
      ? await openPglite(join(dataDir, 'database'))
      : openPostgres({ url, maxConnections: 1, statementTimeoutMs: 30_000, onConnectionError: () => undefined })
  await database.query(`DELETE FROM settings WHERE key = 'secrets_check'`)
  expect(await readSetting(database, 'secrets_check')).toBeUndefined()
  await database.close()
  expect(await served(env)).toBe(200)

  writeOthers(file)
  expect(await refusal(env)).toMatch(/^sluice: \S+\/secrets\.json: holds other secrets [^\n]*restore[^\n]*\n$/)
})

itInLongTier('goes on with other secrets when it is told to, without the keys of before', async () => {
  expect(existsSync(file)).toBe(true)
  expect(await sluice(['adopt-secrets'], { cwd, env })).toMatchObject({ code: 0 })
  expect(await served(env)).toBe(401)
  renameSync(kept, file)
  expect(await refusal(env)).toContain('holds other secrets')
})
