import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { eventually } from '../../support/eventually.ts'
import { McpWorld } from '../../support/mcp-world.ts'
import type { McpUser } from '../../support/mcp-world.ts'
import { sluice } from '../../support/sluice.ts'

interface Seen {
  readonly method: string
  readonly url: string
  readonly headers: IncomingMessage['headers']
  readonly body: string
}

const SHOP = `
openapi: 3.1.0
info: {title: Shop, version: "1"}
paths:
  /pets/{id}:
    parameters: [{name: id, in: path, required: true, schema: {type: string}}]
    get: {operationId: getPet, summary: One pet}
    put:
      operationId: putPet
      requestBody: {required: true, content: {application/json: {schema: {type: object, properties: {name: {type: string}}, required: [name]}}}}
    delete: {operationId: deletePet}
  /photos:
    get: {operationId: photo}
    post: {operationId: upload, requestBody: {content: {multipart/form-data: {}}}}
`

let api: Server
let url: string
let world: McpWorld
let user: McpUser
let key: { id: string; key: string }
const seen: Seen[] = []
let answer: (seen: Seen, res: ServerResponse) => void

beforeAll(async () => {
  api = createServer((req, res) => {
    void text(req).then((body) => {
      const one = { method: req.method ?? '', url: req.url ?? '', headers: req.headers, body }
      seen.push(one)
      answer(one, res)
    })
  })
  api.listen(0, '127.0.0.1')
  await once(api, 'listening')
  url = `http://127.0.0.1:${(api.address() as AddressInfo).port}/v1`
  const ofFile = { id: 'file-shop', url, openapi: SHOP, allow_all_tools: true, access: [{ everyone: true }] }
  world = await McpWorld.start({
    config: { management: { private_upstreams: ['127.0.0.1'] }, mcp: { servers: [ofFile] } },
  })
  user = await world.user()
  key = await world.key(user, { mcp_tools: ['shop__*'] })
  const { json } = await world.admin.expect('adminCreateToolServer', 201, {
    body: {
      id: 'shop',
      url,
      openapi: SHOP,
      headers: { Authorization: 'Bearer shop-secret' },
      price_micro: 40,
      timeout_ms: 1_000,
      access: [{ everyone: true }],
    },
  })
  expect(json).toMatchObject({
    transport: 'openapi',
    headers: ['authorization'],
    openapi_digest: expect.stringMatching(/^[0-9a-f]{64}$/) as string,
    left_out: [{ operation: 'POST /photos', reason: 'its body is multipart/form-data' }],
  })
}, 120_000)

afterAll(async () => {
  await world.gateway.stop()
  api.closeAllConnections()
  api.close()
})

function json(status: number, value: unknown): typeof answer {
  return (_, res) => {
    res.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(value))
  }
}

async function call(name: string, input: object): Promise<Record<string, unknown>> {
  const response = await fetch(`${world.gateway.url}/mcp/tools/${name}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key.key}`, 'content-type': 'application/json' },
    body: JSON.stringify(input),
  })
  return { status: response.status, ...((await response.json()) as object) }
}

async function names(): Promise<string[]> {
  const response = await fetch(`${world.gateway.url}/mcp/tools`, { headers: { authorization: `Bearer ${key.key}` } })
  return ((await response.json()) as { tools: Array<{ name: string }> }).tools.map(({ name }) => name)
}

async function decide(allowed: readonly string[]): Promise<void> {
  const params = { id: 'shop' }
  await world.admin.expect('adminRefreshToolServer', 200, { params })
  const { json: page } = await world.admin.expect('adminListServerTools', 200, { params })
  const tools = page['data'] as Array<{ server_tool: string; digest: string }>
  const allow = tools.filter(({ server_tool: name }) => allowed.includes(name))
  const body = { allow: allow.map(({ server_tool, digest }) => ({ server_tool, digest })) }
  await world.admin.expect('adminDecideServerTools', 204, { params, body })
}

describe('an HTTP API of the configuration file', () => {
  it('has its operations as tools', async () => {
    const params = { id: 'file-shop' }
    const { json: server } = await world.admin.expect('adminRefreshToolServer', 200, { params })
    expect(server).toMatchObject({ source: 'file', transport: 'openapi', tools: { allowed: 4 } })
    answer = json(200, { name: 'Rex' })
    const own = await world.key(user, { mcp_tools: ['file-shop__*'] })
    const response = await fetch(`${world.gateway.url}/mcp/tools/file-shop__getPet`, {
      method: 'POST',
      headers: { authorization: `Bearer ${own.key}`, 'content-type': 'application/json' },
      body: '{"id":"7"}',
    })
    expect(await response.json()).toMatchObject({ isError: false, structuredContent: { name: 'Rex' } })
  })
})

