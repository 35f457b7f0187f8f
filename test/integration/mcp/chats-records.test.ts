import { afterAll, beforeAll, expect, it } from 'vitest'
import type { Behaviour } from '../../../src/simulator/behaviour.ts'
import type { Simulator } from '../../../src/simulator/simulator.ts'
import { startSimulator } from '../../../src/simulator/simulator.ts'
import { eventually } from '../../support/eventually.ts'
import { McpWorld } from '../../support/mcp-world.ts'
import type { McpUser } from '../../support/mcp-world.ts'
import { readStoredLog } from '../../support/stored-log.ts'
import { UpstreamToolServer } from '../../support/upstream-tool-server.ts'

type Json = Record<string, unknown>

let simulator: Simulator
let server: UpstreamToolServer
let world: McpWorld
let user: McpUser

beforeAll(async () => {
  simulator = await startSimulator()
  server = await UpstreamToolServer.start()
  server.tools = [{ name: 'search', description: 'Finds pages.' }]
  world = await McpWorld.start({
    upstreams: [{ id: 'up', dialect: 'openai-chat', baseUrl: `${simulator.origin}/v1`, models: ['m'] }],
    config: {
      management: { private_upstreams: ['127.0.0.1'] },
      server: { drain_announce_ms: 10, drain_timeout_ms: 60_000 },
    },
  })
  const body = { id: 'docs', url: server.url, allow_all_tools: true, price_micro: 7, access: [{ everyone: true }] }
  await world.admin.expect('adminCreateToolServer', 201, { body })
  await world.admin.expect('adminRefreshToolServer', 200, { params: { id: 'docs' } })
  user = await world.user()
}, 120_000)

afterAll(async () => {
  await world.gateway.stop()
  await server.stop()
  await simulator.close()
})

const ROUNDS: Behaviour = {
  turns: [{ tool: { name: 'docs__search', arguments: { query: 'captured' } } }, { text: 'Found.' }],
}

function ask(key: string, mark: string, more: Json = {}): Promise<Response> {
  return fetch(`${world.gateway.url}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json', 'x-client-request-id': mark },
    body: JSON.stringify({
      model: 'm',
      messages: [{ role: 'user', content: `Search. [[sim ${JSON.stringify(ROUNDS)}]]` }],
      tools: [{ type: 'mcp', server_label: 'docs' }],
      ...more,
    }),
  })
}

it.each([
  [{ requests: true, answers: true }, '{"query":"captured"}', 'search {'],
  [{ requests: true, answers: false }, '{"query":"captured"}', null],
  [null, null, null],
])(
  'a chat with tools of a key that captures %j has that of its calls',
  async (capture, request, answer) => {
    const { id, key } = await world.key(user, { mcp_tools: ['docs__*'], ...(capture === null ? {} : { capture }) })
    expect(await (await ask(key, 'captures')).text()).toContain('Found.')
    await eventually(
      async () => {
        const { json } = await user.client.expect('listLogs', 200, { query: { key_id: id } })
        const rows = json['data'] as Array<{ id: string; endpoint: string; captured: boolean }>
        expect(rows).toHaveLength(3)
        expect(rows.map(({ captured }) => captured)).toEqual(Array(3).fill(capture !== null))
        if (capture === null) return
        const call = rows.find(({ endpoint }) => endpoint === 'tools.call') ?? expect.fail('no row of the call')
        const shown = await user.client.expect('getLog', 200, { params: { id: call.id }, query: { bodies: 'true' } })
        const bodies = shown.json['bodies'] as { request: Json | null; answer: Json | null }
        expect(bodies.request?.['text']).toBe(request)
        if (answer === null) expect(bodies.answer).toBeNull()
        else expect(bodies.answer?.['text']).toContain(answer)
      },
      { timeoutMs: 40_000 },
    )
  },
  60_000,
)

it('a chat with tools that is under way at SIGTERM is answered, and each round and call has one row', async () => {
  const { id, key } = await world.key(user, { mcp_tools: ['docs__*'] })
  let finish: (result: Json) => void = () => undefined
  const waited = new Promise<Json>((resolve) => (finish = resolve))
  server.onCall = () => waited
  const before = server.calls
  const answers = [true, false].map(async (stream) => (await ask(key, `drain-${String(stream)}`, { stream })).text())
  await eventually(() => {
    expect(server.calls).toBe(before + 2)
  })
  const { gateway } = world
  gateway.signal('SIGTERM')
  await eventually(async () => {
    const { status } = await fetch(`${gateway.url}/health/ready`).catch(() => ({ status: 0 }))
    expect(status).not.toBe(200)
  })
  const over = gateway.over()
  finish({ content: [{ type: 'text', text: 'a page' }] })
  const [streamed, whole] = await Promise.all(answers)
  expect(streamed).toMatch(/"content":"Found"[^]*"finish_reason":"stop"[^]*data: \[DONE\]/)
  expect(whole).toContain('Found.')
  expect(await over).toBe(0)
  const { rows } = await readStoredLog(gateway.dataDir, gateway.databaseUrl)
  const own = rows.filter(({ key_id }) => key_id === id)
  expect(own.map(({ endpoint, status }) => `${endpoint} ${status}`).sort()).toEqual([
    ...Array<string>(4).fill('chat.completions 200'),
    ...Array<string>(2).fill('tools.call 200'),
  ])
}, 120_000)
