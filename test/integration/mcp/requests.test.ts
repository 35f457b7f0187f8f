import { request as httpRequest } from 'node:http'
import { Ajv } from 'ajv'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { connectMcp, textOf } from '../../support/mcp-clients.ts'
import { INITIALIZE, rawMcp } from '../../support/mcp-raw.ts'
import { McpWorld } from '../../support/mcp-world.ts'
import type { McpUser } from '../../support/mcp-world.ts'

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

describe('a request without a valid token', () => {
  it.each([
    ['POST', '/mcp'],
    ['GET', '/mcp'],
    ['DELETE', '/mcp'],
    ['GET', '/mcp/sse'],
    ['POST', '/mcp/messages?sessionId=x'],
    ['GET', '/mcp/tools'],
    ['POST', '/mcp/tools/list_keys'],
  ])('%s %s gets 401, which names the metadata', async (method, path) => {
    for (const token of [null, 'nonsense', `${user.token}x`]) {
      const body = method === 'POST' ? { body: {} } : {}
      const answer = await rawMcp(url, { method, path, token, ...body })
      expect(answer.status).toBe(401)
      const challenge = answer.headers.get('www-authenticate')
      expect(challenge).toContain(`resource_metadata="${url}/.well-known/oauth-protected-resource/mcp"`)
      expect(challenge?.includes('error="invalid_token"')).toBe(token !== null)
    }
  })

  it('is told where tokens come from', async () => {
    const answer = await fetch(`${url}/.well-known/oauth-protected-resource/mcp`)
    expect(await answer.json()).toMatchObject({ resource: `${url}/mcp`, bearer_methods_supported: ['header'] })
    expect((await fetch(`${url}/.well-known/oauth-protected-resource`)).status).toBe(200)
    expect((await fetch(`${url}/.well-known/oauth-protected-resource/else`)).status).toBe(404)
  })

  it('may not have the token in its address', async () => {
    const answer = await rawMcp(url, { method: 'GET', path: `/mcp/tools?access_token=${user.token}` })
    expect(answer.status).toBe(401)
  })
})

/** The status of a request with any `Host`, which `fetch` would replace. */
function statusWith(headers: Record<string, string>): Promise<number> {
  return new Promise((resolve, reject) => {
    const sent = httpRequest(new URL('/mcp/tools', url), {
      headers: { authorization: `Bearer ${user.token}`, ...headers },
    })
    sent.on('response', (response) => {
      response.resume()
      resolve(response.statusCode ?? 0)
    })
    sent.on('error', reject)
    sent.end()
  })
}

describe('origins', () => {
  it('are refused unless they are of this machine, or allowed', async () => {
    const { host } = new URL(url)
    expect(await statusWith({ origin: 'http://evil.example.com' })).toBe(403)
    expect(await statusWith({ origin: 'null' })).toBe(403)
    expect(await statusWith({ host: 'evil.example.com', origin: 'http://evil.example.com' })).toBe(403)
    expect(await statusWith({ host: `evil.example.com:80` })).toBe(403)
    expect(await statusWith({ host: 'localhost.evil.example.com' })).toBe(403)
    expect(await statusWith({ host })).toBe(200)
    expect(await statusWith({ host: 'localhost', origin: 'http://localhost:6274' })).toBe(200)
    expect(await statusWith({ host, origin: 'http://127.0.0.1:6274' })).toBe(200)
    expect(await statusWith({ host: '[::1]:1' })).toBe(200)
  })
})

describe('a bad request', () => {
  it.each([
    ['no JSON', '{', 400, '-32700'],
    ['too deep', `${'['.repeat(100)}${']'.repeat(100)}`, 400, '-32700'],
    ['no message', { hello: 1 }, 400, '-32'],
    ['a batch that is too long', Array.from({ length: 51 }, (_, id) => ({ ...INITIALIZE, id })), 400, '-32000'],
    ['a batch with two beginnings', [INITIALIZE, { ...INITIALIZE, id: 1 }], 400, '-32600'],
  ])('is refused in the form of the protocol: %s', async (_, body, status, code) => {
    const answer = await rawMcp(url, { token: user.token, body })
    expect([answer.status, await answer.text()]).toEqual([status, expect.stringContaining(code)])
  })

  it('with another method or type gets the status for it', async () => {
    const wrongMethod = await rawMcp(url, { method: 'POST', path: '/mcp/sse', token: user.token, body: INITIALIZE })
    expect([wrongMethod.status, wrongMethod.headers.get('allow')]).toEqual([405, 'GET'])
    const accept = { accept: 'application/json' }
    expect((await rawMcp(url, { token: user.token, body: INITIALIZE, headers: accept })).status).toBe(406)
    const type = { 'content-type': 'text/plain' }
    expect((await rawMcp(url, { token: user.token, body: INITIALIZE, headers: type })).status).toBe(415)
    expect((await rawMcp(url, { method: 'GET', path: '/mcp/else', token: user.token })).status).toBe(404)
    expect((await rawMcp(url, { token: user.token, body: 'x'.repeat(5_000_000) })).status).toBe(413)
  })
})

describe.each(['2024-11-05', '2025-03-26', '2025-06-18', '2025-11-25'])('revision %s', (protocolVersion) => {
  it('is negotiated', async () => {
    const body = { ...INITIALIZE, params: { ...INITIALIZE.params, protocolVersion } }
    const answer = await rawMcp(url, { token: user.token, body })
    expect(await answer.text()).toContain(`"protocolVersion":"${protocolVersion}"`)
  })
})

