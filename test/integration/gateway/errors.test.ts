import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Simulator } from '../../../src/simulator/simulator.ts'
import { startSimulator } from '../../../src/simulator/simulator.ts'
import {
  arrivals,
  call,
  chat,
  expectChatError,
  expectMessagesError,
  expectRow,
  HELLO,
  HELLO_MESSAGES,
  messages,
  uniqueMark,
} from '../../support/ai-calls.ts'
import type { TestGateway } from '../../support/gateway.ts'
import { startGateway } from '../../support/gateway.ts'

let simulator: Simulator
let gateway: TestGateway

beforeAll(async () => {
  simulator = await startSimulator()
  const baseUrl = `${simulator.origin}/v1`
  gateway = await startGateway({
    upstreams: [
      { dialect: 'openai-chat', baseUrl, models: ['m'] },
      { dialect: 'anthropic-messages', baseUrl, models: ['c'] },
      { id: 'g1', dialect: 'gemini', baseUrl: simulator.origin, models: ['gemini-bare'] },
      { id: 'g2', dialect: 'gemini', baseUrl: `${simulator.origin}/v1beta`, models: ['gemini-versioned'] },
    ],
  })
})

afterAll(async () => {
  await gateway.stop()
  await simulator.close()
})

const hello = HELLO.messages[0]

/** Members over a good request, and the pointer of what is wrong then. */
const BAD_IN_BOTH: ReadonlyArray<readonly [name: string, members: Record<string, unknown>, pointer: string]> = [
  ['no model', { model: undefined }, '/model'],
  ['an empty model', { model: '' }, '/model'],
  ['a model that is a number', { model: 5 }, '/model'],
  ['no messages', { messages: undefined }, '/messages'],
  ['an empty list of messages', { messages: [] }, '/messages'],
  ['messages that are a string', { messages: 'Hello' }, '/messages'],
  ['a message without a role', { messages: [hello, { content: 'x' }] }, '/messages/1/role'],
  ['an unknown role', { messages: [{ role: 'wizard', content: 'x' }] }, '/messages/0/role'],
  ['a message that is a string', { messages: ['Hello'] }, '/messages/0'],
  ['content that is a number', { messages: [{ role: 'user', content: 5 }] }, '/messages/0/content'],
  ['a part without a type', { messages: [{ role: 'user', content: [{ text: 'x' }] }] }, '/messages/0/content/0/type'],
  ['a negative temperature', { temperature: -0.1 }, '/temperature'],
  ['a temperature that is a string', { temperature: '1' }, '/temperature'],
  ['top_p above 1', { top_p: 1.1 }, '/top_p'],
  ['max_tokens of zero', { max_tokens: 0 }, '/max_tokens'],
  ['max_tokens with a fraction', { max_tokens: 1.5 }, '/max_tokens'],
  ['stream that is a string', { stream: 'true' }, '/stream'],
  ['tools that are an object', { tools: {} }, '/tools'],
]
const BAD_IN_CHAT: typeof BAD_IN_BOTH = [
  ['a temperature above 2', { temperature: 2.1 }, '/temperature'],
  ['n of zero', { n: 0 }, '/n'],
  ['n above 128', { n: 129 }, '/n'],
  ['a penalty above 2', { presence_penalty: 2.5 }, '/presence_penalty'],
  ['a stop that is a number', { stop: 7 }, '/stop'],
  ['max_completion_tokens of zero', { max_completion_tokens: 0 }, '/max_completion_tokens'],
]
const BAD_IN_MESSAGES: typeof BAD_IN_BOTH = [
  ['a temperature above 1', { temperature: 1.1 }, '/temperature'],
  ['no max_tokens', { max_tokens: undefined }, '/max_tokens'],
  ['a negative top_k', { top_k: -1 }, '/top_k'],
]

describe('names the field by its pointer and asks no upstream, on chat, for', () => {
  it.each([...BAD_IN_BOTH, ...BAD_IN_CHAT])('%s', async (_name, members, param) => {
    const mark = uniqueMark()
    const answer = await chat(gateway, { user: mark, ...members })
    expectChatError(answer, { status: 400, type: 'invalid_request', code: 'INVALID_FIELD', param })
    expect(arrivals(simulator, mark)).toEqual([])
  })
})

describe('names the field by its pointer and asks no upstream, on messages, for', () => {
  it.each([...BAD_IN_BOTH, ...BAD_IN_MESSAGES])('%s', async (_name, members, param) => {
    const mark = uniqueMark()
    const answer = await messages(gateway, { metadata: { user_id: mark }, ...members })
    expectMessagesError(answer, { status: 400, type: 'invalid_request', param })
    expect(arrivals(simulator, mark)).toEqual([])
  })
})

