import { randomBytes } from 'node:crypto'
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import { afterAll, afterEach, beforeAll, expect, inject, it } from 'vitest'
import type { Simulator } from '../../../src/simulator/simulator.ts'
import { startSimulator } from '../../../src/simulator/simulator.ts'
import { eventually } from '../../support/eventually.ts'
import type { GatewayOptions, TestGateway } from '../../support/gateway.ts'
import { startGateway } from '../../support/gateway.ts'
import { ManagementClient } from '../../support/management-client.ts'
import { createTestDatabase } from '../../support/test-database.ts'

const CREDENTIAL = 'a-credential-that-nobody-else-may-read'
const HEADER = 'a-header-that-nobody-else-may-read'

let simulator: Simulator
const running = new Set<TestGateway>()
const directories: string[] = []

beforeAll(async () => {
  simulator = await startSimulator()
})

afterEach(async () => {
  await Promise.all([...running].map((gateway) => gateway.stop()))
  running.clear()
  for (const directory of directories.splice(0)) rmSync(directory, { recursive: true, force: true })
})

afterAll(async () => {
  await simulator.close()
})

async function start(options: GatewayOptions = {}): Promise<TestGateway> {
  const gateway = await startGateway({
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

it('keeps what was made over a restart; secrets are in clear neither in the database nor in the log', async () => {
  const dataDir = directory()
  const logFile = join(dataDir, 'gateway.log')
  const config = { log: { level: 'debug', file: logFile } }
  const first = await start({ dataDir, config })
  const admin = await ManagementClient.ofAdmin(first)
  await admin.expect('adminCreateUpstream', 201, { body: upstream('kept') })
  await admin.expect('adminUpdateModel', 200, {
    params: { id: 'model-of-kept' },
    body: { prices: { input: 1, output: 2 }, aliases: ['also-kept'] },
  })
  await statusBecomes(first, 'model-of-kept', 200)
  await admin.expect('adminTestUpstream', 200, { params: { id: 'kept' }, body: {} })
  const { json: before } = await admin.expect('adminGetUpstream', 200, { params: { id: 'kept' } })
  await stop(first)

  const inClear = [CREDENTIAL, HEADER]
  const places = [await databaseText(first), readFileSync(logFile, 'latin1'), first.output]
  for (const text of places) for (const secret of inClear) expect(text.includes(secret)).toBe(false)
  expect(places[0]).toContain('model-of-kept')

  const second = await start({ dataDir, config, ...stored(first) })
  await statusBecomes(second, 'also-kept', 200)
  expect(simulator.requests().at(-1)).toMatchObject({ credential: CREDENTIAL, headers: { 'x-tenant': HEADER } })
  const again = await ManagementClient.ofAdmin(second)
  expect((await again.expect('adminGetUpstream', 200, { params: { id: 'kept' } })).json).toEqual(before)
}, 120_000)

it('goes on without a credential that was sealed with another secret, and says so', async () => {
  const dataDir = directory()
  const first = await start({ dataDir })
  const admin = await ManagementClient.ofAdmin(first)
  const { headers: _, ...plain } = upstream('sealed') as { headers: object }
  await admin.expect('adminCreateUpstream', 201, { body: plain })
  await admin.expect('adminCreateUpstream', 201, { body: upstream('with-headers') })
  await statusBecomes(first, 'model-of-sealed', 200)
  await stop(first)

  const env = { SLUICE_SECRET_KEY_HASH: randomBytes(32).toString('base64') }
  const second = await start({ dataDir, env, ...stored(first) })
  const again = await ManagementClient.ofAdmin(second)
  const { json } = await again.expect('adminListUpstreams', 200)
  expect(json['data']).toMatchObject([
    { id: 'filed' },
    { id: 'sealed', state: 'active', keys: [{ id: 'sealed-key', state: 'unreadable', credential_masked: '…read' }] },
    { id: 'with-headers', state: 'invalid', keys: [{ state: 'unreadable' }] },
  ])
  expect(second.output).toContain('sealed with another secret')
  await statusBecomes(second, 'm', 200)
  await statusBecomes(second, 'model-of-sealed', 404)

  const params = { id: 'sealed', keyId: 'sealed-key' }
  await again.expect('adminUpdateUpstreamKey', 200, { params, body: { name: 'still unreadable' } })
  const mended = await again.expect('adminUpdateUpstreamKey', 200, { params, body: { credential: 'another-one' } })
  expect(mended.json).toMatchObject({ state: 'active', name: 'still unreadable' })
  await statusBecomes(second, 'model-of-sealed', 200)
  const withHeaders = { id: 'with-headers' }
  await again.expect('adminUpdateUpstream', 400, { params: withHeaders, body: { name: 'x' } })
  await again.expect('adminUpdateUpstream', 200, { params: withHeaders, body: { headers: null } })
}, 120_000)

it('gives way to what the configuration file says under the same ids', async () => {
  const dataDir = directory()
  const first = await start({ dataDir })
  const admin = await ManagementClient.ofAdmin(first)
  await admin.expect('adminCreateUpstream', 201, { body: upstream('both') })
  await statusBecomes(first, 'model-of-both', 200)
  await stop(first)

  const filed = { id: 'both', dialect: 'openai-chat', baseUrl: `${simulator.origin}/v1`, models: ['of-file'] } as const
  const second = await start({ dataDir, upstreams: [filed], ...stored(first) })
  await statusBecomes(second, 'of-file', 200)
  await statusBecomes(second, 'model-of-both', 404)
  const again = await ManagementClient.ofAdmin(second)
  const { json } = await again.expect('adminListUpstreams', 200)
  expect(json['data']).toMatchObject([
    { id: 'both', source: 'file', state: 'active' },
    { id: 'both', source: 'stored', state: 'shadowed' },
  ])
  await again.expect('adminUpdateUpstream', 409, { params: { id: 'both' }, body: {} })
  await again.expect('adminDeleteUpstream', 204, { params: { id: 'both' } })
  await again.expect('adminDeleteUpstream', 409, { params: { id: 'both' } })
}, 120_000)

it.runIf(inject('database') === 'postgres')(
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