describe('revision 2026-07-28, without sessions', () => {
  const meta = {
    'io.modelcontextprotocol/protocolVersion': '2026-07-28',
    'io.modelcontextprotocol/clientCapabilities': {},
    'io.modelcontextprotocol/clientInfo': { name: 'raw', version: '1' },
  }
  const call = (method: string, params: object = {}, name?: string) => ({
    token: user.token,
    headers: {
      'mcp-protocol-version': '2026-07-28',
      'mcp-method': method,
      ...(name === undefined ? {} : { 'mcp-name': name }),
    },
    body: { jsonrpc: '2.0', id: 1, method, params: { ...params, _meta: meta } },
  })

  it('discovers, lists and calls', async () => {
    const discovered = await (await rawMcp(url, call('server/discover'))).text()
    expect(discovered).toContain('2026-07-28')
    const listed = await (await rawMcp(url, call('tools/list'))).text()
    expect(listed).toContain('"list_keys"')
    const params = { name: 'list_keys', arguments: {} }
    const called = await (await rawMcp(url, call('tools/call', params, 'list_keys'))).text()
    expect(called).toContain('"structuredContent"')
  })
})

describe('GET /mcp/tools and POST /mcp/tools/{name}', () => {
  it('list and call the same tools as the protocol', async () => {
    const client = await connectMcp(url, user.token)
    const { tools } = await client.listTools()
    await client.close()
    const listed = JSON.parse(
      await (await rawMcp(url, { method: 'GET', path: '/mcp/tools', token: user.token })).text(),
    )
    expect((listed as { tools: Array<{ name: string }> }).tools.map(({ name }) => name)).toEqual(
      tools.map(({ name }) => name),
    )
    for (const body of [{ limit: 1 }, { arguments: { limit: 1 } }]) {
      const called = await rawMcp(url, { path: '/mcp/tools/list_keys', token: user.token, body })
      expect(called.status).toBe(200)
      const result = JSON.parse(await called.text()) as { isError: boolean; structuredContent: object }
      expect(result).toMatchObject({ isError: false, structuredContent: { limit: 1 } })
    }
  })

  it('tell an unknown tool (404), a bad argument (400) and a failure (200) apart', async () => {
    const call = async (name: string, body: object): Promise<[number, string]> => {
      const answer = await rawMcp(url, { path: `/mcp/tools/${name}`, token: user.token, body })
      return [answer.status, await answer.text()]
    }
    expect(await call('nothing', {})).toEqual([404, expect.stringContaining('nothing')])
    expect(await call('list_enterprises', {})).toEqual([404, expect.stringContaining('NOT_FOUND')])
    expect(await call('list_keys', { limit: 1000 })).toEqual([400, expect.stringContaining('"/limit"')])
    expect(await call('list_keys', { nonsense: 1 })).toEqual([400, expect.stringContaining('"/nonsense"')])
    expect(await call('get_key', { key_id: 'key_x' })).toEqual([200, expect.stringContaining('"isError":true')])
  })
})

describe('tools, resources and prompts', () => {
  it('have valid schemas, and results that match them', async () => {
    const payer = await world.user()
    await world.key(payer)
    const client = await connectMcp(url, payer.token)
    const { tools } = await client.listTools()
    const ajv = new Ajv({ strict: false, formats: { 'date-time': true } })
    for (const { inputSchema, outputSchema, annotations } of tools) {
      ajv.compile(inputSchema)
      if (outputSchema !== undefined) ajv.compile(outputSchema)
      expect(annotations?.readOnlyHint).toBeTypeOf('boolean')
    }
    // The client checks each result against the output schema of its tool.
    const reading = tools.filter(({ annotations, inputSchema }) => {
      return annotations?.readOnlyHint === true && (inputSchema.required ?? []).length === 0
    })
    expect(reading.length).toBeGreaterThan(4)
    for (const { name } of reading) {
      const result = await client.callTool({ name, arguments: {} })
      const text = textOf(result as { content: [] })
      if (result.isError === true) expect([name, text]).toEqual([name, expect.stringContaining('enterprise_id')])
      else expect(JSON.parse(text)).toEqual(result.structuredContent)
    }
    await client.close()
  })

  it('are there to read', async () => {
    const client = await connectMcp(url, user.token)
    const { resources } = await client.listResources()
    const uris = resources.map(({ uri }) => uri)
    expect(uris).toEqual(expect.arrayContaining(['sluice://models', 'sluice://prices', 'sluice://docs/money']))
    for (const uri of uris) {
      const { contents } = await client.readResource({ uri })
      expect(contents).toMatchObject([{ uri }])
    }
    await expect(client.readResource({ uri: 'sluice://docs/../package' })).rejects.toThrow()
    const { prompts } = await client.listPrompts()
    for (const { name, arguments: known = [] } of prompts) {
      const given = Object.fromEntries(known.map((argument) => [argument.name, '12h']))
      const { messages } = await client.getPrompt({ name, arguments: given })
      expect(messages).toMatchObject([{ role: 'user', content: { type: 'text', text: /12h/ } }])
    }
    await expect(client.getPrompt({ name: 'compare_models' })).rejects.toThrow('question')
    await client.close()
  })
})