it('checks the fields of a token count, which needs no max_tokens', async () => {
  const path = '/v1/messages/count_tokens'
  expect((await call(gateway, { path, body: { ...HELLO, model: 'c' } })).status).toBe(200)
  const answer = await call(gateway, { path, body: { model: 'c', messages: [{ role: 'user' }] } })
  expectMessagesError(answer, { status: 400, type: 'invalid_request', param: '/messages/0/content' })
})

it('refuses doubled and forbidden names in known places and lets them pass elsewhere', async () => {
  const text = (extra: string): string => `{"model":"m","messages":[{"role":"user","content":"Hello there"}]${extra}}`
  const send = (body: string): ReturnType<typeof call> => call(gateway, { path: '/v1/chat/completions', body })
  expectChatError(await send(text(',"model":"x"')), {
    status: 400,
    type: 'invalid_request',
    code: 'DUPLICATE_FIELD',
    param: '/model',
  })
  expectChatError(await send(text(',"__proto__":{}')), {
    status: 400,
    type: 'invalid_request',
    code: 'FORBIDDEN_FIELD',
    param: '/__proto__',
  })
  expect((await send(text(',"metadata":{"__proto__":"x","a":"1","a":"2"}'))).status).toBe(200)
})

const BROKEN: ReadonlyArray<readonly [name: string, body: string | Buffer, code: string]> = [
  ['an empty body', '', 'INVALID_JSON'],
  ['half a body', '{"model":"m","messages":[', 'INVALID_JSON'],
  ['a trailing comma', '{"model":"m",}', 'INVALID_JSON'],
  ['a byte order mark', `\uFEFF${JSON.stringify(HELLO)}`, 'INVALID_JSON'],
  ['bytes that are no UTF-8', Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d]), 'INVALID_ENCODING'],
  ['65 levels', `{"model":"m","x":${'['.repeat(65)}${']'.repeat(65)}}`, 'JSON_TOO_DEEP'],
]

describe('refuses in both dialects, and logs,', () => {
  it.each(BROKEN)('%s', async (_name, body, code) => {
    const inChat = await call(gateway, { path: '/v1/chat/completions', body })
    expectChatError(inChat, { status: 400, type: 'invalid_request', code })
    const inMessages = await call(gateway, { path: '/v1/messages', body })
    expectMessagesError(inMessages, { status: 400, type: 'invalid_request' })
    const refusal = { status: 400, error_type: 'invalid_request', error_code: code, settlement: 'none', attempts: 0 }
    await expectRow(gateway, inChat, { ...refusal, endpoint: 'chat.completions', model: null, prompt_tokens: 0 })
    await expectRow(gateway, inMessages, { ...refusal, endpoint: 'messages' })
  })
})

it('says where a body stops being JSON and never quotes it', async () => {
  const answer = await call(gateway, { path: '/v1/chat/completions', body: '{\n"model": "secret-word",\n oops}' })
  expectChatError(answer, {
    status: 400,
    type: 'invalid_request',
    code: 'INVALID_JSON',
    message: /line 3, column 2 \(byte \d+\)/,
  })
  expect(answer.text).not.toMatch(/secret-word|oops/)
})

it('answers 400 on the messages paths without a version header, or with one that is no date', async () => {
  for (const path of ['/v1/messages', '/anthropic/v1/messages', '/v1/messages/count_tokens']) {
    const missing = await call(gateway, { path, body: HELLO_MESSAGES, headers: { 'anthropic-version': null } })
    expectMessagesError(missing, { status: 400, type: 'invalid_request', message: /version/i })
    await expectRow(gateway, missing, { status: 400, error_code: 'MISSING_VERSION' })
    for (const version of ['latest', '2023-6-1', '2023-02-30', '2023-06-01x']) {
      const bad = await call(gateway, { path, body: HELLO_MESSAGES, headers: { 'anthropic-version': version } })
      expectMessagesError(bad, { status: 400, type: 'invalid_request', message: /version/i })
    }
  }
})

it('wants no version header on chat', async () => {
  expect((await chat(gateway, {}, { 'anthropic-version': 'nonsense' })).status).toBe(200)
})

