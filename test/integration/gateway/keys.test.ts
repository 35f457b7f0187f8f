import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { generateApiKey } from '../../../src/shared/core/api-key.ts'
import type { Simulator } from '../../../src/simulator/simulator.ts'
import { startSimulator } from '../../../src/simulator/simulator.ts'
import type { CallHeaders } from '../../support/ai-calls.ts'
import {
  arrivals,
  call,
  chat,
  expectChatError,
  expectMessagesError,
  expectRow,
  HELLO,
  messages,
  uniqueMark,
} from '../../support/ai-calls.ts'
import type { TestGateway } from '../../support/gateway.ts'
import { startGateway } from '../../support/gateway.ts'

const KEYS = {
  disabled: { name: 'disabled', key: generateApiKey(), enabled: false },
  expired: { name: 'expired', key: generateApiKey(), expires_at: '2020-01-31T00:00:00Z' },
  lasting: { name: 'lasting', key: generateApiKey(), expires_at: '2999-01-31T00:00:00Z' },
  oneModel: { name: 'one model', key: generateApiKey(), models: ['m', 'c'] },
  elsewhere: { name: 'elsewhere', key: generateApiKey(), ip_allow: ['10.0.0.0/8', '203.0.113.7'] },
  here: { name: 'here', key: generateApiKey(), ip_allow: ['127.0.0.0/8'] },
  oneClient: { name: 'one client', key: generateApiKey(), client_allow: ['claude-cli/', 'aider'] },
}
const UNKNOWN = generateApiKey()

let simulator: Simulator
let gateway: TestGateway

beforeAll(async () => {
  simulator = await startSimulator()
  const baseUrl = `${simulator.origin}/v1`
  gateway = await startGateway({
    upstreams: [
      { dialect: 'openai-chat', baseUrl, models: ['m', 'other'] },
      { dialect: 'anthropic-messages', baseUrl, models: ['c', 'other-c'] },
    ],
    keys: Object.values(KEYS),
    config: { server: { trusted_proxies: ['127.0.0.1/32'] } },
  })
  // Tests that run at the same time share it.
  await gateway.adminToken()
})

afterAll(async () => {
  await gateway.stop()
  await simulator.close()
})

const bearer = (key: string): CallHeaders => ({ authorization: `Bearer ${key}` })

describe('takes a key', () => {
  it.concurrent.each([
    ['as a bearer token', (key: string) => ({ authorization: `Bearer ${key}` })],
    ['as a bearer token, whatever the case of the scheme', (key: string) => ({ authorization: `bEARER  ${key}` })],
    ['as X-API-Key', (key: string) => ({ authorization: null, 'x-api-key': key })],
    [
      'as X-API-Key beside an Authorization of another kind',
      (key: string) => ({ authorization: 'Basic eDp5', 'x-api-key': key }),
    ],
    [
      'as X-API-Key beside a bearer token that is none of ours',
      (key: string) => ({ authorization: 'Bearer x', 'x-api-key': key }),
    ],
  ])('%s, in both dialects', async (_name, headers: (key: string) => CallHeaders) => {
    expect((await chat(gateway, {}, headers(gateway.apiKey))).status).toBe(200)
    expect((await messages(gateway, {}, headers(gateway.apiKey))).status).toBe(200)
    expect((await call(gateway, { path: '/v1/models', headers: headers(gateway.apiKey) })).status).toBe(200)
  })
})

/** The key with one character of it changed. */
const mistyped = (key: string): string => key.slice(0, 10) + (key[10] === 'A' ? 'B' : 'A') + key.slice(11)

describe('answers 401 in both dialects, and asks no upstream, for', () => {
  it.concurrent.each<readonly [name: string, headers: () => CallHeaders, code: string]>([
    ['no key', () => ({ authorization: null }), 'KEY_MISSING'],
    ['an empty bearer token', () => ({ authorization: 'Bearer ' }), 'KEY_MISSING'],
    ['a password', () => ({ authorization: 'Basic eDp5' }), 'KEY_MISSING'],
    ['a token of another kind', () => bearer('eyJhbGciOiJIUzI1NiJ9.e30.x'), 'KEY_UNKNOWN'],
    ['a well-formed key that nobody has', () => bearer(UNKNOWN), 'KEY_UNKNOWN'],
    ['a mistyped key', () => bearer(mistyped(gateway.apiKey)), 'KEY_UNKNOWN'],
    ['a mistyped X-API-Key', () => ({ authorization: null, 'x-api-key': mistyped(gateway.apiKey) }), 'KEY_UNKNOWN'],
    ['a key cut short', () => bearer(gateway.apiKey.slice(0, -1)), 'KEY_UNKNOWN'],
    ['a disabled key', () => bearer(KEYS.disabled.key), 'KEY_DISABLED'],
    ['an expired key', () => bearer(KEYS.expired.key), 'KEY_EXPIRED'],
  ])('%s', async (_name, headers, code) => {
    const mark = uniqueMark()
    const inChat = await chat(gateway, { user: mark }, headers())
    expectChatError(inChat, { status: 401, type: 'auth_error', code })
    expect(inChat.headers.get('x-ratelimit-limit-requests')).toBeNull()
    const inMessages = await messages(gateway, { metadata: { user_id: mark } }, headers())
    expectMessagesError(inMessages, { status: 401, type: 'auth_error' })
    const models = await call(gateway, { path: '/v1/models', headers: headers() })
    expectChatError(models, { status: 401, type: 'auth_error', code })
    expect(arrivals(simulator, mark)).toEqual([])
    await expectRow(gateway, inChat, {
      status: 401,
      error_type: 'auth_error',
      error_code: code,
      settlement: 'none',
      attempts: 0,
      ...(code === 'KEY_DISABLED' || code === 'KEY_EXPIRED'
        ? { key: expect.stringMatching(/^sk-.{4}…/) as string, key_id: expect.any(String) as string }
        : { key: null, key_id: null }),
    })
  })
})

