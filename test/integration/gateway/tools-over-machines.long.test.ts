import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { ElicitRequestSchema } from '@modelcontextprotocol/sdk/types.js'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { eventually } from '../../support/eventually.ts'
import { callTool, connectMcp } from '../../support/mcp-clients.ts'
import { beginSession, rawMcp } from '../../support/mcp-raw.ts'
import { startTwoMachines } from '../../support/two-machines.ts'
import type { TwoMachines } from '../../support/two-machines.ts'
import { UpstreamToolServer } from '../../support/upstream-tool-server.ts'

const LIST = { jsonrpc: '2.0', id: 1, method: 'tools/list' }

let machines: TwoMachines
let urls: readonly [string, string]
let token: string

beforeAll(async () => {
  machines = await startTwoMachines({ management: { private_upstreams: ['127.0.0.1'] } })
  const [first, second] = machines.gateways
  urls = [first?.url ?? '', second?.url ?? '']
  token = machines.admin.token ?? ''
}, 120_000)

afterAll(async () => {
  await machines.stop()
})

async function anotherUser(phone: string): Promise<{ readonly token: string }> {
  const body = { phone, name: 'Ada', password: 'correct horse battery' }
  await machines.admin.expect('adminCreateUser', 201, { body })
  const { json } = await machines.admin.expect('login', 200, { body: { phone, password: body.password } })
  return { token: String(json['token']) }
}

describe('a session of tools on two machines', () => {
  it('serves a client of the official SDK whose requests go to either in turn', async () => {
    const seen: string[] = []
    const client = await connectMcp(urls[0], token, 'streamable', {
      fetch: (to, init) => {
        const { pathname } = new URL(to)
        const at = urls[seen.length % 2] ?? ''
        seen.push(at)
        return fetch(new URL(pathname, at), init)
      },
    })
    for (let call = 0; call < 6; call++) {
      const { name } = await callTool(client, 'create_key', { name: `key ${call}` })
      expect(name).toBe(`key ${call}`)
    }
    expect(new Set(seen)).toEqual(new Set(urls))
    await client.close()
  })

  it('belongs to its user on each, and does not begin again where it was ended', async () => {
    const session = await beginSession(urls[0], token)
    const foreign = await rawMcp(urls[1], { token: (await anotherUser('+12025554001')).token, session, body: LIST })
    expect([foreign.status, await foreign.text()]).toEqual([404, expect.stringContaining('Session not found')])
    expect((await rawMcp(urls[1], { token, session, body: LIST })).status).toBe(200)
    expect((await rawMcp(urls[1], { method: 'DELETE', token, session })).status).toBe(200)
    expect((await rawMcp(urls[1], { token, session, body: LIST })).status).toBe(404)
  })

  it('ends on both', async () => {
    const session = await beginSession(urls[0], token)
    const stream = await rawMcp(urls[0], { method: 'GET', token, session })
    expect((await rawMcp(urls[1], { method: 'DELETE', token, session })).status).toBe(200)
    await stream.ended()
    expect((await rawMcp(urls[0], { token, session, body: LIST })).status).toBe(404)
  })

  it('cancels a call of the other machine', async () => {
    const { json: key } = await machines.admin.expect('createKey', 201, { body: { name: 'pays' } })
    const session = await beginSession(urls[0], token)
    const content = `[[sim {"eventsPerSecond":5,"tokens":400}]] Go on`
    const input = { model: 'm', messages: [{ role: 'user', content }], key_id: key['id'] }
    const params = { name: 'chat_completion', arguments: input, _meta: { progressToken: 'p' } }
    const calling = await rawMcp(urls[0], { token, session, body: { ...LIST, id: 9, method: 'tools/call', params } })
    await calling.until('notifications/progress')
    const cancel = { jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 9 } }
    expect((await rawMcp(urls[1], { token, session, body: cancel })).status).toBe(202)
    await calling.ended()
    expect(await calling.text()).toContain('cancelled')
  })

  it('passes the answer to a question on to the machine that asked, and asks in a session of the other one', async () => {
    const upstream = await UpstreamToolServer.start()
    upstream.tools = [{ name: 'ask', description: 'Asks the user.' }]
    upstream.onCall = async ({ send }) => {
      const answer = upstream.answerTo('q')
      const requestedSchema = { type: 'object', properties: { name: { type: 'string' } } }
      send({ id: 'q', method: 'elicitation/create', params: { message: 'Name?', requestedSchema } })
      return { content: [{ type: 'text', text: JSON.stringify(await answer) }] }
    }
    const { json: key } = await machines.admin.expect('createKey', 201, { body: { name: 'pays for questions' } })
    const settings = { id: 'asking', url: upstream.url, interactive: true, allow_all_tools: true }
    await machines.admin.expect('adminCreateToolServer', 201, { body: { ...settings, access: [{ everyone: true }] } })
    await machines.admin.expect('adminRefreshToolServer', 200, { params: { id: 'asking' } })
    const headers = { authorization: `Bearer ${token}` }
    await eventually(async () => {
      expect(await (await fetch(new URL('/mcp/tools', urls[1]), { headers })).text()).toContain('asking__ask')
    })
    const client = new Client({ name: 'test', version: '1' }, { capabilities: { elicitation: {} } })
    client.setRequestHandler(ElicitRequestSchema, () => ({ action: 'accept', content: { name: 'Ada' } }))
    const answered: string[] = []
    const transport = new StreamableHTTPClientTransport(new URL('/mcp', urls[0]), {
      requestInit: { headers },
      // The call goes to the machine that did not begin the session, the answer to the other one.
      fetch: (_, init) => {
        const body = typeof init?.body === 'string' ? init.body : ''
        const isAnswer = body.includes('"result"')
        if (isAnswer) answered.push(body)
        return fetch(new URL('/mcp', urls[body.includes('tools/call') ? 1 : 0]), init)
      },
    })
    await client.connect(transport)
    const result = await client.callTool({ name: 'asking__ask', arguments: { sluice_key_id: key['id'] } })
    expect(JSON.stringify(result)).toContain('Ada')
    expect(answered).toHaveLength(1)
    await client.close()
    await upstream.stop()
  })

  it('refuses to send events again that the other machine keeps', async () => {
    const session = await beginSession(urls[0], token)
    const headers = { 'last-event-id': 'x.1' }
    expect((await rawMcp(urls[1], { method: 'GET', token, session, headers })).status).toBe(400)
  })
})

describe('a session of HTTP+SSE on two machines', () => {
  it('serves a client of the official SDK whose messages go to the machine without its stream', async () => {
    const client = await connectMcp(urls[0], token, 'sse', {
      fetch: (to, init) => {
        const { pathname, search } = new URL(to)
        return fetch(new URL(pathname + search, urls[init?.method === 'POST' ? 1 : 0]), init)
      },
    })
    expect(await callTool(client, 'who_am_i')).toHaveProperty('name')
    await client.close()
  })

  it('is told apart from one that is nowhere, and from that of another user', async () => {
    const stream = await rawMcp(urls[0], { method: 'GET', path: '/mcp/sse', token })
    const path = /^data: (\S+)$/m.exec(await stream.until('\n\n'))?.[1] ?? ''
    const { token: other } = await anotherUser('+12025554002')
    for (const [sender, at] of [
      [token, '/mcp/messages?sessionId=x'],
      [other, path],
    ] as const) {
      const sent = await rawMcp(urls[1], { path: at, token: sender, body: LIST })
      expect([sent.status, await sent.text()]).toEqual([404, expect.stringContaining('connect to /mcp/sse again')])
    }
    stream.cut()
  })
})
