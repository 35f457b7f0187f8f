import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { ElicitRequestSchema } from '@modelcontextprotocol/sdk/types.js'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { itLater } from '../../support/dose.ts'
import { eventually } from '../../support/eventually.ts'
import { connectMcp } from '../../support/mcp-clients.ts'
import { McpWorld } from '../../support/mcp-world.ts'
import { killChild, recovered } from '../../support/nemesis.ts'
import { SseToolServer } from '../../support/sse-tool-server.ts'
import { UpstreamToolServer } from '../../support/upstream-tool-server.ts'

const TOOLS = [{ name: 'run', description: 'Runs.' }]
/** A program that is a server: its tool `run` gives 5 MiB, `small` a word. */
const PROGRAM = `
const tools = ['run', 'small'].map((name) => ({ name, description: name, inputSchema: { type: 'object' } }))
const info = { capabilities: { tools: {} }, serverInfo: { name: 'program', version: '1' } }
const answers = {
  initialize: ({ protocolVersion }) => ({ protocolVersion, ...info }),
  'tools/list': () => ({ tools }),
  'tools/call': ({ name }) => ({ content: [{ type: 'text', text: name === 'run' ? 'x'.repeat(5 << 20) : 'small' }] }),
}
require('node:readline').createInterface({ input: process.stdin }).on('line', (line) => {
  const { id, method, params } = JSON.parse(line)
  if (id === undefined || answers[method] === undefined) return
  process.stdout.write(JSON.stringify({ jsonrpc: '2.0', id, result: answers[method](params) }) + '\\n')
})`

let world: McpWorld
let upstream: UpstreamToolServer
let key: string
let servers = 0
/** The server of the case. */
let id: string

beforeAll(async () => {
  const program = { id: 'program', command: process.execPath, args: ['-e', PROGRAM], timeout_ms: 20_000 }
  world = await McpWorld.start({
    config: {
      management: { private_upstreams: ['127.0.0.1'] },
      mcp: { servers: [{ ...program, access: [{ everyone: true }], allow_all_tools: true }] },
    },
  })
  key = (await world.key(await world.user(), { mcp_tools: ['*'] })).key
}, 120_000)

afterAll(async () => {
  await world.gateway.stop()
})

beforeEach(async () => {
  upstream = await UpstreamToolServer.start()
  upstream.tools = TOOLS
  servers += 1
  id = `server-${servers}`
  return () => upstream.stop()
})

async function register(body: object = {}, url = upstream.url): Promise<void> {
  await world.admin.expect('adminCreateToolServer', 201, {
    body: {
      id,
      url,
      access: [{ everyone: true }],
      allow_all_tools: true,
      timeout_ms: 60_000,
      price_micro: 10,
      ...body,
    },
  })
}

async function registerAndList(body: object = {}, url = upstream.url): Promise<void> {
  await register(body, url)
  await world.admin.expect('adminRefreshToolServer', 200, { params: { id } })
}

