import { once } from 'node:events'
import { request } from 'node:http'
import type { IncomingMessage } from 'node:http'
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, expect, inject, it } from 'vitest'
import type { Simulator } from '../../src/simulator/simulator.ts'
import { startSimulator } from '../../src/simulator/simulator.ts'
import { isAlive, processIdentity } from '../../src/shared/runtime/data-directory.ts'
import { eventually } from '../support/eventually.ts'
import type { GatewayOptions, LogRow, TestGateway } from '../support/gateway.ts'
import { spawnGateway, startGateway } from '../support/gateway.ts'
import { Load, isServed } from '../support/load.ts'
import { readStoredLog } from '../support/stored-log.ts'
import { itLater } from '../support/dose.ts'

const FRONTS = 2
const ANNOUNCE_MS = 1_500

let simulator: Simulator | null = null
let gateway: TestGateway | null = null

afterEach(async () => {
  await gateway?.stop()
  if (gateway !== null) rmSync(gateway.dataDir, { recursive: true, force: true })
  await simulator?.close()
  gateway = null
  simulator = null
})

it.each(inject('tier') === 'long' ? (['SIGTERM', 'SIGINT'] as const) : (['SIGTERM'] as const))(
  'fails no request when %s comes under load, and has every row afterwards',
  async (signal) => {
    const [running, upstream] = await start({ drain_announce_ms: ANNOUNCE_MS, drain_timeout_ms: 60_000 })
    const load = new Load({
      url: running.url,
      apiKey: running.apiKey,
      clients: 12,
      name: signal,
      // Long ones are still under way when the listener closes.
      message: (n) =>
        n % 2 === 1
          ? `hi [[sim {"tokens":20,"eventsPerSecond":${n % 5 === 0 ? 8 : 100}}]]`
          : `hi [[sim {"ttftMs":${n % 10 === 0 ? 2_500 : 60}}]]`,
      isStream: (n) => n % 2 === 1,
    })
    await eventually(() => expect(load.served).toBeGreaterThanOrEqual(40))

    running.signal(signal)
    await eventually(async () => expect(await readiness(running)).toBe(503))
    // Like a balancer: what is under way ends, nothing new comes.
    const inFlight = load.inFlight
    const stopped = load.stop()
    expect(await running.end(signal)).toBe(0)
    const fates = await stopped

    expect(inFlight).toBeGreaterThan(0)
    expect(fates.filter((fate) => !isServed(fate))).toEqual([])
    expect(upstream.ledger.totals).toMatchObject({ aborted: 0, inFlight: 0, ok: fates.length })
    const rows = signal === 'SIGTERM' ? await rowsAfterRestart(running, upstream) : await storedRows(running)
    expect(rows.map(({ client_request_id }) => client_request_id).sort()).toEqual(fates.map(({ id }) => id).sort())
    expect(rows.filter(({ settlement, status }) => settlement !== 'exact' || status !== 200)).toEqual([])
  },
  240_000,
)

itLater(
  'cuts a stream that outlasts drain_timeout_ms, records it, and leaves its upstream',
  async () => {
    const [running, upstream] = await start({ drain_announce_ms: 10, drain_timeout_ms: 700 })
    const endless = await openStream(running, 'endless', '[[sim {"tokens":5000,"eventsPerSecond":20}]]')
    const cut = readAll(endless)
    expect(await running.end('SIGTERM')).toBe(0)
    const { text, isWhole } = await cut
    expect(text).toContain('data: {')
    expect(text).not.toContain('[DONE]')
    expect(isWhole).toBe(false)
    await eventually(() => expect(upstream.ledger.totals).toMatchObject({ aborted: 1, inFlight: 0 }))

    const { rows, open, segments } = await readStoredLog(running.dataDir, running.databaseUrl)
    expect(rows).toMatchObject([{ client_request_id: 'endless', status: 200, aborted: true, stream: true }])
    expect(rows[0]?.settlement).not.toBe('interrupted')
    expect(rows[0]?.completion_tokens).toBeGreaterThan(0)
    expect({ open, segments }).toEqual({ open: 0, segments: [] })
  },
  180_000,
)

itLater(
  'takes further signals for what they are: impatience',
  async () => {
    const [running] = await start({ drain_announce_ms: 300, drain_timeout_ms: 60_000 })
    const stream = await openStream(running, 'patient', '[[sim {"tokens":30,"eventsPerSecond":20}]]')
    const whole = readAll(stream)
    running.signal('SIGTERM')
    await eventually(async () => expect(await readiness(running)).toBe(503))
    running.signal('SIGTERM')
    running.signal('SIGINT')
    for (const { pid } of running.children()) process.kill(pid, 'SIGTERM')
    expect(await running.end('SIGTERM')).toBe(0)
    const { text, isWhole } = await whole
    expect(text).toContain('data: [DONE]')
    expect(isWhole).toBe(true)
  },
  180_000,
)

