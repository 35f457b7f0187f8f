import { once } from 'node:events'
import { request } from 'node:http'
import type { IncomingMessage } from 'node:http'
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { generateApiKey } from '../../src/shared/core/api-key.ts'
import type { Simulator } from '../../src/simulator/simulator.ts'
import { startSimulator } from '../../src/simulator/simulator.ts'
import { dose } from '../support/dose.ts'
import { eventually } from '../support/eventually.ts'
import type { GatewayOptions, TestGateway } from '../support/gateway.ts'
import { startGateway } from '../support/gateway.ts'
import { NewConnections } from '../support/new-connections.ts'
import { ScriptedServer } from '../support/scripted-server.ts'
import type { Scene } from '../support/scripted-server.ts'
import { readStoredLog } from '../support/stored-log.ts'

const CONNECTIONS = dose('SLUICE_TEST_RESTART_CONNECTIONS', { short: 300, long: 5_000 })
const RATE = dose('SLUICE_TEST_RESTART_RATE', { short: 50, long: 500 })
const RESTARTS = dose('SLUICE_TEST_RESTARTS', { short: 1, long: 3 })
/** Of a key: requests per minute, and how many of them are left when one gateway replaces another. */
const SCARCE = 30
const LEFT = 10
/** Until the next one has begun; on a busy machine that takes its time. */
const ANNOUNCE_MS = 30_000

/** Linux then gives connections that nobody has accepted yet to the next listener: docs/operation.md, "Restart". */
const MIGRATE_REQUESTS = '/proc/sys/net/ipv4/tcp_migrate_req'
let migratesBefore: string | null = null

beforeAll(() => {
  try {
    const before = readFileSync(MIGRATE_REQUESTS, 'utf8')
    writeFileSync(MIGRATE_REQUESTS, '1')
    migratesBefore = before
  } catch {
    console.log(`${MIGRATE_REQUESTS} cannot be set: one of 250 restarts may reset a connection`)
  }
})

afterAll(() => {
  if (migratesBefore !== null) writeFileSync(MIGRATE_REQUESTS, migratesBefore)
})

let simulator: Simulator | null = null
let gateway: TestGateway | null = null

afterEach(async () => {
  await gateway?.stop()
  if (gateway !== null) rmSync(gateway.dataDir, { recursive: true, force: true })
  await simulator?.close()
  gateway = null
  simulator = null
})

it('loses no connection when gateways replace each other on one port and data directory', async () => {
  const options = await optionsOf()
  let serving = (gateway = await startGateway(options(ANNOUNCE_MS)))
  const { url, apiKey } = serving
  const load = new NewConnections({ url, apiKey, rate: RATE, name: 'connection' })
  for (let restart = 1; restart <= RESTARTS; restart++) {
    const leaving = serving
    serving = gateway = await replace(leaving, options(restart < RESTARTS ? ANNOUNCE_MS : 0))
    expect(await leaving.over()).toBe(0)
    const goal = (CONNECTIONS / RESTARTS) * restart
    await eventually(() => expect(load.over).toBeGreaterThanOrEqual(goal), { timeoutMs: 300_000 })
  }
  await load.stop()
  console.log(`${load.over} connections, ${RESTARTS} restarts, longest pause ${load.longestPauseMs} ms`)

  expect(load.failures).toEqual([])
  expect(await serving.end('SIGTERM')).toBe(0)
  const { rows, open, segments } = await readStoredLog(serving.dataDir, serving.databaseUrl)
  expect(rows.map(({ client_request_id }) => client_request_id).sort()).toEqual(load.answered.sort())
  expect(rows.filter(({ settlement }) => settlement === 'interrupted')).toEqual([])
  expect({ open, segments }).toEqual({ open: 0, segments: [] })
}, 900_000)

it('counts what the gateway before has let in', async () => {
  const options = await optionsOf()
  const [single, scarce] = [generateApiKey(), generateApiKey()]
  const keys = [
    { name: 'single', key: single, max_concurrency: 1 },
    { name: 'scarce', key: scarce, rpm: SCARCE },
  ]
  const leaving = (gateway = await startGateway({ ...options(ANNOUNCE_MS), keys }))
  const stream = await ask(leaving.url, single, true, '[[sim {"tokens":100000,"eventsPerSecond":10}]]')
  expect(stream.statusCode).toBe(200)
  const before = SCARCE - LEFT
  for (let n = 0; n < before; n++) expect(await statusOf(leaving.url, scarce)).toBe(200)

  const serving = (gateway = await replace(leaving, { ...options(0), keys }))
  // A front of the gateway before may hold some of what is left: it counts as used.
  let served = 0
  for (let n = 0; n < 2 * LEFT; n++) if ((await statusOf(serving.url, scarce)) === 200) served += 1
  expect(served).toBeLessThanOrEqual(LEFT)
  expect(await statusOf(serving.url, single)).toBe(429)
  stream.destroy()
  await eventually(async () => expect(await statusOf(serving.url, single)).toBe(200))
  expect(await leaving.over()).toBe(0)
}, 300_000)