async function call(name = `${id}__run`): Promise<string> {
  const answer = await fetch(`${world.gateway.url}/mcp/tools/${name}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: '{}',
  })
  return answer.text()
}

async function test(): Promise<Record<string, unknown>> {
  return (await world.admin.expect('adminTestToolServer', 200, { params: { id } })).json
}

async function rowOf(tool: string): Promise<Record<string, unknown>> {
  return eventually(async () => {
    const { json } = await world.admin.expect('adminListLogs', 200, { query: { model: tool } })
    const rows = json['data'] as Array<Record<string, unknown>>
    expect(rows.slice(0, 1)).toHaveLength(1)
    return rows[0] ?? {}
  })
}

describe('a server', () => {
  itLater('that is not there leaves the list as it was, and is left alone after some failures', async () => {
    await registerAndList()
    await upstream.stop()
    const codes: string[] = []
    for (let at = 0; at < 5; at++) codes.push(/UPSTREAM_[A-Z]+/.exec(await call())?.[0] ?? '')
    expect(codes.every((code) => ['UPSTREAM_UNREACHABLE', 'UPSTREAM_TRUNCATED'].includes(code))).toBe(true)
    await eventually(async () => {
      expect(await call()).toContain('left alone')
    })
    expect(await rowOf(`${id}__run`)).toMatchObject({ cost: 0, status: 503, result_bytes: null })
    const listed = await fetch(`${world.gateway.url}/mcp/tools`, { headers: { authorization: `Bearer ${key}` } })
    expect(await listed.text()).toContain(`${id}__run`)
    upstream = await UpstreamToolServer.start()
  })

  it('that is slow has its time-out', async () => {
    // The handshake and the list have this time, too.
    await registerAndList({ timeout_ms: 4_000 })
    upstream.onCall = ({ cancelled }) =>
      new Promise((resolve) => cancelled.addEventListener('abort', () => resolve({})))
    expect(await call()).toContain('UPSTREAM_TIMEOUT')
    expect(await rowOf(`${id}__run`)).toMatchObject({ cost: 0, error_code: 'UPSTREAM_TIMEOUT' })
  })

  it('that sends a huge result is cut off, and other calls of it go on', async () => {
    upstream.tools = [...TOOLS, { name: 'wait', description: 'Waits.' }]
    await registerAndList()
    let finish: (result: Record<string, unknown>) => void = () => undefined
    const waited = new Promise<Record<string, unknown>>((resolve) => (finish = resolve))
    const huge = { content: [{ type: 'text', text: 'x'.repeat(5 * 1024 * 1024) }] }
    upstream.onCall = ({ name }) => (name === 'wait' ? waited : huge)
    const other = call(`${id}__wait`)
    await eventually(() => {
      expect(upstream.calls).toBe(1)
    })
    expect(await call()).toContain('too large')
    finish({ content: [{ type: 'text', text: 'still there' }] })
    expect(await other).toContain('still there')
    upstream.onCall = () => ({ content: [{ type: 'text', text: 'small' }] })
    expect(await call()).toContain('small')
  })

  it.each(['program', 'sse'])(
    'whose %s sends huge results does not keep the next call away',
    async (kind) => {
      const textOf = (tool: string): string => (tool === 'run' ? 'x'.repeat(5 * 1024 * 1024) : 'small')
      const legacy = await SseToolServer.start(['run', 'small'], textOf)
      if (kind === 'sse') await registerAndList({ transport: 'sse' }, legacy.url)
      else {
        id = 'program'
        await world.admin.expect('adminRefreshToolServer', 200, { params: { id } })
      }
      expect(await call(`${id}__small`)).toContain('"small"')
      for (let at = 0; at < 4; at++) expect(await call()).toContain('too large')
      expect(await call(`${id}__small`)).toContain('"small"')
      await legacy.stop()
    },
    60_000,
  )

  it.each([
    ['an error', 'tools/call', 500, 'UPSTREAM_ERROR'],
    ['an answer to a notification', 'notifications/initialized', 200, 'UPSTREAM_BODY_TOO_LARGE'],
  ])('that sends %s as an endless stream of events is cut off', async (_, intercepted, status, code) => {
    if (intercepted === 'tools/call') await registerAndList()
    else await register()
    let ended = false
    upstream.intercept = (method, res) => {
      if (method !== intercepted) return false
      res.on('close', () => (ended = true))
      res.writeHead(status, { 'content-type': 'text/event-stream' })
      const send = (): void => {
        while (!res.destroyed && res.write(':\n\n'.repeat(20_000)));
      }
      res.on('drain', send)
      send()
      return true
    }
    expect(intercepted === 'tools/call' ? await call() : JSON.stringify(await test())).toContain(code)
    await eventually(() => {
      expect(ended).toBe(true)
    })
  })

  it('that sends no JSON is refused before its time-out', async () => {
    await registerAndList()
    upstream.intercept = (method, res) => {
      if (method !== 'tools/call') return false
      res.writeHead(200, { 'content-type': 'text/event-stream' }).write('event: message\ndata: {"jsonrpc": nope}\n\n')
      return true
    }
    expect(await call()).toContain('UPSTREAM_INVALID_ANSWER')
    upstream.intercept = (method, res) => {
      if (method !== 'tools/call') return false
      res.writeHead(200, { 'content-type': 'application/json' }).end('<html>')
      return true
    }
    expect(await call()).toContain('UPSTREAM_INVALID_ANSWER')
  })

  itLater('that has endless pages, or too many tools, is not listed', async () => {
    await register()
    upstream.page = (cursor) => ({ tools: [], nextCursor: String(Number(cursor ?? 0) + 1) })
    expect(await test()).toMatchObject({ ok: false, error: { code: 'UPSTREAM_INVALID_ANSWER' } })
    upstream.page = () => ({ tools: [], nextCursor: 'same' })
    expect(await test()).toMatchObject({
      ok: false,
      error: { message: expect.stringContaining('again and again') as string },
    })
    const many = Array.from({ length: 1_001 }, (_, at) => ({ name: `t${at}`, inputSchema: { type: 'object' } }))
    upstream.page = () => ({ tools: many })
    expect(await test()).toMatchObject({ ok: false })
  })

  it('that redirects is not followed', async () => {
    const inner = createServer((_, res) => res.end('secret of an inner server'))
    let visits = 0
    inner.on('request', () => (visits += 1))
    inner.listen(0, '127.0.0.1')
    await once(inner, 'listening')
    await register()
    upstream.intercept = (_, res) => {
      res.writeHead(307, { location: `http://127.0.0.1:${(inner.address() as AddressInfo).port}/` }).end()
      return true
    }
    const tested = await test()
    expect(tested).toMatchObject({ ok: false })
    expect(JSON.stringify(tested)).not.toContain('secret')
    expect(visits).toBe(0)
    inner.close()
  })

  it('at an inner address is neither registered nor called', async () => {
    for (const url of [
      'http://10.0.0.1/mcp',
      'https://169.254.169.254/',
      'https://localhost/mcp',
      'file:///etc/passwd',
    ]) {
      const body = { id, url }
      const { status, json } = await world.admin.call('adminCreateToolServer', { body })
      expect([url, status, (json['error'] as { param: string }).param]).toEqual([url, 400, '/url'])
    }
  })

  it('cannot be a program', async () => {
    const body = { id, url: upstream.url, command: '/bin/sh', args: ['-c', 'id'] }
    expect((await world.admin.call('adminCreateToolServer', { body })).status).toBe(400)
  })

  it('whose schema would take for ever does not hold anybody up', async () => {
    const evil = { type: 'object', properties: { text: { type: 'string', pattern: '^(a+)+$' } } }
    upstream.tools = [{ ...TOOLS[0], name: 'run', description: '', inputSchema: evil }]
    await registerAndList()
    const answer = await fetch(`${world.gateway.url}/mcp/tools/${id}__run`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify({ text: `${'a'.repeat(64)}!` }),
    })
    expect(await answer.text()).toContain('take too long')
  })

  it('that refuses a call says why, and keeps our credential', async () => {
    await registerAndList({ headers: { authorization: 'Bearer top-secret-value' } })
    upstream.intercept = (method, res, { id: request }) => {
      if (method !== 'tools/call') return false
      const error = { code: -32_602, message: 'no, top-secret-value' }
      res.writeHead(200, { 'content-type': 'application/json' })
      res.end(JSON.stringify({ jsonrpc: '2.0', id: request, error }))
      return true
    }
    const said = await call()
    expect(said).toContain('refused the call: no, …')
    expect(said).not.toContain('top-secret-value')
  })

  it('that has forgotten the session gets the call once, over a new one', async () => {
    await registerAndList()
    let isForgotten = true
    upstream.intercept = (method, res) => {
      if (method !== 'tools/call' || !isForgotten) return false
      isForgotten = false
      res.writeHead(404).end()
      return true
    }
    expect(await call()).toContain('"isError":false')
    expect(upstream.calls).toBe(1)
  })
})

