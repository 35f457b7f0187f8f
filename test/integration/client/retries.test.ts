import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import {
  ApiError,
  AuthenticationError,
  ConnectionError,
  RateLimitError,
  SluiceClient,
  SluiceError,
  TimeoutError,
} from '../../../src/client/index.ts'
import type { ClientOptions } from '../../../src/client/index.ts'
import { hangUp, json, sayNothing, ScriptedServer } from '../../support/scripted-server.ts'

let server: ScriptedServer
beforeAll(async () => {
  server = await ScriptedServer.start()
})
afterAll(() => server.close())

const CHAT = { model: 'm', messages: [{ role: 'user' as const, content: 'hi' }] }
const KEY_BODY = { body: { name: 'ci' } }
const failure = (type: string, code: string) => ({
  error: { type, message: `it is ${code}`, code, param: null, request_id: 'req_1' },
})
const soon = { 'retry-after': '0' }
const busy = json(503, failure('service_unavailable', 'NO_UPSTREAM_CAPACITY'), soon)

function client(options: Partial<ClientOptions> = {}): SluiceClient {
  return new SluiceClient({ baseUrl: server.url, apiKey: 'sk-test', token: 'jwt', ...options })
}

async function failureOf(promise: Promise<unknown>): Promise<unknown> {
  return promise.then(
    () => expect.fail('it should have failed'),
    (cause: unknown) => cause,
  )
}

describe('errors', () => {
  it.each([
    [401, 'auth_error', 'KEY_UNKNOWN', AuthenticationError],
    [403, 'access_denied', 'MODEL_DENIED', ApiError],
    [404, 'invalid_request', 'MODEL_NOT_FOUND', ApiError],
    [429, 'rate_limit', 'RPM_EXCEEDED', RateLimitError],
  ])('%i is a %s', async (status, type, code, kind) => {
    server.script(json(status, failure(type, code), { 'retry-after': '7' }))
    const error = await failureOf(client({ maxRetries: 0 }).chat.create(CHAT))
    expect(error).toBeInstanceOf(kind)
    expect(error).toMatchObject({
      name: kind.name,
      message: `it is ${code}`,
      statusCode: status,
      type,
      code,
      param: null,
      requestId: 'req_1',
      retryAfterMs: 7000,
    })
    expect(server.received).toHaveLength(1)
  })

  it('are known by their status where the body is from something in between', async () => {
    server.script((response) => {
      response.writeHead(413, { 'content-type': 'text/html' })
      response.end('<h1>Too large</h1>')
    })
    const error = await failureOf(client().chat.create(CHAT))
    expect(error).toMatchObject({ statusCode: 413, type: null, code: null, requestId: null })
    expect((error as Error).message).toContain('413')
  })

  it('tell of an answer that is none of a gateway', async () => {
    server.script((response) => void response.end('<h1>Welcome</h1>'))
    const error = await failureOf(client().models.list())
    expect(error).toBeInstanceOf(SluiceError)
    expect((error as Error).message).toContain(server.url)
  })

  it('understand dates to come back at', async () => {
    const date = new Date(Date.now() + 600_000).toUTCString()
    server.script(json(429, failure('rate_limit', 'RPM_EXCEEDED'), { 'retry-after': date }))
    const error = await failureOf(client().chat.create(CHAT))
    expect((error as RateLimitError).retryAfterMs).toBeGreaterThan(400_000)
  })

  it('refuse wrong arguments before anything is sent', async () => {
    server.script(json(200, {}))
    expect(() => new SluiceClient({ baseUrl: 'nowhere' })).toThrow(TypeError)
    expect(() => new SluiceClient({ baseUrl: 'ftp://host' })).toThrow(/http/)
    await expect(client().call('getKey', { params: { id: '' } })).rejects.toThrow('params.id is missing')
    await expect(client().call('getKey', { params: { id: '..' } })).rejects.toThrow('params.id must not be ..')
    await expect(client().call('getKy' as 'listKeys')).rejects.toThrow('There is no operation getKy')
    expect(server.received).toHaveLength(0)
  })
})

