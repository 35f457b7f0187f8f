import { once } from 'node:events'
import { request } from 'node:http'
import type { IncomingMessage } from 'node:http'
import { mkdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { generateApiKey } from '../../src/shared/core/api-key.ts'
import type { Simulator } from '../../src/simulator/simulator.ts'
import { startSimulator } from '../../src/simulator/simulator.ts'
import { dose, itLater } from '../support/dose.ts'
import { eventually } from '../support/eventually.ts'
import { ScriptedServer } from '../support/scripted-server.ts'
import type { Scene } from '../support/scripted-server.ts'
import { ANNOUNCE_MS, SuccessiveGateways, migrateRequests } from '../support/successive-gateways.ts'
import type { SuccessiveOptions } from '../support/successive-gateways.ts'

const CONNECTIONS = dose('SLUICE_TEST_RESTART_CONNECTIONS', { short: 300, long: 5_000 })
const RATE = dose('SLUICE_TEST_RESTART_RATE', { short: 50, long: 500 })
const RESTARTS = dose('SLUICE_TEST_RESTARTS', { short: 1, long: 3 })

/** Of a key: requests per minute, and how many of them are left when one gateway replaces another. */
const SCARCE = 30
const LEFT = 10
let setBack = (): void => undefined

beforeAll(() => {
  setBack = migrateRequests()
})

afterAll(() => {
  setBack()
})

let simulator: Simulator | null = null
let gateways: SuccessiveGateways | null = null

afterEach(async () => {
  await gateways?.current.stop()
  if (gateways !== null) rmSync(gateways.current.dataDir, { recursive: true, force: true })
  await simulator?.close()
  gateways = null
  simulator = null
})

it('loses no connection when gateways replace each other on one port and data directory', async () => {
  gateways = await SuccessiveGateways.start(await simulated())
  await gateways.expectNoneLost({ connections: CONNECTIONS, rate: RATE, restarts: RESTARTS })
}, 900_000)

itLater(
  'counts what the gateway before has let in',
  async () => {
    const [single, scarce] = [generateApiKey(), generateApiKey()]
    const keys = [
      { name: 'single', key: single, max_concurrency: 1 },
      { name: 'scarce', key: scarce, rpm: SCARCE },
    ]
    gateways = await SuccessiveGateways.start({ ...(await simulated()), keys })
    const { url } = gateways.current
    const stream = await ask(url, single, true, '[[sim {"tokens":100000,"eventsPerSecond":10}]]')
    expect(stream.statusCode).toBe(200)
    const before = SCARCE - LEFT
    for (let n = 0; n < before; n++) expect(await statusOf(url, scarce)).toBe(200)

    const leaving = await gateways.replace({ isLast: true })
    // A front of the gateway before may hold some of what is left: it counts as used.
    let served = 0
    for (let n = 0; n < 2 * LEFT; n++) if ((await statusOf(url, scarce)) === 200) served += 1
    expect(served).toBeLessThanOrEqual(LEFT)
    expect(await statusOf(url, single)).toBe(429)
    stream.destroy()
    await eventually(async () => expect(await statusOf(url, single)).toBe(200))
    expect(await leaving.over()).toBe(0)
  },
  300_000,
)

itLater(
  'counts what was let in before a stop and a start',
  async () => {
    const scarce = generateApiKey()
    const keys = [{ name: 'scarce', key: scarce, rpm: SCARCE }]
    gateways = await SuccessiveGateways.start({ ...(await simulated()), announceMs: 0, keys })
    for (let n = 0; n < SCARCE - LEFT; n++) expect(await statusOf(gateways.current.url, scarce)).toBe(200)
    await gateways.restart()
    let served = 0
    for (let n = 0; n < SCARCE; n++) if ((await statusOf(gateways.current.url, scarce)) === 200) served += 1
    expect(served).toBe(LEFT)
  },
  300_000,
)

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

  const streaming = async ({ announceMs = ANNOUNCE_MS } = {}) => {
    const { scene, finish } = heldStream()
    upstream.script(scene)
    gateways = await SuccessiveGateways.start({
      upstreams: [{ dialect: 'openai-chat', baseUrl: upstream.url, models: ['m'] }],
      announceMs,
    })
    const { current } = gateways
    return { gateways, finish, stream: await ask(current.url, current.apiKey, true, 'hi') }
  }

  it('comes to its end after another gateway has taken over', { timeout: 300_000 }, async () => {
    const { gateways, stream, finish } = await streaming()
    const leaving = await gateways.replace({ isLast: true })
    finish()
    expect(await textOf(stream)).toContain('[DONE]')
    expect(await leaving.over()).toBe(0)
  })

  itLater('comes to its end when the data directory cannot be written', { timeout: 300_000 }, async () => {
    const { gateways, stream, finish } = await streaming({ announceMs: 0 })
    const leaving = gateways.current
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

async function simulated(): Promise<SuccessiveOptions> {
  const { origin } = (simulator = await startSimulator())
  return { upstreams: [{ dialect: 'openai-chat', baseUrl: `${origin}/v1`, models: ['m'] }] }
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