describe('a session at a server', () => {
  it('ends with the call that has its own', async () => {
    await registerAndList({ interactive: true, sampling_model: 'sim-gpt' })
    expect(await call()).toContain('"isError":false')
    await eventually(() => {
      expect(upstream.ended).toHaveLength(1)
    })
  })

  it('ends when the server is deleted', async () => {
    await registerAndList()
    expect(await call()).toContain('"isError":false')
    await world.admin.expect('adminDeleteToolServer', 204, { params: { id } })
    await eventually(() => {
      expect(upstream.ended).toContain('session-1')
    })
  })
})

describe('a server of the revision without a handshake', () => {
  it('is called too', async () => {
    const { key: own } = await world.key(await world.user(), { mcp_tools: ['list_models'] })
    await register({ headers: { authorization: `Bearer ${own}` } }, `${world.gateway.url}/mcp`)
    await world.admin.expect('adminRefreshToolServer', 200, { params: { id } })
    expect(await call(`${id}__list_models`)).toContain('sim-gpt')
  })
})

describe('a call', () => {
  it('that its client cancels ends at the server, and is paid', async () => {
    await registerAndList()
    let ended = false
    upstream.onCall = ({ cancelled }) =>
      new Promise((resolve) =>
        cancelled.addEventListener('abort', () => {
          ended = true
          resolve({})
        }),
      )
    const client = await connectMcp(world.gateway.url, key)
    const leaves = new AbortController()
    const result = client.callTool({ name: `${id}__run`, arguments: {} }, undefined, { signal: leaves.signal })
    await eventually(() => {
      expect(upstream.calls).toBe(1)
    })
    leaves.abort()
    await expect(result).rejects.toThrow()
    await eventually(() => {
      expect(ended).toBe(true)
    })
    expect(await rowOf(`${id}__run`)).toMatchObject({ cost: 10, status: 499, aborted: true })
    await client.close()
  })

  it('tells its client how far it is', async () => {
    await registerAndList()
    upstream.onCall = ({ meta, send }) => {
      const { progressToken } = meta
      for (const progress of [1, 2]) {
        send({
          method: 'notifications/progress',
          params: { progressToken, progress, total: 2, message: `step ${progress}` },
        })
      }
      return { content: [] }
    }
    const client = await connectMcp(world.gateway.url, key)
    const seen: unknown[] = []
    await client.callTool({ name: `${id}__run`, arguments: {} }, undefined, { onprogress: (one) => seen.push(one) })
    expect(seen).toEqual([
      { progress: 1, total: 2, message: 'step 1' },
      { progress: 2, total: 2, message: 'step 2' },
    ])
    await client.close()
  })

  it('of a tool that says that it failed is a result, and paid', async () => {
    await registerAndList()
    upstream.onCall = () => ({ content: [{ type: 'text', text: 'no such page' }], isError: true })
    expect(JSON.parse(await call())).toEqual({ content: [{ type: 'text', text: 'no such page' }], isError: true })
    expect(await rowOf(`${id}__run`)).toMatchObject({ cost: 10, status: 200, error_code: 'UPSTREAM_ERROR' })
  })
})

