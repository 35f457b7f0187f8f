import { randomBytes } from 'node:crypto'
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest'
import type { Simulator } from '../../../src/simulator/simulator.ts'
import { startSimulator } from '../../../src/simulator/simulator.ts'
import { itLater } from '../../support/dose.ts'
import { eventually } from '../../support/eventually.ts'
import type { GatewayOptions, TestGateway } from '../../support/gateway.ts'
import { startGateway } from '../../support/gateway.ts'
import { ManagementClient } from '../../support/management-client.ts'
import { copyMadeDatabase } from '../../support/program.ts'
import { sluice } from '../../support/sluice.ts'
import { createTestDatabase } from '../../support/test-database.ts'

/** What admins make is at the simulator here. */
const WITH_SIMULATOR = { management: { private_upstreams: ['127.0.0.0/8'] } }
const CREDENTIAL = 'a-credential-that-nobody-else-may-read'
const HEADER = 'a-header-that-nobody-else-may-read'

let simulator: Simulator
const running = new Set<TestGateway>()
const directories: string[] = []

beforeAll(async () => {
  simulator = await startSimulator()
})

afterAll(async () => {
  await Promise.all([...running].map((gateway) => gateway.stop()))
  for (const directory of directories) rmSync(directory, { recursive: true, force: true })
  await simulator.close()
})

async function start(options: GatewayOptions = {}): Promise<TestGateway> {
  const gateway = await startGateway({
    config: WITH_SIMULATOR,
    upstreams: [{ id: 'filed', dialect: 'openai-chat', baseUrl: `${simulator.origin}/v1`, models: ['m'] }],
    ...options,
  })
  running.add(gateway)
  return gateway
}

async function stop(gateway: TestGateway): Promise<void> {
  running.delete(gateway)
  await gateway.stop()
}

function directory(): string {
  const made = mkdtempSync(join(tmpdir(), 'sluice-upstreams-'))
  directories.push(made)
  return made
}

const upstream = (id: string): object => ({
  id,
  dialect: 'openai-chat',
  base_url: `${simulator.origin}/v1`,
  models: [`model-of-${id}`],
  headers: { 'x-tenant': HEADER },
  keys: [{ id: `${id}-key`, credential: CREDENTIAL }],
})

