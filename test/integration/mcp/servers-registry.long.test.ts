import { mkdtempSync, rmSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { eventually } from '../../support/eventually.ts'
import { connectMcp, textOf } from '../../support/mcp-clients.ts'
import { McpWorld } from '../../support/mcp-world.ts'
import { UpstreamToolServer } from '../../support/upstream-tool-server.ts'

const require = createRequire(import.meta.url)
const EVERYTHING = require.resolve('@modelcontextprotocol/server-everything/dist/index.js')
const MEMORY = require.resolve('@modelcontextprotocol/server-memory/dist/index.js')

const OPEN = { access: [{ everyone: true }], allow_all_tools: true, timeout_ms: 30_000 }

let world: McpWorld
let own: UpstreamToolServer
let client: Client
let directory: string

beforeAll(async () => {
  directory = mkdtempSync(join(tmpdir(), 'sluice-memory-'))
  own = await UpstreamToolServer.start()
  own.tools = [
    { name: 'echo', description: 'Has the name of a tool of another server.' },
    { name: 'read_graph', description: 'So has this.' },
  ]
  const everything = { command: process.execPath, args: [EVERYTHING, 'stdio'] }
  const memory = {
    command: process.execPath,
    args: [MEMORY],
    env: { MEMORY_FILE_PATH: join(directory, 'memory.json') },
  }
  world = await McpWorld.start({
    config: {
      management: { private_upstreams: ['127.0.0.1'] },
      mcp: {
        servers: [
          { id: 'everything', ...everything, ...OPEN, price_micro: 3 },
          { id: 'memory', ...memory, ...OPEN },
          { id: 'own', url: own.url, ...OPEN },
        ],
      },
    },
  })
  for (const id of ['everything', 'memory', 'own']) {
    await world.admin.expect('adminRefreshToolServer', 200, { params: { id } })
  }
  const { key } = await world.key(await world.user(), { mcp_tools: ['*'] })
  client = await connectMcp(world.gateway.url, key)
}, 120_000)

afterAll(async () => {
  await client.close()
  await world.gateway.stop()
  await own.stop()
  rmSync(directory, { recursive: true, force: true })
})

describe('servers of the configuration file', () => {
  it('are shown with their tools, and are not changed by the API', async () => {
    const { json } = await world.admin.expect('adminListToolServers', 200)
    expect(json['data']).toMatchObject([
      { id: 'everything', source: 'file', transport: 'stdio', url: null },
      { id: 'memory', source: 'file', transport: 'stdio' },
      { id: 'own', source: 'file', transport: 'http' },
    ])
    for (const name of ['adminUpdateToolServer', 'adminDeleteToolServer'] as const) {
      expect((await world.admin.call(name, { params: { id: 'memory' }, body: {} })).status).toBe(409)
    }
  })

  it('have tools of the same names, which do not clash', async () => {
    const names = (await client.listTools()).tools.map(({ name }) => name)
    expect(new Set(names).size).toBe(names.length)
    expect(names).toEqual(
      expect.arrayContaining(['everything__echo', 'own__echo', 'memory__read_graph', 'own__read_graph']),
    )
  })

  it('are called, each by its own name', async () => {
    const ofAll = await client.callTool({ name: 'everything__echo', arguments: { message: 'hi' } })
    expect(textOf(ofAll as { content: [] })).toContain('hi')
    const ofOwn = await client.callTool({ name: 'own__echo', arguments: {} })
    expect(textOf(ofOwn as { content: [] })).toBe('echo {}')
    const entities = [{ name: 'Ada', entityType: 'person', observations: ['writes'] }]
    await client.callTool({ name: 'memory__create_entities', arguments: { entities } })
    const graph = await client.callTool({ name: 'memory__read_graph', arguments: {} })
    expect(JSON.stringify(graph)).toContain('Ada')
    await eventually(async () => {
      const { json } = await world.admin.expect('adminListLogs', 200, { query: { model: 'everything__echo' } })
      expect(json['data']).toMatchObject([{ cost: 3, provider_id: 'mcp:everything' }])
    })
  })

  it('get no variables of the gateway', async () => {
    const names = (await client.listTools()).tools.map(({ name }) => name)
    const env = names.find((name) => /env/i.test(name))
    expect(env).toBeDefined()
    const result = await client.callTool({ name: env ?? '', arguments: {} })
    expect(JSON.stringify(result)).not.toContain('SLUICE_')
  })
})