describe('a server that asks during a call', () => {
  const ELICIT = {
    id: 'ask-1',
    method: 'elicitation/create',
    params: { message: 'Your name?', requestedSchema: { type: 'object', properties: { name: { type: 'string' } } } },
  }
  const SAMPLE = {
    id: 'ask-2',
    method: 'sampling/createMessage',
    params: { messages: [{ role: 'user', content: { type: 'text', text: 'Say hello' } }], maxTokens: 50 },
  }
  const asking = (question: Record<string, unknown>): void => {
    upstream.onCall = async ({ send }) => {
      const answer = upstream.answerTo(String(question['id']))
      send(question)
      return { content: [{ type: 'text', text: JSON.stringify(await answer) }] }
    }
  }

  /** The text that the user is asked, and the result of the call, when the user answers with `content`. */
  const answered = async (content: Record<string, string>): Promise<{ asked: string; result: string }> => {
    const client = new Client({ name: 'test', version: '1' }, { capabilities: { elicitation: {} } })
    let asked = ''
    const troubles: string[] = []
    client.onerror = (cause) => troubles.push(String(cause))
    client.setRequestHandler(ElicitRequestSchema, ({ params }) => {
      asked = params.message
      return { action: 'accept', content }
    })
    const requestInit = { headers: { authorization: `Bearer ${key}` } }
    await client.connect(new StreamableHTTPClientTransport(new URL('/mcp', world.gateway.url), { requestInit }))
    const calling = client.callTool({ name: `${id}__run`, arguments: {} }, undefined, { timeout: 40_000 })
    const result = await calling.catch((cause: unknown) => String(cause))
    expect(troubles, JSON.stringify({ asked, result, calls: upstream.calls })).toEqual([])
    await client.close()
    return { asked, result: JSON.stringify(result) }
  }

  it('asks the user of the client, under its own name', async () => {
    await registerAndList({ interactive: true })
    asking(ELICIT)
    const { asked, result } = await answered({ name: 'Ada' })
    expect(asked).toBe(`[${id}] Your name?`)
    expect(result).toContain('Ada')
  })

  it('gets an answer that would take for ever to be checked, which holds nobody up', async () => {
    await registerAndList({ interactive: true })
    const requestedSchema = { ...ELICIT.params.requestedSchema, patternProperties: { '': { pattern: '^(a+)+$' } } }
    asking({ ...ELICIT, params: { ...ELICIT.params, requestedSchema } })
    const name = `${'a'.repeat(64)}!`
    expect((await answered({ name })).result).toContain(name)
  })

  it('gets answers of the model that its settings name, paid by the key of the call', async () => {
    await registerAndList({ interactive: true, sampling_model: 'sim-gpt' })
    asking(SAMPLE)
    const said = await call()
    expect(said).toContain('assistant')
    expect(said).toContain('sim-gpt')
  })

  it('is told that nobody answers, where its settings do not say so', async () => {
    await registerAndList()
    asking(ELICIT)
    expect(await call()).toContain('-32601')
  })
})

