import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { itLater } from '../../support/dose.ts'
import { eventually } from '../../support/eventually.ts'
import { callTool, connectMcp, TRANSPORTS } from '../../support/mcp-clients.ts'
import { beginSession, INITIALIZE, rawMcp } from '../../support/mcp-raw.ts'
import { McpWorld } from '../../support/mcp-world.ts'
import type { McpUser } from '../../support/mcp-world.ts'

const LIST = { jsonrpc: '2.0', id: 1, method: 'tools/list' }

let world: McpWorld
let url: string
let user: McpUser

beforeAll(async () => {
  world = await McpWorld.start()
  url = world.gateway.url
  user = await world.user()
}, 120_000)

afterAll(async () => {
  await world.gateway.stop()
})

/** A chat completion whose answer takes its time. */
function slowChat(id: number, eventsPerSecond: number, tokens: number): object {
  const content = `[[sim ${JSON.stringify({ eventsPerSecond, tokens })}]] Go on`
  const input = { model: 'sim-gpt', messages: [{ role: 'user', content }] }
  const params = { name: 'chat_completion', arguments: input, _meta: { progressToken: 'p' } }
  return { jsonrpc: '2.0', id, method: 'tools/call', params }
}

describe('a session of Streamable HTTP', () => {
  it('has an id that cannot be guessed, and belongs to its user alone', async () => {
    const session = await beginSession(url, user.token)
    expect(session).toMatch(/^[A-Za-z0-9_-]{52}$/)
    const own = await rawMcp(url, { token: user.token, session, body: LIST })
    expect(own.status).toBe(200)
    const other = await world.user()
    for (const method of ['POST', 'GET', 'DELETE']) {
      const body = method === 'POST' ? { body: LIST } : {}
      const foreign = await rawMcp(url, { method, token: other.token, session, ...body })
      const missing = await rawMcp(url, { method, token: other.token, session: 'x'.repeat(52), ...body })
      expect([foreign.status, await foreign.text()]).toEqual([missing.status, await missing.text()])
      expect(foreign.status).toBe(404)
    }
  })

  it('ends with DELETE', async () => {
    const session = await beginSession(url, user.token)
    expect((await rawMcp(url, { method: 'DELETE', token: user.token, session })).status).toBe(200)
    const gone = await rawMcp(url, { token: user.token, session, body: LIST })
    expect([gone.status, await gone.text()]).toEqual([404, expect.stringContaining('Session not found')])
  })

  it('needs its header, and says so', async () => {
    const answer = await rawMcp(url, { token: user.token, body: LIST })
    expect([answer.status, await answer.text()]).toEqual([400, expect.stringContaining('Mcp-Session-Id')])
  })

  it('gives way to a newer one of the same user when it is idle, and begins again with its next message', async () => {
    const many = await world.user()
    const first = await beginSession(url, many.token)
    for (let count = 0; count < 64; count++) await beginSession(url, many.token)
    const [one, other] = await Promise.all(
      [1, 2].map(() => rawMcp(url, { token: many.token, session: first, body: LIST })),
    )
    expect([one?.status, other?.status]).toEqual([200, 200])
    expect((await rawMcp(url, { method: 'DELETE', token: many.token, session: first })).status).toBe(200)
    expect((await rawMcp(url, { token: many.token, session: first, body: LIST })).status).toBe(404)
  })

  it('goes on with a call while its client is away, and gives the rest to a client that comes back', async () => {
    const payer = await world.user()
    await world.key(payer)
    const session = await beginSession(url, payer.token)
    const headers = { 'mcp-protocol-version': '2025-11-25' }
    const calling = await rawMcp(url, { token: payer.token, session, headers, body: slowChat(7, 20, 40) })
    const before = await calling.until('notifications/progress')
    calling.cut()
    const lastId = [...before.matchAll(/^id: (\S+)$/gm)].at(-1)?.[1] ?? ''
    const resumed = await eventually(async () => {
      const again = await rawMcp(url, {
        method: 'GET',
        token: payer.token,
        session,
        headers: { ...headers, 'last-event-id': lastId },
      })
      if (again.status !== 200) throw new Error(`not resumed: ${again.status} ${await again.text()}`)
      return again
    })
    const rest = await resumed.until('"id":7')
    expect(rest).toContain('"structuredContent"')
    expect(rest).not.toContain(`id: ${lastId}\n`)
  })

  it('refuses an event id that it does not keep', async () => {
    const session = await beginSession(url, user.token)
    const answer = await rawMcp(url, {
      method: 'GET',
      token: user.token,
      session,
      headers: { 'last-event-id': '99999' },
    })
    expect(answer.status).toBe(400)
  })

  it('ends the stream and the upstream call of a cancelled request', async () => {
    const payer = await world.user()
    const { id: keyId } = await world.key(payer)
    const session = await beginSession(url, payer.token)
    const calling = await rawMcp(url, { token: payer.token, session, body: slowChat(9, 5, 400) })
    await calling.until('notifications/progress')
    const params = { requestId: 9, reason: 'enough' }
    await rawMcp(url, {
      token: payer.token,
      session,
      body: { jsonrpc: '2.0', method: 'notifications/cancelled', params },
    })
    await calling.ended()
    const row = await eventually(async () => {
      const [one] = await world.gateway.logRows({ key_id: keyId })
      if (one === undefined) throw new Error('no row')
      return one
    })
    expect(row).toMatchObject({ aborted: true, endpoint: 'chat.completions' })
  })
})

