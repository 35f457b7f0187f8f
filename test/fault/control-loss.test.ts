import { afterAll, beforeAll, expect, inject, it } from 'vitest'
import type { Simulator } from '../../src/simulator/simulator.ts'
import { startSimulator } from '../../src/simulator/simulator.ts'
import { dose, itLater } from '../support/dose.ts'
import { eventually } from '../support/eventually.ts'
import type { TestGateway } from '../support/gateway.ts'
import { startGateway } from '../support/gateway.ts'
import { Load, isServed } from '../support/load.ts'
import { killChild, recovered } from '../support/nemesis.ts'

const FRONTS = 2
const KILLS = dose('SLUICE_TEST_CONTROL_KILLS', { short: 1, long: 5 })

let simulator: Simulator
let gateway: TestGateway

beforeAll(async () => {
  simulator = await startSimulator()
  gateway = await startGateway({
    fronts: FRONTS,
    upstreams: [{ dialect: 'openai-chat', baseUrl: `${simulator.origin}/v1`, models: ['m'] }],
  })
})

afterAll(async () => {
  await gateway.stop()
  await simulator.close()
})

it('fails no request while the control process is killed over and over, and management comes back', async () => {
  const load = startLoad('control-loss')
  const readiness: number[] = []
  const refusals: Array<{ status: number; code: string }> = []
  for (let kill = 0; kill < KILLS; kill++) {
    const goal = load.served + 10
    await eventually(() => expect(load.served).toBeGreaterThanOrEqual(goal))
    await killChild(gateway, 'control', controlPid())
    readiness.push(await statusOf('/health/ready'))
    refusals.push(await refusalOf('/v1/admin/logs'))
    await recovered(gateway, FRONTS)
    readiness.push(await statusOf('/health/ready'))
  }
  const fates = await load.stop()

  expect(fates.filter((fate) => !isServed(fate))).toEqual([])
  expect(readiness).toEqual(Array.from({ length: 2 * KILLS }, () => 200))
  expect(refusals).toEqual(Array.from({ length: KILLS }, () => ({ status: 503, code: 'CONTROL_UNAVAILABLE' })))
  await eventually(async () => {
    const rows = await gateway.logRows()
    const ids = rows.map(({ client_request_id }) => client_request_id).filter((id) => id?.startsWith('control-loss-'))
    expect(ids.sort()).toEqual(fates.map(({ id }) => id).sort())
  })
}, 240_000)

it(
  inject('database') === 'pglite'
    ? 'keeps what the embedded database had when its process is killed in the middle of writing'
    : 'keeps what Postgres had when the process that writes to it is killed',
  async () => {
    const load = startLoad('embedded')
    await eventually(() => expect(load.served).toBeGreaterThanOrEqual(20))
    const before = await gateway.logRows()
    expect(before.length).toBeGreaterThan(0)
    await killChild(gateway, 'control', controlPid())
    await recovered(gateway, FRONTS)
    const fates = await load.stop()

    await eventually(
      async () => {
        const rows = await gateway.logRows()
        const ids = rows.map(({ id }) => id)
        expect(new Set(ids).size).toBe(ids.length)
        expect(before.filter(({ id }) => !ids.includes(id))).toEqual([])
        const clientIds = new Set(rows.map(({ client_request_id }) => client_request_id))
        expect(fates.filter(({ id }) => !clientIds.has(id))).toEqual([])
      },
      { timeoutMs: 120_000 },
    )
  },
  240_000,
)

itLater(
  'serves from fronts that start while the control process is killed as often as it comes',
  async () => {
    let isOver = false
    const killing = eventually(
      () => {
        for (const { kind, pid } of gateway.children()) if (kind === 'control') process.kill(pid, 'SIGKILL')
        if (!isOver) throw new Error('the test goes on')
      },
      { timeoutMs: 60_000 },
    )
    const fronts = gateway.children().filter(({ kind }) => kind === 'front')
    await Promise.all(fronts.map(({ pid }) => killChild(gateway, 'front', pid)))
    try {
      const answers = await eventually(() => Promise.all(Array.from({ length: 12 }, () => chat())))
      expect(answers).toEqual(answers.map(() => 200))
    } finally {
      isOver = true
      await killing
    }
    await recovered(gateway, FRONTS)
  },
  120_000,
)

async function chat(): Promise<number> {
  const response = await fetch(`${gateway.url}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${gateway.apiKey}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'm', messages: [{ role: 'user', content: 'hi' }] }),
  })
  await response.arrayBuffer()
  return response.status
}

function startLoad(name: string): Load {
  return new Load({
    url: gateway.url,
    apiKey: gateway.apiKey,
    clients: 8,
    name,
    message: (n) => (n % 2 === 0 ? 'hi [[sim {"ttftMs":60}]]' : 'hi [[sim {"tokens":20,"eventsPerSecond":100}]]'),
    isStream: (n) => n % 2 === 1,
  })
}

function controlPid(): number {
  const control = gateway.children().find(({ kind }) => kind === 'control')
  if (control === undefined) throw new Error('there is no control process')
  return control.pid
}

async function statusOf(path: string): Promise<number> {
  const response = await fetch(`${gateway.url}${path}`)
  await response.arrayBuffer()
  return response.status
}

async function refusalOf(path: string): Promise<{ status: number; code: string }> {
  const response = await fetch(`${gateway.url}${path}`)
  const body = (await response.json()) as { error: { code: string } }
  return { status: response.status, code: body.error.code }
}
