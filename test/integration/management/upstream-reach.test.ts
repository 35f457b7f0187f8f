import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:https'
import type { Server } from 'node:https'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { itLater } from '../../support/dose.ts'
import { eventually } from '../../support/eventually.ts'
import type { TestGateway } from '../../support/gateway.ts'
import { startGateway } from '../../support/gateway.ts'
import { INNER_ADDRESSES, INNER_HOSTS, PUBLIC_ADDRESS } from '../../support/inner-addresses.ts'
import { ManagementClient } from '../../support/management-client.ts'
import { TokenEndpoint } from '../../support/token-endpoint.ts'

const NETWORK = fileURLToPath(new URL('../../support/closed-network.mjs', import.meta.url))
const tls = (name: string): Buffer => readFileSync(new URL(`../../fixtures/tls/${name}`, import.meta.url))
const INSIDE = 'what is inside of another server'

const directory = mkdtempSync(join(tmpdir(), 'sluice-network-'))
const log = join(directory, 'reached')
const innerName = (index: number): string => `inner-${index}.example.com`

let server: Server
let port: number
let gateway: TestGateway
let admin: ManagementClient
let made = 0

beforeAll(async () => {
  server = createServer({ cert: tls('localhost.crt'), key: tls('localhost.key') }, (request, response) => {
    const [, kind = ''] = request.url?.split('/') ?? []
    request.resume()
    if (kind === 'away') response.writeHead(302, { location: 'http://169.254.169.254/latest/meta-data' }).end(INSIDE)
    else if (kind === 'refused') response.writeHead(400).end(JSON.stringify({ error: { message: INSIDE } }))
    else {
      const choice = { index: 0, message: { role: 'assistant', content: 'Hello' }, finish_reason: 'stop' }
      const usage = { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 }
      const answer = { id: 'a', object: 'chat.completion', created: 1, model: 'm', choices: [choice], usage }
      response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(answer))
    }
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  port = (server.address() as AddressInfo).port
  const names: Record<string, readonly string[][]> = {
    'open.example.com': [[PUBLIC_ADDRESS]],
    'turning.example.com': [[PUBLIC_ADDRESS], ['169.254.169.254']],
    'both.example.com': [['10.0.0.1', PUBLIC_ADDRESS]],
  }
  for (const [index, address] of INNER_ADDRESSES.entries()) names[innerName(index)] = [[address]]
  const network = join(directory, 'network.json')
  writeFileSync(network, JSON.stringify({ names, here: [PUBLIC_ADDRESS], log }))
  writeFileSync(log, '')
  gateway = await startGateway({
    upstreams: [{ id: 'filed', dialect: 'openai-chat', baseUrl: 'http://127.0.0.1:1/v1', models: ['m'] }],
    env: {
      NODE_OPTIONS: `--import ${NETWORK}`,
      SLUICE_TEST_NETWORK: network,
      // The certificate here is for another name.
      NODE_TLS_REJECT_UNAUTHORIZED: '0',
    },
  })
  admin = await ManagementClient.ofAdmin(gateway)
}, 120_000)

afterAll(async () => {
  await gateway.stop()
  server.closeAllConnections()
  server.close()
  rmSync(directory, { recursive: true, force: true })
})

/** Addresses that any process of the gateway has opened a connection to, so far. */
function reached(): string[] {
  return [
    ...new Set(
      readFileSync(log, 'utf8')
        .split('\n')
        .filter((line) => line !== ''),
    ),
  ]
}

function upstreamAt(baseUrl: string, more: object = {}): { id: string; [member: string]: unknown } {
  made += 1
  const id = `made-${made}`
  const keys = [{ id: `${id}-key`, credential: 'a-credential' }]
  return { id, dialect: 'openai-chat', base_url: baseUrl, models: [`model-${made}`], keys, ...more }
}

async function create(baseUrl: string, more: object = {}): Promise<{ id: string; model: string }> {
  const body = upstreamAt(baseUrl, more)
  await admin.expect('adminCreateUpstream', 201, { body })
  return { id: body.id, model: `model-${made}` }
}

const test = async (id: string): Promise<{ readonly json: Record<string, unknown>; readonly text: string }> =>
  admin.expect('adminTestUpstream', 200, { params: { id }, body: {} })

/** Once the front knows the model. */
const chat = (model: string): Promise<Response> =>
  eventually(async () => {
    const answer = await fetch(`${gateway.url}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${gateway.apiKey}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model, messages: [{ role: 'user', content: 'hello' }] }),
    })
    if (answer.status === 404) throw new Error(`no ${model} yet`)
    return answer
  })

itLater(
  'stores no address outside the public Internet, in whatever spelling, and none without TLS',
  async () => {
    const { id } = await create(`https://open.example.com:${port}/v1`)
    const urls = [
      ...INNER_HOSTS.flatMap((host) => [`https://${host}/v1`, `http://${host}:8080/v1`]),
      'http://1.1.1.1/v1',
    ]
    const more = [
      'https://user@127.0.0.1/v1',
      'https://open.example.com@127.0.0.1/v1',
      'https://127.0.0.1#@open.example.com',
    ]
    for (const url of [...urls, 'http://open.example.com/v1', ...more, 'https://127.0.0.1\\@open.example.com/v1']) {
      const refused = await admin.call('adminCreateUpstream', { body: upstreamAt(url) })
      expect(refused.status, url).toBe(400)
      expect(refused.json['error'], url).toMatchObject({ code: 'INVALID_FIELD', param: '/base_url' })
      await admin.expect('adminUpdateUpstream', 400, { params: { id }, body: { base_url: url } })
    }
    // A server of one's own has an address that is known.
    const { base_url: _, ...local } = upstreamAt('', { provider: 'ollama' })
    await admin.expect('adminCreateUpstream', 400, { body: local })
    expect(reached()).toEqual([])
  },
  120_000,
)

it('connects to nothing where the name of an upstream turns out to be inside, whoever calls it', async () => {
  const before = reached()
  for (const index of INNER_ADDRESSES.keys()) {
    const { id } = await create(`https://${innerName(index)}/v1`)
    const { json } = await test(id)
    expect(json, INNER_ADDRESSES[index]).toMatchObject({ ok: false, status: null })
    expect(json['error']).toEqual({
      code: 'UPSTREAM_UNREACHABLE',
      message:
        'The host has no address on the public Internet, and management.private_upstreams of the configuration file does not list it.',
    })
  }
  expect((await chat(`model-${made}`)).status).toBe(503)
  expect(reached()).toEqual(before)
}, 120_000)

it('calls an upstream that is public, and not what its name turns into', async () => {
  const open = [`${PUBLIC_ADDRESS} ${port}`]
  const { id } = await create(`https://turning.example.com:${port}/v1`)
  expect((await test(id)).json).toMatchObject({ ok: true, status: 200 })
  expect((await test(id)).json).toMatchObject({ ok: false, error: { code: 'UPSTREAM_UNREACHABLE' } })
  const both = await create(`https://both.example.com:${port}/v1`)
  expect((await test(both.id)).json).toMatchObject({ ok: true })
  const answer = await chat(both.model)
  expect(answer.status, await answer.text()).toBe(200)
  expect(reached()).toEqual(open)
})

it('follows no redirect, and shows nothing of the answer but its status', async () => {
  const open = [`${PUBLIC_ADDRESS} ${port}`]
  for (const [path, status] of [
    ['away', 302],
    ['refused', 400],
  ] as const) {
    const { id, model } = await create(`https://open.example.com:${port}/${path}`)
    const { json, text } = await test(id)
    expect(json).toMatchObject({ ok: false, status })
    expect(text).not.toContain(INSIDE)
    const answer = await chat(model)
    expect(answer.ok).toBe(false)
    await answer.text()
  }
  expect(reached()).toEqual(open)
})

it('takes tokens for a service account from public addresses alone', async () => {
  const before = reached()
  const endpoint = await TokenEndpoint.start()
  const { account } = endpoint
  await endpoint.close()
  const key = (uri: string): object => ({
    base_url: `https://open.example.com:${port}/v1/projects/p/locations/l`,
    dialect: 'anthropic-vertex',
    keys: [{ credential: JSON.stringify({ ...account, token_uri: uri }) }],
  })
  for (const uri of ['http://open.example.com/token', 'https://127.0.0.1/token', 'https://metadata.google.internal/']) {
    const refused = await admin.call('adminCreateUpstream', { body: upstreamAt('', key(uri)) })
    expect(refused.json['error'], uri).toMatchObject({ code: 'INVALID_FIELD', param: '/keys/0/credential' })
  }
  const { id } = await create('', key(`https://${innerName(0)}:${port}/token`))
  expect((await test(id)).json).toMatchObject({ ok: false, status: null })
  expect(reached()).toEqual(before)
})