describe('a stream', () => {
  it.each(['/mcp', '/mcp/sse'])('of %s ends when its user is disabled', async (path) => {
    const leaver = await world.user()
    const session = path === '/mcp' ? { session: await beginSession(url, leaver.token) } : {}
    const stream = await rawMcp(url, { method: 'GET', path, token: leaver.token, ...session })
    expect(stream.status).toBe(200)
    await world.admin.expect('adminUpdateUser', 200, { params: { id: leaver.id }, body: { status: 'disabled' } })
    await stream.ended()
    expect((await rawMcp(url, { token: leaver.token, body: INITIALIZE })).status).toBe(401)
  })

  it('of a key ends when the key is turned off, and of a session when the user logs out', async () => {
    const owner = await world.user()
    const { id, key } = await world.key(owner, { mcp_tools: ['*'] })
    const ofKey = await rawMcp(url, { method: 'GET', path: '/mcp/sse', token: key })
    const ofUser = await rawMcp(url, { method: 'GET', path: '/mcp/sse', token: owner.token })
    await owner.client.expect('toggleKey', 200, { params: { id }, body: { enabled: false } })
    await ofKey.ended()
    await owner.client.expect('logout', 204)
    await ofUser.ended()
  })
})

describe('a session of HTTP+SSE', () => {
  it('begins with the path for messages, takes messages of its user alone, and ends with its stream', async () => {
    const stream = await rawMcp(url, { method: 'GET', path: '/mcp/sse', token: user.token })
    expect(stream.headers.get('content-type')).toBe('text/event-stream')
    const first = await stream.until('\n\n')
    const path = /^event: endpoint\ndata: (\/mcp\/messages\?sessionId=[A-Za-z0-9_-]{32})\n\n/.exec(first)?.[1] ?? ''
    const sent = await rawMcp(url, { path, token: user.token, body: INITIALIZE })
    expect(sent.status).toBe(202)
    expect(await stream.until('"serverInfo"')).toContain('event: message\ndata: {')
    const other = await world.user()
    expect((await rawMcp(url, { path, token: other.token, body: LIST })).status).toBe(404)
    expect((await rawMcp(url, { path, body: LIST })).status).toBe(401)
    expect((await rawMcp(url, { path, token: user.token, body: '{' })).status).toBe(400)
    expect((await rawMcp(url, { path, token: user.token, body: { hello: 1 } })).status).toBe(400)
    stream.cut()
    await eventually(async () => {
      expect((await rawMcp(url, { path, token: user.token, body: LIST })).status).toBe(404)
    })
  })
})

describe('the end of the control process', () => {
  itLater.each(TRANSPORTS)(
    'is not seen by a client of the official SDK over %s, but for calls under way',
    async (kind) => {
      const client = await connectMcp(url, user.token, kind)
      await callTool(client, 'list_keys')
      const control = world.gateway.children().find((child) => child.kind === 'control')
      process.kill(control?.pid ?? 0, 'SIGKILL')
      await eventually(
        async () => {
          expect(world.gateway.children().find((child) => child.kind === 'control')?.pid).not.toBe(control?.pid)
          expect(await callTool(client, 'list_keys')).toHaveProperty('data')
        },
        { timeoutMs: 30_000 },
      )
      await client.close()
    },
  )
})
