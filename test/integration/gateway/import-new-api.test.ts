import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, inject, it, vi } from 'vitest'
import { parse } from 'yaml'
import type { Simulator } from '../../../src/simulator/simulator.ts'
import { startSimulator } from '../../../src/simulator/simulator.ts'
import { jsonOf } from '../../support/cli-commands.ts'
import { KEPT_KEY, newApiRows, newApiSql } from '../../support/new-api-database.ts'
import { askChat, copyMadeDatabase, runProgram, stopPrograms } from '../../support/program.ts'
import { sluice } from '../../support/sluice.ts'
import type { Said } from '../../support/sluice.ts'
import { createTestDatabase } from '../../support/test-database.ts'
import { itLater } from '../../support/dose.ts'

const root = mkdtempSync(join(tmpdir(), 'sluice-new-api-'))
vi.setConfig({ testTimeout: 180_000, hookTimeout: 180_000 })

type Entry = Readonly<Record<string, unknown>>

interface Imported {
  readonly upstreams: ReadonlyArray<Entry & { readonly id: string }>
  readonly keys: ReadonlyArray<Entry & { readonly name: string; readonly key: string }>
  readonly [section: string]: unknown
}

interface Result {
  readonly not_carried: ReadonlyArray<{ readonly path: string; readonly reason: string }>
  readonly changed: ReadonlyArray<{ readonly path: string; readonly reason: string }>
  readonly problem: string | null
}

let simulator: Simulator
let database: string
beforeAll(async () => {
  simulator = await startSimulator()
  database = await createTestDatabase(inject('postgresUrl'))
  const client = new pg.Client({ connectionString: database })
  await client.connect()
  await client.query(newApiSql(newApiRows(simulator.origin), 'postgres'))
  await client.end()
})
afterAll(async () => {
  await stopPrograms()
  await simulator.close()
  rmSync(root, { recursive: true, force: true })
})

function importNewApi(cwd: string, args: readonly string[]): Promise<Said> {
  return sluice(['import', 'new-api', ...args], { cwd })
}

function newDirectory(): string {
  return mkdtempSync(join(root, 'case-'))
}

function fileOf(directory: string): Imported {
  return parse(readFileSync(join(directory, 'sluice.yaml'), 'utf8')) as Imported
}