describe('a call during which a process ends', () => {
  const running = async (): Promise<{ readonly cancelled: AbortSignal; readonly answer: Promise<string> }> => {
    await registerAndList()
    const begun: AbortSignal[] = []
    upstream.onCall = ({ cancelled }) => {
      begun.push(cancelled)
      return new Promise((resolve) => {
        cancelled.addEventListener('abort', () => {
          resolve({ content: [] })
        })
      })
    }
    const answer = call().catch(String)
    const cancelled = await eventually(() => begun[0] ?? expect.fail('the call has not begun'))
    return { cancelled, answer }
  }
  const kill = async (kind: 'control' | 'front'): Promise<void> => {
    const { gateway } = world
    const children = gateway.children()
    await killChild(gateway, kind, children.find((one) => one.kind === kind)?.pid ?? 0)
    await recovered(gateway, children.filter((one) => one.kind === 'front').length)
  }

  itLater('has one row, and is paid, when it is the control process', async () => {
    await running()
    await kill('control')
    expect(await rowOf(`${id}__run`)).toMatchObject({ cost: 10, status: 499, aborted: true })
  })

  itLater('has one row, and ends at the server, when it is a front', async () => {
    const { cancelled, answer } = await running()
    await kill('front')
    await answer
    await eventually(() => {
      expect(cancelled.aborted).toBe(true)
    })
    expect(await rowOf(`${id}__run`)).toMatchObject({ cost: 0, status: null, settlement: 'interrupted' })
  })
})