describe('calls are made again', () => {
  it('after 429, 5xx and broken connections, with the same body', async () => {
    server.script(busy, json(429, failure('rate_limit', 'RPM_EXCEEDED'), soon), hangUp, json(200, { id: 'chat-1' }))
    expect(await client().chat.create(CHAT)).toEqual({ id: 'chat-1' })
    expect(server.received.map(({ body }) => JSON.parse(body) as unknown)).toEqual(
      Array.from({ length: 4 }, () => ({ ...CHAT, stream: false })),
    )
  })

  it('no more often than was said', async () => {
    server.script(busy)
    await expect(client({ maxRetries: 1 }).chat.create(CHAT)).rejects.toMatchObject({ statusCode: 503 })
    expect(server.received).toHaveLength(2)
    server.script(busy)
    await expect(client().chat.create(CHAT, { maxRetries: 0 })).rejects.toMatchObject({ statusCode: 503 })
    expect(server.received).toHaveLength(1)
  })

  it('after the time that the gateway asks for', async () => {
    server.script(json(503, failure('service_unavailable', 'STARTING'), { 'retry-after': '1' }), json(200, {}))
    const begun = performance.now()
    await client().chat.create(CHAT)
    expect(performance.now() - begun).toBeGreaterThanOrEqual(990)
  })

  it('not when that is too long, nor for a budget that is used up', async () => {
    server.script(json(429, failure('rate_limit', 'TPM_EXCEEDED'), { 'retry-after': '3600' }))
    await expect(client().chat.create(CHAT)).rejects.toMatchObject({ retryAfterMs: 3_600_000 })
    expect(server.received).toHaveLength(1)
    server.script(json(429, failure('quota_exhausted', 'BUDGET_EXHAUSTED')))
    await expect(client().chat.create(CHAT)).rejects.toBeInstanceOf(RateLimitError)
    expect(server.received).toHaveLength(1)
  })

  it('not beyond the time for all attempts', async () => {
    server.script(json(503, failure('service_unavailable', 'STARTING'), { 'retry-after': '20' }))
    await expect(client().chat.create(CHAT, { totalTimeoutMs: 5_000 })).rejects.toMatchObject({ code: 'STARTING' })
    expect(server.received).toHaveLength(1)
  })

  it('for creations under one key, also when the connection breaks', async () => {
    server.script(hangUp, busy, json(201, { id: 'key_1' }))
    await client().call('createKey', KEY_BODY)
    const keys = server.received.map(({ headers }) => headers['idempotency-key'])
    expect(keys).toHaveLength(3)
    expect(keys[0]).toMatch(/^[0-9a-f-]{36}$/)
    expect(new Set(keys).size).toBe(1)
  })

  it('with the key that the caller gave', async () => {
    server.script(hangUp, json(201, { id: 'key_1' }))
    await client().call('createKey', KEY_BODY, { idempotencyKey: 'mine' })
    expect(server.received.map(({ headers }) => headers['idempotency-key'])).toEqual(['mine', 'mine'])
  })

  it.each([
    ['login', (it: SluiceClient) => it.call('login', { body: { phone: '+12025550100', password: 'x' } })],
    ['rotateKey', (it: SluiceClient) => it.call('rotateKey', { params: { id: 'key_1' } })],
    ['toggleKey without a direction', (it: SluiceClient) => it.call('toggleKey', { params: { id: 'key_1' } })],
    [
      'an update with If-Match',
      (it: SluiceClient) => it.call('updateKey', { params: { id: 'key_1' }, body: { name: 'a' } }, { ifMatch: '"1"' }),
    ],
  ])('not for %s where it may have been carried out', async (_, call) => {
    server.script(hangUp)
    await expect(call(client())).rejects.toBeInstanceOf(ConnectionError)
    expect(server.received).toHaveLength(1)
    server.script(json(500, failure('server_error', 'INTERNAL')))
    await expect(call(client())).rejects.toMatchObject({ statusCode: 500 })
    expect(server.received).toHaveLength(1)
    server.script(busy, json(200, {}))
    await call(client())
    expect(server.received).toHaveLength(2)
  })

  it('for a toggle that says which way, a deletion, and a payment with its reference', async () => {
    server.script(hangUp, json(200, {}))
    await client().call('toggleKey', { params: { id: 'key_1' }, body: { enabled: false } })
    expect(server.received).toHaveLength(2)
    server.script(hangUp, (response) => void response.writeHead(204).end())
    expect(await client().call('deleteKey', { params: { id: 'key_1' } })).toBeNull()
    expect(server.received).toHaveLength(2)
    server.script(hangUp, json(200, {}))
    await client().call('topUpWallet', {
      params: { id: 'ent_1' },
      body: { amount: 1, currency: 'USD', reference: 'invoice 7' },
    })
    expect(server.received.map(({ headers }) => headers['idempotency-key'])).toEqual([undefined, undefined])
  })
})