describe('sluice import new-api, of a Postgres', () => {
  let directory: string
  let result: Result
  let file: Imported
  beforeAll(async () => {
    directory = newDirectory()
    const said = await importNewApi(directory, [database, '--json'])
    expect(said).toMatchObject({ code: 0, stderr: '' })
    result = jsonOf(said) as unknown as Result
    file = fileOf(directory)
  })

  const upstream = (id: string): Entry | undefined => file.upstreams.find((one) => one.id === id)
  const key = (name: string): Entry & { readonly key: string } => {
    const found = file.keys.find((one) => one.name === name)
    if (found === undefined) throw new Error(`no key "${name}"`)
    return found
  }

  it('writes a file that only its owner reads, that the gateway accepts, and that has no password of the database', () => {
    expect(result).toMatchObject({ problem: null, missing_variables: [] })
    expect(statSync(join(directory, 'sluice.yaml')).mode & 0o777).toBe(0o600)
    const [comment = ''] = readFileSync(join(directory, 'sluice.yaml'), 'utf8').split('\n')
    expect(comment).toMatch(/from postgres:\/\/127\.0\.0\.1:\d+\/test_/)
  })

  it('makes upstreams of channels, with their keys, models, names and order', () => {
    expect(upstream('127.0.0.1')).toEqual({
      id: '127.0.0.1',
      name: '主渠道',
      dialect: 'openai-chat',
      base_url: `${simulator.origin}/v1`,
      priority: 1,
      keys: [
        { credential: 'sk-first', weight: 0.333 },
        { credential: 'sk-second', weight: 0.333, enabled: false },
        { credential: 'sk-third', weight: 0.333 },
      ],
      models: [{ id: 'gpt-4o' }, { id: 'gpt-4o-mini' }, { id: 'fast', upstream_model: 'gpt-4o-mini' }],
    })
    expect(upstream('broken')).not.toHaveProperty('priority')
    expect(upstream('backup')).toMatchObject({ priority: 2, keys: [{ credential: 'sk-$${backup}' }] })
    expect(upstream('claude-of-vip')).toMatchObject({
      name: 'Claude of vip',
      provider: 'anthropic',
      headers: { 'x-team': 'it\'s "ours"' },
    })
    expect(upstream('azure')).toMatchObject({
      provider: 'azure-openai',
      api_version: '2024-10-21',
      models: [{ id: 'gpt-3.5-turbo', upstream_model: 'gpt-35-turbo' }],
    })
    expect([upstream('aws'), upstream('aws-2')]).toMatchObject([
      { base_url: 'https://bedrock-runtime.us-east-1.amazonaws.com', keys: [{ credential: 'AKIA1:secret1' }] },
      { base_url: 'https://bedrock-runtime.eu-west-1.amazonaws.com', keys: [{ credential: 'AKIA2:secret2' }] },
    ])
    expect([upstream('vertex'), upstream('vertex-2')]).toMatchObject([
      { provider: 'vertex', models: [{ id: 'gemini-2.5-pro' }] },
      { provider: 'vertex-anthropic', models: [{ id: 'claude-opus-4-1' }] },
    ])
    expect(upstream('vertex-2')).toHaveProperty(
      'base_url',
      'https://us-east5-aiplatform.googleapis.com/v1/projects/my-project/locations/us-east5',
    )
    expect([upstream('off'), upstream('failed')]).toMatchObject([
      { keys: [{ enabled: false }] },
      { keys: [{ enabled: false }] },
    ])
    expect(upstream('moon')).toMatchObject({ provider: 'moonshot', base_url: 'https://api.moonshot.cn/v1' })
    expect(upstream('local')).toMatchObject({ provider: 'ollama', keys: [] })
  })

  it('makes entry keys of tokens, with their models, addresses, expiry and what is left of their quota', () => {
    expect(file.keys.map(({ name }) => name)).toEqual([
      'alice: laptop',
      'alice: vip',
      'root: office',
      'bob: of bob',
      'alice: kept',
      'alice: spent',
    ])
    expect(key('alice: laptop')).toMatchObject({ monthly_budget: 12_340_000 })
    expect(key('alice: laptop')['models']).not.toContain('claude-sonnet-4-5')
    expect(key('alice: vip')).toMatchObject({ monthly_budget: 100_000_000, models: ['claude-sonnet-4-5', 'gpt-4o'] })
    expect(key('root: office')).toMatchObject({
      enabled: false,
      monthly_budget: 200_000_000,
      expires_at: '2100-01-01T00:00:00.000Z',
      ip_allow: ['10.0.0.0/8', '192.168.1.7'],
    })
    expect(key('bob: of bob')).toMatchObject({ enabled: false, monthly_budget: 0 })
    expect(key('alice: kept')).toMatchObject({ key: KEPT_KEY, monthly_budget: 1_000_000 })
    expect(key('alice: spent')).toMatchObject({ monthly_budget: 0 })
  })

  it('makes prices of ratios, and takes what they lack from list prices', () => {
    expect(file['models']).toEqual([
      {
        id: 'gpt-4o',
        prices: { input: 2_500_000, output: 10_000_000, cached_input: 1_250_000, cache_write: 2_500_000 },
      },
      { id: 'gpt-4o-mini', prices: { input: 150_000, output: 600_000, cached_input: 75_000, cache_write: 150_000 } },
      {
        id: 'claude-sonnet-4-5',
        provider: 'anthropic',
        prices: { input: 3_000_000, output: 15_000_000, cached_input: 300_000, cache_write: 3_750_000 },
      },
    ])
    expect(file['upstream']).toEqual({ max_attempts: 4 })
  })

  it('says what it could not carry and what it changed, by its place in the source', () => {
    expect(result.not_carried.map(({ path }) => path)).toEqual([
      'channels[id=2].header_override.Authorization',
      'channels[id=2].param_override',
      'channels[id=2].setting.proxy',
      'channels[id=2].setting.system_prompt',
      'channels[id=5].type',
      'channels[id=8].models',
      'options.ModelRatio.fast',
      'options.ModelPrice.llama3.1',
      'tokens[id=3].expired_time',
      'tokens[id=4].allow_ips',
      'users[id=1]',
      'users[id=2]',
      'users[id=3]',
      'options.GroupRatio.vip',
      'options.ModelRequestRateLimitCount',
      'options',
    ])
    const reasons = new Map(result.not_carried.map(({ path, reason }) => [path, reason]))
    expect(reasons.get('channels[id=5].type')).toContain('Midjourney')
    expect(reasons.get('channels[id=8].models')).toContain('"llama-4"')
    expect(reasons.get('users[id=2]')).toContain('alice@example.com')
    expect(reasons.get('options')).toMatch(/: SystemName$/)
    const changes = result.changed.map(({ path }) => path)
    for (const path of [
      'tokens[id=1].key',
      'tokens[id=1].remain_quota',
      'users[id=2].quota',
      'channels[id=11].status',
    ]) {
      expect(changes).toContain(path)
    }
    expect(changes).toContain('channels[id=3].group')
    expect(changes).not.toContain('tokens[id=7].key')
  })

  itLater('is served by a gateway: keys, budgets, models, names and the next channel in turn', async () => {
    copyMadeDatabase(join(directory, 'data'))
    simulator.configureKey('sk-broken', { status: 500 })
    const program = runProgram(directory, {
      HOST: '127.0.0.1',
      PORT: '0',
      LOG_LEVEL: 'silent',
      SLUICE_DATA_DIR: 'data',
    })
    const url = await program.ready()
    const statusOf = async (name: string, model: string): Promise<number> =>
      (await askChat(url, key(name).key, model)).status
    for (const model of ['gpt-4o', 'gpt-4o-mini', 'fast', 'resilient', 'gpt-3.5-turbo', 'llama3.1']) {
      expect([model, await statusOf('alice: laptop', model)]).toEqual([model, 200])
    }
    expect(await statusOf('alice: vip', 'claude-sonnet-4-5')).toBe(200)
    expect(await statusOf('alice: kept', 'gpt-4o')).toBe(200)
    expect(await statusOf('alice: laptop', 'claude-sonnet-4-5')).toBe(403)
    expect(await statusOf('bob: of bob', 'gpt-4o')).toBe(401)
    expect(await statusOf('alice: spent', 'gpt-4o')).toBe(429)
    const asked = simulator.requests()
    const credentials = asked.map(({ credential }) => credential)
    expect(credentials).toContain('sk-broken')
    expect(credentials).toContain('sk-${backup}')
    expect(credentials).not.toContain('sk-second')
    expect(asked.map(({ path }) => path)).toContainEqual(
      expect.stringMatching(/^\/openai\/deployments\/gpt-35-turbo\/chat\/completions/),
    )
    expect(await program.stop()).toBe(0)
  })
})