/** Writes the beginning of a stream, and the rest when `finish` is called. */
function heldStream(): { readonly scene: Scene; readonly finish: () => void } {
  let finish = (): void => undefined
  const finished = new Promise<void>((resolve) => (finish = resolve))
  const chunk = (content: string, reason: string | null): string =>
    `data: ${JSON.stringify({ id: 'c', object: 'chat.completion.chunk', created: 1, model: 'held', choices: [{ index: 0, delta: { content }, finish_reason: reason }] })}\n\n`
  const scene: Scene = async (response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    response.write(chunk('first', null))
    await finished
    response.end(`${chunk(' last', 'stop')}data: [DONE]\n\n`)
  }
  return { scene, finish }
}

describe('a stream that is under way', () => {
  let upstream: ScriptedServer

  beforeEach(async () => {
    upstream = await ScriptedServer.start()
  })
  afterEach(() => upstream.close())

  const streaming = async (announceMs: number) => {
    const { scene, finish } = heldStream()
    upstream.script(scene)
    const options = (drain_announce_ms: number): GatewayOptions => ({
      config: { server: { fronts: 1, drain_announce_ms, drain_timeout_ms: 120_000 } },
      upstreams: [{ dialect: 'openai-chat', baseUrl: upstream.url, models: ['m'] }],
    })
    const leaving = (gateway = await startGateway(options(announceMs)))
    return { leaving, options, finish, stream: await ask(leaving.url, leaving.apiKey, true, 'hi') }
  }

  it('comes to its end after another gateway has taken over', { timeout: 300_000 }, async () => {
    const { leaving, options, stream, finish } = await streaming(ANNOUNCE_MS)
    gateway = await replace(leaving, options(0))
    finish()
    expect(await textOf(stream)).toContain('[DONE]')
    expect(await leaving.over()).toBe(0)
  })

  it('comes to its end when the data directory cannot be written', { timeout: 300_000 }, async () => {
    const { leaving, stream, finish } = await streaming(0)
    // The offer to other gateways is written to a file of this name first.
    mkdirSync(join(leaving.dataDir, `leaving-${leaving.pid}.new`))
    leaving.signal('SIGTERM')
    await eventually(() => expect(leaving.output).toContain('no other gateway can take over'))
    finish()
    expect(await textOf(stream)).toContain('[DONE]')
    expect(await leaving.over()).toBe(0)
  })
})

async function textOf(stream: IncomingMessage): Promise<string> {
  let text = ''
  for await (const chunk of stream) text += String(chunk)
  return text
}

async function optionsOf(): Promise<(announceMs: number) => GatewayOptions> {
  const { origin } = (simulator = await startSimulator())
  return (announceMs) => ({
    config: { server: { fronts: 1, drain_announce_ms: announceMs, drain_timeout_ms: 120_000 } },
    upstreams: [{ dialect: 'openai-chat', baseUrl: `${origin}/v1`, models: ['m'] }],
  })
}

/** Tells one gateway to end, and starts the next in its place at once. */
function replace(leaving: TestGateway, options: GatewayOptions): Promise<TestGateway> {
  const { dataDir, apiKey, port, databaseUrl } = leaving
  leaving.signal('SIGTERM')
  return startGateway({
    ...options,
    dataDir,
    apiKey,
    env: { PORT: String(port) },
    ...(databaseUrl === null ? {} : { database: { url: databaseUrl } }),
  })
}

async function ask(url: string, key: string, stream: boolean, content: string): Promise<IncomingMessage> {
  const outgoing = request(`${url}/v1/chat/completions`, {
    method: 'POST',
    agent: false,
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json', connection: 'close' },
  })
  outgoing.end(JSON.stringify({ model: 'm', stream, messages: [{ role: 'user', content }] }))
  const [incoming] = (await once(outgoing, 'response')) as [IncomingMessage]
  return incoming
}

async function statusOf(url: string, key: string): Promise<number> {
  const incoming = await ask(url, key, false, 'hi')
  incoming.resume()
  await once(incoming, 'end')
  return incoming.statusCode ?? 0
}
