import { Client as NewClient, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import type { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { ToolListChangedNotificationSchema } from '@modelcontextprotocol/sdk/types.js'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { itLater } from '../../support/dose.ts'
import { eventually } from '../../support/eventually.ts'
import { connectMcp, TRANSPORTS } from '../../support/mcp-clients.ts'
import type { McpTransport } from '../../support/mcp-clients.ts'
import { McpWorld } from '../../support/mcp-world.ts'
import type { McpUser } from '../../support/mcp-world.ts'
import { UpstreamToolServer } from '../../support/upstream-tool-server.ts'

let world: McpWorld
let upstream: UpstreamToolServer
let user: McpUser
const open: Array<{ close(): Promise<void> }> = []

beforeAll(async () => {
  upstream = await UpstreamToolServer.start()
  upstream.tools = [{ name: 'find', description: 'Finds pages.' }]
  world = await McpWorld.start({ config: { management: { private_upstreams: ['127.0.0.1'] } } })
  user = await world.user()
  await world.admin.expect('adminCreateToolServer', 201, {
    body: { id: 'pages', url: upstream.url, allow_all_tools: true, access: [{ everyone: true }] },
  })
  await world.admin.expect('adminRefreshToolServer', 200, { params: { id: 'pages' } })
}, 120_000)

afterAll(async () => {
  for (const client of open) await client.close()
  await world.gateway.stop()
  await upstream.stop()
})

/** A client that lists its tools again when it is told to. */
async function listening(token: string, kind: McpTransport = 'streamable'): Promise<{ names: string[]; told: number }> {
  const client: Client = await connectMcp(world.gateway.url, token, kind)
  open.push(client)
  const seen = { names: [] as string[], told: 0 }
  const list = async (): Promise<void> => {
    seen.names = (await client.listTools()).tools.map(({ name }) => name)
  }
  expect(client.getServerCapabilities()?.tools).toEqual({ listChanged: true })
  client.setNotificationHandler(ToolListChangedNotificationSchema, async () => {
    seen.told += 1
    await list()
  })
  await list()
  return seen
}

async function decide(body: object): Promise<void> {
  await world.admin.expect('adminDecideServerTools', 204, { params: { id: 'pages' }, body })
}

async function newestOf(name: string): Promise<{ server_tool: string; digest: string }> {
  await world.admin.expect('adminRefreshToolServer', 200, { params: { id: 'pages' } })
  const { json } = await world.admin.expect('adminListServerTools', 200, { params: { id: 'pages' } })
  const tools = json['data'] as Array<{ server_tool: string; digest: string }>
  const { digest = '' } = tools.find((tool) => tool.server_tool === name) ?? {}
  return { server_tool: name, digest }
}

describe.each(TRANSPORTS)('a client over %s', (kind) => {
  it('is told when an admin denies and allows a tool, and lists anew', async () => {
    const { key } = await world.key(user, { mcp_tools: ['pages__*'] })
    const other = await world.key(user, { mcp_tools: ['list_models'] })
    const [seen, unconcerned] = await Promise.all([listening(key, kind), listening(other.key, kind)])
    expect(seen.names).toEqual(['pages__find'])
    await decide({ deny: ['find'] })
    await eventually(() => {
      expect(seen.names).toEqual([])
    })
    await decide({ allow: [await newestOf('find')] })
    await eventually(() => {
      expect(seen.names).toEqual(['pages__find'])
    })
    expect([seen.told > 0, unconcerned.told]).toEqual([true, 0])
  })
})

it('a list that is asked for again is not one that was on its way', async () => {
  let arrive = (): void => undefined
  const arrived = new Promise<void>((resolve) => (arrive = resolve))
  let isFirst = true
  upstream.intercept = (method, res, { id }) => {
    if (method !== 'tools/list' || !isFirst) return false
    isFirst = false
    const tools = upstream.tools.map((tool) => ({ ...tool, inputSchema: { type: 'object' } }))
    const body = JSON.stringify({ jsonrpc: '2.0', id, result: { tools } })
    void arrived.then(() => res.writeHead(200, { 'content-type': 'application/json' }).end(body))
    return true
  }
  const refresh = (): Promise<unknown> => world.admin.expect('adminRefreshToolServer', 200, { params: { id: 'pages' } })
  const first = refresh()
  await eventually(() => {
    expect(isFirst).toBe(false)
  })
  const before = upstream.tools
  upstream.tools = []
  const second = refresh()
  // It comes after the request before.
  await world.admin.expect('adminListServerTools', 200, { params: { id: 'pages' } })
  arrive()
  await Promise.all([first, second])
  const { json } = await world.admin.expect('adminListServerTools', 200, { params: { id: 'pages' } })
  expect(json['data']).toMatchObject([{ server_tool: 'find', state: 'gone' }])
  upstream.tools = before
  await refresh()
})

describe('a client', () => {
  itLater('is told when the server has another list', async () => {
    const { key } = await world.key(user, { mcp_tools: ['pages__*'] })
    const seen = await listening(key)
    upstream.tools = []
    await world.admin.expect('adminRefreshToolServer', 200, { params: { id: 'pages' } })
    await eventually(() => {
      expect(seen.names).toEqual([])
    })
    upstream.tools = [{ name: 'find', description: 'Finds pages.' }]
    await world.admin.expect('adminRefreshToolServer', 200, { params: { id: 'pages' } })
    await eventually(() => {
      expect(seen.names).toEqual(['pages__find'])
    })
  })

  it('is told when the mcp_tools of its key change', async () => {
    const { key, id } = await world.key(user, { mcp_tools: ['list_models'] })
    const seen = await listening(key)
    expect(seen.names).toEqual(['list_models'])
    const body = { mcp_tools: ['list_models', 'create_embedding'] }
    await user.client.expect('updateKey', 200, { params: { id }, body })
    await eventually(() => {
      expect(seen.names).toEqual(['list_models', 'create_embedding'])
    })
  })

  it.each(['user', 'key'])('of a %s is told when the department or the enterprise gives other rights', async (kind) => {
    const params = { id: await world.enterprise(`Acme of a ${kind}`) }
    const made = async (name: string): Promise<string> =>
      String((await world.admin.expect('createDepartment', 201, { params, body: { name } })).json['id'])
    const [above, departmentId] = [await made('above'), await made('own')]
    const member = await world.member(params.id, 'employee')
    const { json } = await world.admin.expect('listMembers', 200, { params })
    const members = json['data'] as Array<{ id: string; user: { id: string } }>
    const own = members.find(({ user: of }) => of.id === member.id)
    await world.admin.expect('updateMember', 200, {
      params: { ...params, memberId: own?.id ?? '' },
      body: { department_id: departmentId },
    })
    const server = { id: `branch-${kind}`, url: upstream.url, allow_all_tools: true }
    await world.admin.expect('adminCreateToolServer', 201, {
      body: { ...server, access: [{ department_id: above }] },
    })
    await world.admin.expect('adminRefreshToolServer', 200, { params: { id: server.id } })
    const name = `${server.id}__find`
    const { key } = await world.key(member, { mcp_tools: [name] })
    const seen = await listening(kind === 'key' ? key : member.token)
    // A new client's list is made anew once in any case: the later changes tell whether they are seen.
    for (const parentId of [null, above, null, above]) {
      const body = { parent_id: parentId }
      await world.admin.expect('updateDepartment', 200, { params: { ...params, departmentId }, body })
      await eventually(() => {
        expect(seen.names.includes(name)).toBe(parentId === above)
      })
    }
    await world.admin.expect('adminUpdateEnterprise', 200, { params, body: { status: 'disabled' } })
    await eventually(() => {
      expect(seen.names).not.toContain(name)
    })
  })

  it('without a session is told on the stream that it listens to', async () => {
    const { key, id } = await world.key(user, { mcp_tools: ['list_models'] })
    let told = 0
    const client = new NewClient(
      { name: 'test', version: '1' },
      {
        versionNegotiation: { mode: 'auto' },
        listChanged: {
          tools: {
            autoRefresh: false,
            onChanged: () => {
              told += 1
            },
          },
        },
      },
    )
    const requestInit = { headers: { authorization: `Bearer ${key}` } }
    await client.connect(new StreamableHTTPClientTransport(new URL('/mcp', world.gateway.url), { requestInit }))
    open.push(client)
    const lists: readonly string[][] = [['list_models'], ['list_models', 'create_embedding']]
    let turn = 0
    await eventually(async () => {
      turn += 1
      await user.client.expect('updateKey', 200, { params: { id }, body: { mcp_tools: lists[turn % 2] } })
      expect(told).toBeGreaterThan(0)
    })
  })
})