it('answers 415 to a body that is not declared as JSON, and takes one with a charset or without a type', async () => {
  for (const type of ['text/plain', 'application/x-www-form-urlencoded', 'multipart/form-data', 'application/jsonx']) {
    const answer = await chat(gateway, {}, { 'content-type': type })
    expectChatError(answer, { status: 415, type: 'invalid_request', code: 'UNSUPPORTED_MEDIA_TYPE' })
    expectMessagesError(await messages(gateway, {}, { 'content-type': type }), { status: 415, type: 'invalid_request' })
  }
  for (const type of ['application/json; charset=utf-8', 'APPLICATION/JSON', 'application/vnd.x+json']) {
    expect((await chat(gateway, {}, { 'content-type': type })).status).toBe(200)
  }
  const untyped = Buffer.from(JSON.stringify(HELLO))
  const answer = await call(gateway, { path: '/v1/chat/completions', body: untyped, headers: { 'content-type': null } })
  expect(answer.status).toBe(200)
})

it('answers 404 to an unknown model, in either dialect, and asks nobody', async () => {
  const mark = uniqueMark()
  for (const model of ['no-such-model', 'M', 'm ']) {
    const answer = await chat(gateway, { model, user: mark })
    expectChatError(answer, { status: 404, type: 'invalid_request', code: 'MODEL_NOT_FOUND', param: '/model' })
    await expectRow(gateway, answer, {
      status: 404,
      model,
      error_type: 'invalid_request',
      error_code: 'MODEL_NOT_FOUND',
      settlement: 'none',
      attempts: 0,
    })
  }
  const inMessages = await messages(gateway, { model: 'no-such-model', metadata: { user_id: mark } })
  expectMessagesError(inMessages, { status: 404, type: 'invalid_request', param: '/model' })
  expect(arrivals(simulator, mark)).toEqual([])
})

it('answers 404 and 405 in the contract’s shape where there is no route', async () => {
  expectChatError(await call(gateway, { path: '/v1/nothing-here' }), {
    status: 404,
    type: 'invalid_request',
    code: 'ROUTE_NOT_FOUND',
  })
  const wrongMethod = { status: 405, type: 'invalid_request', code: 'METHOD_NOT_ALLOWED' }
  expectChatError(await call(gateway, { path: '/v1/chat/completions' }), wrongMethod)
  expectChatError(await call(gateway, { path: '/v1/models', body: {} }), wrongMethod)
  expectMessagesError(await call(gateway, { path: '/v1/messages' }), wrongMethod)
})

const MISTAKES: ReadonlyArray<readonly [path: string, hint: RegExp]> = [
  ['/v1/nothing-here', /nothing at \/v1\/nothing-here\. GET \/openapi\.json/],
  ['/chat/completions', /^There is nothing at \/chat\/completions\. \/v1 is missing: .* \/v1\/chat\/completions\.$/],
  ['/v1/v1/chat/completions', /holds \/v1 twice: send the request to \/v1\/chat\/completions\.$/],
  ['/v1/chat/completions/', /ends in a slash: send the request to \/v1\/chat\/completions\.$/],
  ['/v1//chat/completions', /doubled slash: send the request to \/v1\/chat\/completions\.$/],
  ['//v1/chat/completions', /doubled slash: send the request to \/v1\/chat\/completions\.$/],
  ['/v1/chat/completions/chat/completions', /Send the request to \/v1\/chat\/completions\.$/],
  ['/openai/v1/embeddings', /Send the request to \/v1\/embeddings\.$/],
  ['/api/v1/chat/completions', /Send the request to \/v1\/chat\/completions\.$/],
  ['/models/', /\/v1 is missing: send the request to \/v1\/models\.$/],
  ['/v1/models/', /ends in a slash: send the request to \/v1\/models\.$/],
  ['/v1/api/keys', /Send the request to \/api\/keys\.$/],
  ['/api/keys/', /ends in a slash: send the request to \/api\/keys\.$/],
  ['//v1/admin/users', /doubled slash: send the request to \/v1\/admin\/users\.$/],
  ['/responses', /\/v1 is missing: send the request to \/v1\/responses\.$/],
  ['/v1/v1/responses', /holds \/v1 twice: send the request to \/v1\/responses\.$/],
]
const MESSAGES_MISTAKES: typeof MISTAKES = [
  ['/messages', /\/v1 is missing: send the request to \/v1\/messages\.$/],
  ['/v1/v1/messages', /holds \/v1 twice: send the request to \/v1\/messages\.$/],
  ['/v1/messages/', /ends in a slash: send the request to \/v1\/messages\.$/],
  ['/v1//messages/count_tokens', /doubled slash: send the request to \/v1\/messages\/count_tokens\.$/],
  ['/v1/messages/batches', /nothing at \/v1\/messages\/batches\. GET \/openapi\.json/],
  ['/anthropic/v1/v1/messages', /holds \/v1 twice: send the request to \/v1\/messages\.$/],
  ['/anthropic/v1/complete', /nothing at \/anthropic\/v1\/complete\. GET/],
]