it.concurrent('never repeats a presented key in an answer or in its own output', async () => {
  const answer = await chat(gateway, {}, bearer(UNKNOWN))
  expect(answer.text).not.toContain(UNKNOWN)
  expect(gateway.output).not.toContain(UNKNOWN)
  expect(gateway.output).not.toContain(gateway.apiKey)
})

it.concurrent('takes a key that has not expired yet, and logs keys masked', async () => {
  const answer = await chat(gateway, {}, bearer(KEYS.lasting.key))
  expect(answer.status).toBe(200)
  const row = await expectRow(gateway, answer, { status: 200 })
  const { key } = KEYS.lasting
  expect(row.key).toBe(`${key.slice(0, 7)}…${key.slice(-4)}`)
  expect(JSON.stringify(row)).not.toContain(key)
})

it.concurrent('answers 403 to a key that may not use the model, in both dialects', async () => {
  const headers = bearer(KEYS.oneModel.key)
  const mark = uniqueMark()
  expect((await chat(gateway, {}, headers)).status).toBe(200)
  const inChat = await chat(gateway, { model: 'other', user: mark }, headers)
  expectChatError(inChat, { status: 403, type: 'access_denied', code: 'MODEL_DENIED', param: '/model' })
  const inMessages = await messages(gateway, { model: 'other-c', metadata: { user_id: mark } }, headers)
  expectMessagesError(inMessages, { status: 403, type: 'access_denied', param: '/model' })
  const counted = await call(gateway, {
    path: '/v1/messages/count_tokens',
    body: { ...HELLO, model: 'other-c' },
    headers,
  })
  expectMessagesError(counted, { status: 403, type: 'access_denied', param: '/model' })
  expect(inChat.headers.get('x-ratelimit-limit-requests')).not.toBeNull()
  expect(arrivals(simulator, mark)).toEqual([])
  const row = { status: 403, error_type: 'access_denied', error_code: 'MODEL_DENIED', model: 'other', attempts: 0 }
  await expectRow(gateway, inChat, { ...row, settlement: 'none' })
})

it.concurrent('answers 403 to a key from an address it may not be used from', async () => {
  const denied = bearer(KEYS.elsewhere.key)
  const inChat = await chat(gateway, {}, denied)
  expectChatError(inChat, { status: 403, type: 'access_denied', code: 'ADDRESS_DENIED' })
  expectMessagesError(await messages(gateway, {}, denied), { status: 403, type: 'access_denied' })
  expect((await chat(gateway, {}, bearer(KEYS.here.key))).status).toBe(200)
  await expectRow(gateway, inChat, { status: 403, error_code: 'ADDRESS_DENIED', client_address: '127.0.0.1' })
})

it.concurrent('believes a trusted proxy about the address, and no hop before it', async () => {
  const from = (chain: string): CallHeaders => ({ ...bearer(KEYS.elsewhere.key), 'x-forwarded-for': chain })
  const inside = await chat(gateway, {}, from('203.0.113.7'))
  expect(inside.status).toBe(200)
  await expectRow(gateway, inside, { status: 200, client_address: '203.0.113.7' })
  const claimed = await chat(gateway, {}, from('203.0.113.7, 198.51.100.1'))
  expectChatError(claimed, { status: 403, type: 'access_denied', code: 'ADDRESS_DENIED' })
})

it.concurrent('answers 403 to clients that a key is not for', async () => {
  const as = (userAgent: string): CallHeaders => ({ ...bearer(KEYS.oneClient.key), 'user-agent': userAgent })
  expect((await chat(gateway, {}, as('claude-cli/2.0 (external)'))).status).toBe(200)
  expect((await messages(gateway, {}, as('aider/0.80'))).status).toBe(200)
  for (const userAgent of ['curl/8', 'x claude-cli/2.0', 'Claude-CLI/2.0']) {
    const answer = await chat(gateway, {}, as(userAgent))
    expectChatError(answer, { status: 403, type: 'access_denied', code: 'CLIENT_DENIED' })
    await expectRow(gateway, answer, { status: 403, error_code: 'CLIENT_DENIED', user_agent: userAgent })
  }
  expectMessagesError(await messages(gateway, {}, as('curl/8')), { status: 403, type: 'access_denied' })
})