const chat = (gateway: TestGateway, model: string): Promise<Response> =>
  fetch(`${gateway.url}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${gateway.apiKey}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model, messages: [{ role: 'user', content: 'hello' }] }),
  })

const statusBecomes = (gateway: TestGateway, model: string, status: number): Promise<void> =>
  eventually(async () => {
    const answer = await chat(gateway, model)
    await answer.arrayBuffer()
    expect(answer.status).toBe(status)
  })

const stored = (gateway: TestGateway): Pick<GatewayOptions, 'database'> =>
  gateway.databaseUrl === null ? {} : { database: { url: gateway.databaseUrl } }

/** All that is in the database, as text; of the embedded one its files. */
async function databaseText(gateway: TestGateway): Promise<string> {
  if (gateway.databaseUrl === null) {
    const files = readdirSync(gateway.dataDir, { recursive: true, withFileTypes: true })
    const kept = files.filter((file) => file.isFile() && file.name !== 'test-config.yaml')
    return kept.map((file) => readFileSync(join(file.parentPath, file.name), 'latin1')).join('\n')
  }
  const client = new pg.Client({ connectionString: gateway.databaseUrl })
  await client.connect()
  try {
    const tables = await client.query<{ name: string }>(
      `SELECT format('%I', table_name) AS name FROM information_schema.tables WHERE table_schema = 'public'`,
    )
    const texts: string[] = []
    for (const { name } of tables.rows) {
      const { rows } = await client.query<{ row: string }>(`SELECT t::text AS row FROM ${name} t`)
      texts.push(...rows.map(({ row }) => row))
    }
    return texts.join('\n')
  } finally {
    await client.end()
  }
}

describe('what was made', () => {
  const logFile = (): string => join(dataDir, 'gateway.log')
  const config = (): Record<string, unknown> => ({
    ...WITH_SIMULATOR,
    log: { level: 'debug', file: logFile() },
  })
  /** Other secrets than those of before. */
  const env = { SLUICE_SECRET_KEY_HASH: randomBytes(32).toString('base64') }
  let dataDir: string
  let first: TestGateway
  let second: TestGateway
  /** Of the first gateway: an upstream as it told it, and all that was written by its end. */
  let before: unknown
  let places: readonly string[]

  beforeAll(async () => {
    dataDir = directory()
    copyMadeDatabase(dataDir)
    first = await start({ dataDir, config: config() })
    const admin = await ManagementClient.ofAdmin(first)
    const { headers: _, ...plain } = upstream('sealed') as { headers: object }
    for (const body of [upstream('kept'), plain, upstream('with-headers'), upstream('both')])
      await admin.expect('adminCreateUpstream', 201, { body })
    await admin.expect('adminUpdateModel', 200, {
      params: { id: 'model-of-kept' },
      body: { prices: { input: 1, output: 2 }, aliases: ['also-kept'] },
    })
    for (const id of ['kept', 'sealed', 'both']) await statusBecomes(first, `model-of-${id}`, 200)
    await admin.expect('adminTestUpstream', 200, { params: { id: 'kept' }, body: {} })
    before = (await admin.expect('adminGetUpstream', 200, { params: { id: 'kept' } })).json
    await stop(first)
    places = [await databaseText(first), readFileSync(logFile(), 'latin1'), first.output]

    second = await start({
      dataDir,
      config: config(),
      upstreams: [
        { id: 'filed', dialect: 'openai-chat', baseUrl: `${simulator.origin}/v1`, models: ['m'] },
        { id: 'both', dialect: 'openai-chat', baseUrl: `${simulator.origin}/v1`, models: ['of-file'] },
      ],
      ...stored(first),
    })
  }, 180_000)

  it('is kept over a restart; secrets are in clear neither in the database nor in the log', async () => {
    for (const text of places) for (const secret of [CREDENTIAL, HEADER]) expect(text.includes(secret)).toBe(false)
    expect(places[0]).toContain('model-of-kept')
    await statusBecomes(second, 'also-kept', 200)
    expect(simulator.requests().at(-1)).toMatchObject({ credential: CREDENTIAL, headers: { 'x-tenant': HEADER } })
    const admin = await ManagementClient.ofAdmin(second)
    expect((await admin.expect('adminGetUpstream', 200, { params: { id: 'kept' } })).json).toEqual(before)
  }, 120_000)

  it('gives way to what the configuration file says under the same ids', async () => {
    await statusBecomes(second, 'of-file', 200)
    await statusBecomes(second, 'model-of-both', 404)
    const admin = await ManagementClient.ofAdmin(second)
    expect(await listed(admin, ['both'])).toMatchObject([
      { id: 'both', source: 'file', state: 'active' },
      { id: 'both', source: 'stored', state: 'shadowed' },
    ])
    await admin.expect('adminUpdateUpstream', 409, { params: { id: 'both' }, body: {} })
    await admin.expect('adminDeleteUpstream', 204, { params: { id: 'both' } })
    await admin.expect('adminDeleteUpstream', 409, { params: { id: 'both' } })
  }, 120_000)

  itLater(
    'goes on without a credential that was sealed with another secret, and says so',
    async () => {
      await stop(second)
      const database = first.databaseUrl === null ? {} : { DATABASE_URL: first.databaseUrl }
      const program = { cwd: dataDir, env: { ...env, ...database, SLUICE_DATA_DIR: dataDir } }
      expect(await sluice(['adopt-secrets'], program)).toMatchObject({ code: 0 })
      const third = await start({ dataDir, env, ...stored(first) })
      const admin = await ManagementClient.ofAdmin(third)
      expect(await listed(admin, ['filed', 'sealed', 'with-headers'])).toMatchObject([
        { id: 'filed' },
        {
          id: 'sealed',
          state: 'active',
          keys: [{ id: 'sealed-key', state: 'unreadable', credential_masked: '…read' }],
        },
        { id: 'with-headers', state: 'invalid', keys: [{ state: 'unreadable' }] },
      ])
      expect(third.output).toContain('encrypted with another secret')
      await statusBecomes(third, 'm', 200)
      await statusBecomes(third, 'model-of-sealed', 404)

      const params = { id: 'sealed', keyId: 'sealed-key' }
      await admin.expect('adminUpdateUpstreamKey', 200, { params, body: { name: 'still unreadable' } })
      const mended = await admin.expect('adminUpdateUpstreamKey', 200, { params, body: { credential: 'another-one' } })
      expect(mended.json).toMatchObject({ state: 'active', name: 'still unreadable' })
      await statusBecomes(third, 'model-of-sealed', 200)
      const withHeaders = { id: 'with-headers' }
      await admin.expect('adminUpdateUpstream', 400, { params: withHeaders, body: { name: 'x' } })
      await admin.expect('adminUpdateUpstream', 200, { params: withHeaders, body: { headers: null } })
      await stop(third)
    },
    120_000,
  )

  itLater(
    'is left out where its address is private and the file does not list it any more, which the log says',
    async () => {
      const before = simulator.requests().length
      const fourth = await start({ dataDir, env, config: {}, ...stored(first) })
      const admin = await ManagementClient.ofAdmin(fourth)
      expect(await listed(admin, ['kept', 'sealed'])).toMatchObject([
        { id: 'kept', state: 'invalid' },
        { id: 'sealed', state: 'invalid' },
      ])
      expect(fourth.output).toMatch(
        /upstream sealed: base_url of upstream sealed must begin with https:.*private_upstreams/,
      )
      await statusBecomes(fourth, 'model-of-sealed', 404)
      await admin.expect('adminTestUpstream', 409, { params: { id: 'sealed' }, body: {} })
      expect(simulator.requests().length).toBe(before)
    },
    120_000,
  )
})

async function listed(admin: ManagementClient, ids: readonly string[]): Promise<unknown[]> {
  const { json } = await admin.expect('adminListUpstreams', 200)
  return (json['data'] as Array<{ id: string }>).filter(({ id }) => ids.includes(id))
}

it.runIf(inject('database') === 'postgres' && inject('tier') === 'long')(
  'is the same for all gateways of one database, soon after it was changed at one',
  async () => {
    const database = { url: await createTestDatabase(inject('postgresUrl')) }
    const env = {
      SLUICE_SECRET_KEY_HASH: randomBytes(32).toString('base64'),
      SLUICE_SECRET_JWT: `test:${randomBytes(32).toString('base64')}`,
    }
    const one = await start({ database, env })
    const other = await start({ database, env, fronts: 2 })
    const admin = await ManagementClient.ofAdmin(one)
    await admin.expect('adminCreateUpstream', 201, { body: upstream('shared') })
    await statusBecomes(other, 'model-of-shared', 200)
    expect(simulator.requests().at(-1)).toMatchObject({ credential: CREDENTIAL })

    const atOther = new ManagementClient(other.url, admin.token)
    const params = { id: 'shared', keyId: 'shared-key' }
    await atOther.expect('adminUpdateUpstreamKey', 200, { params, body: { credential: 'changed-at-the-other-one' } })
    await eventually(async () => {
      await (await chat(one, 'model-of-shared')).arrayBuffer()
      expect(simulator.requests().at(-1)).toMatchObject({ credential: 'changed-at-the-other-one' })
    })
    await atOther.expect('adminUpdateModel', 200, { params: { id: 'm' }, body: { aliases: ['m-too'] } })
    await statusBecomes(one, 'm-too', 200)
    await admin.expect('adminDeleteUpstream', 204, { params })
    await statusBecomes(other, 'model-of-shared', 404)
  },
  120_000,
)