/** The file without the keys that each import makes anew. */
function withoutNewKeys(file: Imported): unknown {
  return { ...file, keys: file.keys.map(({ key, ...rest }) => ({ ...rest, isKept: key === KEPT_KEY })) }
}

itLater.each(['sqlite', 'mysql', 'postgres'] as const)('reads the same from a dump of %s', async (dialect) => {
  const directory = newDirectory()
  writeFileSync(join(directory, 'new-api.sql'), newApiSql(newApiRows(simulator.origin), dialect))
  const said = await importNewApi(directory, ['new-api.sql'])
  expect(said).toMatchObject({ code: 0, stderr: '' })
  expect(said.stdout).toContain('not carried (16):\n')
  const reference = newDirectory()
  await importNewApi(reference, [database])
  expect(withoutNewKeys(fileOf(directory))).toEqual(withoutNewKeys(fileOf(reference)))
})

describe('a source that cannot be read', () => {
  const refused = async (source: string, text?: string): Promise<string> => {
    const directory = newDirectory()
    if (text !== undefined) writeFileSync(join(directory, source), text)
    const said = await importNewApi(directory, [source])
    expect(said).toMatchObject({ code: 2, stdout: '' })
    return said.stderr
  }

  it('is named with what to do', async () => {
    expect(await refused('nowhere.db')).toContain('nowhere.db: no such file')
    expect(await refused('root:secret@tcp(127.0.0.1:3306)/oneapi')).toContain('mysqldump')
    const { host } = new URL(database)
    const unknown = await refused(`postgres://me:secret@${host}/nothing`)
    expect(unknown).toContain(`postgres://${host}/nothing cannot be read`)
    expect(unknown).not.toContain('secret')
    expect(await refused('other.sql', 'CREATE TABLE people (id integer);')).toContain('no table "channels"')
    expect(await refused('copied.sql', 'COPY public.channels (id) FROM stdin;\n1\n\\.\n')).toContain('--inserts')
    const cut = "CREATE TABLE channels (id integer, auto_ban integer, key text);\nINSERT INTO channels VALUES(1,1,'sk-"
    expect(await refused('cut.sql', cut)).toContain('cut.sql:2: a text does not end')
    const oneApi =
      "CREATE TABLE channels (id integer, key text, config text);\nINSERT INTO channels VALUES(1,'sk-a','{}');"
    expect(await refused('one-api.sql', oneApi)).toContain('One API')
  })

  it.runIf(process.getBuiltinModule('node:sqlite') === undefined)('is a file of SQLite for this Node', async () => {
    const said = await refused('one-api.db', 'SQLite format 3\0 and so on')
    expect(said).toContain('use Node 22.13 or newer')
    expect(said).toContain("sqlite3 one-api.db '.dump channels'")
  })
})