describe('names an unknown path in the shape of its dialect, and hints at the right one:', () => {
  const refused = { status: 404, type: 'invalid_request' }

  it.each(MISTAKES)('%s', async (path, message) => {
    for (const method of path.includes('models') ? ['GET'] : ['GET', 'POST']) {
      const answer = await call(gateway, { path, method, ...(method === 'POST' ? { body: HELLO } : {}) })
      expectChatError(answer, { ...refused, code: 'ROUTE_NOT_FOUND', message })
      expect(answer.headers.get('x-request-id')).toMatch(/^req_/)
    }
  })

  it.each(MESSAGES_MISTAKES)('%s', async (path, message) => {
    for (const method of ['GET', 'POST']) {
      const answer = await call(gateway, { path, method, ...(method === 'POST' ? { body: HELLO_MESSAGES } : {}) })
      expectMessagesError(answer, { ...refused, message })
      expect(answer.headers.get('request-id')).toMatch(/^req_/)
    }
  })

  it('shows no more than the beginning of a long one', async () => {
    const answer = await call(gateway, { path: `/v1/${'x'.repeat(5_000)}` })
    expectChatError(answer, {
      ...refused,
      code: 'ROUTE_NOT_FOUND',
      message: /^There is nothing at \/v1\/x{196}…\. GET/,
    })
  })
})

it('bounds how many images and videos one request may ask for', async () => {
  for (const path of ['/v1/images/generations', '/v1/video/generations']) {
    const answer = await call(gateway, { path, body: { model: 'm', prompt: 'a cat', n: 11 } })
    expectChatError(answer, { status: 400, type: 'invalid_request', code: 'INVALID_FIELD', param: '/n' })
  }
})

it('answers 413 to a management body that is too large, whoever sends it', async () => {
  const body = JSON.stringify({ phone: 'x'.repeat(4 * 1024 * 1024) })
  for (const path of ['/api/auth/login', '/api/keys', '/v1/admin/users']) {
    const answer = await call(gateway, { path, body, headers: { authorization: null } })
    const message = /larger than 4194304 bytes/
    expectChatError(answer, { status: 413, type: 'invalid_request', code: 'BODY_TOO_LARGE', message })
  }
})

it('reaches Gemini whether or not its base_url names the version of the API', async () => {
  for (const model of ['gemini-bare', 'gemini-versioned']) {
    const answer = await chat(gateway, { model })
    expect(answer.status, answer.text).toBe(200)
    expect(simulator.requests().at(-1)?.path).toBe(`/v1beta/models/${model}:generateContent`)
  }
})

it('says with every 401 how to authenticate and with every 405 what the path takes, on all planes', async () => {
  const none = { authorization: null, 'x-api-key': null }
  for (const path of ['/v1/models', '/anthropic/v1/models', '/api/keys', '/v1/admin/users', '/metrics']) {
    const answer = await call(gateway, { path, headers: none })
    expect([path, answer.status, answer.headers.get('www-authenticate')]).toEqual([
      path,
      401,
      expect.stringMatching(/^Bearer/),
    ])
  }
  const takes = [
    ['DELETE', '/v1/chat/completions', 'POST'],
    ['DELETE', '/v1/responses', 'POST'],
    ['DELETE', '/anthropic/v1/messages', 'POST'],
    ['DELETE', '/v1/models', 'GET'],
    ['DELETE', '/v1/models/m', 'GET'],
    ['DELETE', '/health', 'GET'],
    ['DELETE', '/metrics', 'GET'],
    ['GET', '/api/auth/login', 'POST'],
  ] as const
  for (const [method, path, allow] of takes) {
    const answer = await call(gateway, { path, method })
    expect([path, answer.status, answer.headers.get('allow')]).toEqual([path, 405, allow])
  }
})

it('says on the management plane, too, how to authenticate and what a path takes', async () => {
  const unknown = await call(gateway, { path: '/v1/admin/users', headers: { authorization: 'Bearer x' } })
  expect([unknown.status, unknown.headers.get('www-authenticate')]).toEqual([401, 'Bearer realm="Sluice"'])
  const wrong = await call(gateway, { path: '/v1/admin/users', method: 'DELETE' })
  expect([wrong.status, wrong.headers.get('allow')?.split(', ').sort()]).toEqual([405, ['GET', 'POST']])
})