describe('operations of an HTTP API', () => {
  it('are tools once an admin has chosen them', async () => {
    expect(await names()).toEqual([])
    await decide(['getPet', 'putPet', 'photo'])
    expect(await names()).toEqual(['shop__getPet', 'shop__photo', 'shop__putPet'])
    expect(await call('shop__deletePet', { id: '1' })).toMatchObject({ status: 404 })
  })

  it('are called with the credential, and have a row with their price', async () => {
    answer = json(200, { name: 'Rex' })
    expect(await call('shop__getPet', { id: 'a/b' })).toMatchObject({
      isError: false,
      structuredContent: { name: 'Rex' },
      content: [{ type: 'text', text: '{"name":"Rex"}' }],
    })
    expect(seen.at(-1)).toMatchObject({
      method: 'GET',
      url: '/v1/pets/a%2Fb',
      headers: { authorization: 'Bearer shop-secret' },
    })
    expect(seen.at(-1)?.headers).not.toHaveProperty('cookie')
    answer = (_, res) => res.writeHead(204).end()
    expect(await call('shop__putPet', { id: '7', body: { name: 'Rex' } })).toMatchObject({ isError: false })
    expect(seen.at(-1)).toMatchObject({ method: 'PUT', url: '/v1/pets/7', body: '{"name":"Rex"}' })
    await eventually(async () => {
      const rows = await world.gateway.logRows({ key_id: key.id, model: 'shop__getPet' })
      expect(rows).toMatchObject([{ endpoint: 'tools.call', status: 200, cost: 40 }])
    })
  })

  it('tell what failed, and follow no redirect', async () => {
    answer = json(404, { error: 'no such pet' })
    const missing = await call('shop__getPet', { id: '9' })
    expect(missing).toMatchObject({
      isError: true,
      content: [{ text: expect.stringMatching(/status 404.*no such pet/s) as string }],
    })
    answer = (_, res) => res.writeHead(302, { location: 'http://127.0.0.1:1/' }).end()
    expect(JSON.stringify(await call('shop__getPet', { id: '9' }))).toContain('UPSTREAM_INVALID_ANSWER')
    answer = json(401, { error: 'who are you?' })
    const refused = JSON.stringify(await call('shop__getPet', { id: '9' }))
    expect(refused).toContain('UPSTREAM_AUTH')
    expect(refused).not.toContain('who are you')
    const before = seen.length
    expect(await call('shop__getPet', { id: '..' })).toMatchObject({ status: 400, error: { param: '/id' } })
    expect(await call('shop__putPet', { id: '1', body: {} })).toMatchObject({ status: 400 })
    expect(seen).toHaveLength(before)
  })

  it('have bounds in time and size, and may give pictures', async () => {
    answer = (_, res) => res.writeHead(200, { 'content-type': 'image/png' }).end('png')
    const content = [{ type: 'image', mimeType: 'image/png', data: Buffer.from('png').toString('base64') }]
    expect(await call('shop__photo', {})).toMatchObject({ content })
    for (const type of ['text/plain', 'text/event-stream']) {
      answer = (_, res) => res.writeHead(200, { 'content-type': type }).end(':\n\n'.repeat(1_400_000))
      expect(JSON.stringify(await call('shop__photo', {}))).toContain('UPSTREAM_BODY_TOO_LARGE')
    }
    answer = () => undefined
    expect(JSON.stringify(await call('shop__photo', {}))).toContain('UPSTREAM_TIMEOUT')
  })

  it('are held when the document changes them', async () => {
    const params = { id: 'shop' }
    const openapi = SHOP.replace('summary: One pet', 'summary: Another pet')
    const { json: changed } = await world.admin.expect('adminUpdateToolServer', 200, { params, body: { openapi } })
    expect(changed).toMatchObject({ transport: 'openapi', headers: ['authorization'] })
    await world.admin.expect('adminRefreshToolServer', 200, { params })
    await eventually(async () => {
      expect(await names()).toEqual(['shop__photo', 'shop__putPet'])
    })
  })
})

it('a document that cannot be read is refused, and so is one without an operation', async () => {
  const base = { id: 'bad', url }
  const refusals: Array<readonly [object, string]> = [
    [{ openapi: 'swagger: "2.0"' }, '/openapi'],
    [{ openapi: 'openapi: 3.1.0\npaths: {}' }, '/openapi'],
    [{ openapi: SHOP, transport: 'sse' }, '/transport'],
    [{ openapi: SHOP, url: 'http://10.0.0.1' }, '/url'],
  ]
  for (const [more, param] of refusals) {
    const { json: refused } = await world.admin.expect('adminCreateToolServer', 400, { body: { ...base, ...more } })
    expect(refused).toMatchObject({ error: { param } })
  }
})

const ADD =
  'sluice mcp add shop --url https://api.example.com/v1 --openapi shop.yaml --header "Authorization: Bearer ..." --enterprise ent_1'

it('the command of the page registers an HTTP API', async () => {
  const page = readFileSync(new URL('../../../docs/mcp.md', import.meta.url), 'utf8')
  expect(page).toContain(ADD)
  const cwd = mkdtempSync(join(tmpdir(), 'sluice-openapi-'))
  writeFileSync(join(cwd, 'shop.yaml'), SHOP)
  const here = ADD.replace('add shop', 'add store').replace('https://api.example.com/v1', url)
  const words = [...here.matchAll(/"([^"]*)"|(\S+)/g)].map(([, quoted, plain]) => quoted ?? plain ?? '')
  const env = { SLUICE_URL: world.gateway.url, SLUICE_TOKEN: world.admin.token ?? '' }
  const said = await sluice(words.slice(1), { env, cwd })
  rmSync(cwd, { recursive: true })
  expect(said).toMatchObject({ code: 0, stdout: expect.stringContaining('4 wait for an admin') as string })
}, 60_000)