itLater(
  'lets a slow reader have the whole of its answer',
  async () => {
    const [running] = await start({ drain_announce_ms: 10, drain_timeout_ms: 30_000 })
    const stream = await openStream(running, 'slow', '[[sim {"tokens":120000}]]')
    stream.pause()
    // The upstream has no more to say or is held back: either way much of the answer waits for its reader.
    running.signal('SIGTERM')
    await eventually(async () => {
      const refused = await readiness(running).catch(() => 'closed')
      expect(refused).toBe('closed')
    })
    const { text, isWhole } = await readAll(stream)
    expect(text.trimEnd().endsWith('data: [DONE]')).toBe(true)
    expect(isWhole).toBe(true)
    expect(await running.end('SIGTERM')).toBe(0)
  },
  180_000,
)

it('ends at once when it is told to before it is ready', async () => {
  const dataDir = mkdtempSync(join(tmpdir(), 'sluice-early-'))
  const { child, output } = spawnGateway([], { PORT: '0', HOST: '127.0.0.1', SLUICE_DATA_DIR: dataDir })
  const exited = once(child, 'exit')
  // The control process has taken its lock and is about to make the database.
  await eventually(() => expect(existsSync(join(dataDir, 'control'))).toBe(true), { everyMs: 5 })
  child.kill('SIGTERM')
  expect(await exited).toEqual([0, null])
  expect(output()).not.toContain('Sluice is ready')
  rmSync(dataDir, { recursive: true, force: true })
}, 180_000)

it('leaves no process behind when the supervisor is killed, ready or not', async () => {
  const dataDir = mkdtempSync(join(tmpdir(), 'sluice-orphans-'))
  const { child } = spawnGateway([], { PORT: '0', HOST: '127.0.0.1', SLUICE_DATA_DIR: dataDir })
  await eventually(() => expect(existsSync(join(dataDir, 'control'))).toBe(true), { everyMs: 5, timeoutMs: 60_000 })
  const early = childrenOf(child.pid ?? 0).map(processIdentity)
  child.kill('SIGKILL')
  const [running] = await start({})
  const late = running.children().map(({ pid }) => processIdentity(pid))
  await running.end('SIGKILL')

  expect(early.length).toBeGreaterThanOrEqual(2)
  expect(late).toHaveLength(FRONTS + 1)
  await eventually(() => expect([...early, ...late].filter(isAlive)).toEqual([]), {
    timeoutMs: 60_000,
  })
  rmSync(dataDir, { recursive: true, force: true })
}, 180_000)

type Row = Pick<LogRow, 'client_request_id' | 'settlement' | 'status'>

async function rowsAfterRestart(stopped: TestGateway, upstream: Simulator): Promise<readonly Row[]> {
  const again = await startGateway({ ...optionsFor(upstream, {}), dataDir: stopped.dataDir, ...databaseOf(stopped) })
  try {
    return await again.logRows()
  } finally {
    await again.stop()
  }
}

async function storedRows({ dataDir, databaseUrl }: TestGateway): Promise<readonly Row[]> {
  return (await readStoredLog(dataDir, databaseUrl)).rows
}

function childrenOf(pid: number): number[] {
  return readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ').map(Number)
}

async function start(server: Record<string, number>): Promise<[TestGateway, Simulator]> {
  simulator = await startSimulator()
  gateway = await startGateway(optionsFor(simulator, server))
  return [gateway, simulator]
}

function optionsFor(upstream: Simulator, server: Record<string, number>): GatewayOptions {
  return {
    config: { server: { fronts: FRONTS, ...server } },
    upstreams: [{ dialect: 'openai-chat', baseUrl: `${upstream.origin}/v1`, models: ['m'] }],
  }
}

function databaseOf({ databaseUrl }: TestGateway): Pick<GatewayOptions, 'database'> {
  return databaseUrl === null ? {} : { database: { url: databaseUrl } }
}

async function readiness({ url }: TestGateway): Promise<number> {
  const response = await fetch(`${url}/health/ready`, { headers: { connection: 'close' } })
  await response.arrayBuffer()
  return response.status
}

/** A stream of which the head has come. */
async function openStream({ url, apiKey }: TestGateway, id: string, content: string): Promise<IncomingMessage> {
  const outgoing = request(`${url}/v1/chat/completions`, {
    method: 'POST',
    agent: false,
    headers: {
      authorization: `Bearer ${apiKey}`,
      'content-type': 'application/json',
      'x-client-request-id': id,
    },
  })
  outgoing.end(JSON.stringify({ model: 'm', stream: true, user: id, messages: [{ role: 'user', content }] }))
  const [incoming] = (await once(outgoing, 'response')) as [IncomingMessage]
  return incoming
}

async function readAll(incoming: IncomingMessage): Promise<{ text: string; isWhole: boolean }> {
  let text = ''
  try {
    for await (const chunk of incoming as AsyncIterable<Buffer>) text += chunk.toString('latin1')
  } catch {
    // Cut: what came counts.
  }
  return { text, isWhole: incoming.complete }
}