describe('time', () => {
  it('is limited for each attempt', async () => {
    server.script(sayNothing, json(200, { id: 'late' }))
    expect(await client({ timeoutMs: 300 }).chat.create(CHAT)).toEqual({ id: 'late' })
    server.script(sayNothing)
    const error = await failureOf(client({ timeoutMs: 100, maxRetries: 0 }).chat.create(CHAT))
    expect(error).toBeInstanceOf(TimeoutError)
    expect((error as Error).message).toContain('100 ms')
  })

  it('is limited for bodies that do not end as well', async () => {
    server.script((response) => {
      response.writeHead(200, { 'content-type': 'application/json' })
      response.write('{"id":')
    })
    await expect(client({ timeoutMs: 200, maxRetries: 0 }).chat.create(CHAT)).rejects.toBeInstanceOf(TimeoutError)
  })

  it('is limited for all attempts together', async () => {
    server.script(sayNothing)
    await expect(client().chat.create(CHAT, { totalTimeoutMs: 300 })).rejects.toBeInstanceOf(TimeoutError)
    expect(server.received).toHaveLength(1)
  })

  it("ends with the caller's signal, also between attempts", async () => {
    server.script(sayNothing)
    const during = new AbortController()
    const waiting = failureOf(client().chat.create(CHAT, { signal: during.signal }))
    during.abort(new Error('not wanted'))
    expect(await waiting).toMatchObject({ message: 'not wanted' })
    server.script(json(503, failure('service_unavailable', 'STARTING'), { 'retry-after': '30' }))
    const between = new AbortController()
    const paused = failureOf(client().chat.create(CHAT, { signal: between.signal }))
    await expect.poll(() => server.received.length, { timeout: 10_000 }).toBe(1)
    between.abort(new Error('not wanted either'))
    expect(await paused).toMatchObject({ message: 'not wanted either' })
  })
})

it('says who calls, and how', async () => {
  server.script(json(200, { data: [] }, { etag: '"7"' }))
  const it = client({ headers: { 'x-team': 'blue' }, vendor: 'maker', baseUrl: `${server.url}/` })
  await it.chat.create(CHAT, { headers: { 'x-client-request-id': 'mine' } })
  await it.management.enterpriseKeys.listEnterpriseKeys({ params: { id: 'a/b' }, query: { page: 2, limit: 5 } })
  const { etag } = await it.callWithHeaders('getKey', { params: { id: 'key_1' } }, { ifMatch: '"6"' })
  const [chat, keys, key] = server.received
  expect(chat).toMatchObject({ method: 'POST', url: '/v1/chat/completions' })
  expect(chat?.headers).toMatchObject({
    authorization: 'Bearer sk-test',
    'maker-version': '2023-06-01',
    'content-type': 'application/json',
    'x-team': 'blue',
    'x-client-request-id': 'mine',
  })
  expect(keys).toMatchObject({ method: 'GET', url: '/v1/enterprise/a%2Fb/keys?page=2&limit=5' })
  expect(keys?.headers).toMatchObject({ authorization: 'Bearer jwt', 'x-team': 'blue' })
  expect(key?.headers['if-match']).toBe('"6"')
  expect(etag).toBe('"7"')
})

it('keeps the token of a login', async () => {
  server.script(json(200, { token: 'fresh' }), json(200, {}))
  const it = client({ token: undefined })
  expect(it.token).toBeNull()
  await it.login({ phone: '+12025550100', password: 'secret' })
  await it.management.session.me()
  expect(server.received.map(({ headers }) => headers.authorization)).toEqual([undefined, 'Bearer fresh'])
})
