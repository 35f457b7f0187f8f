import { afterAll, beforeAll, expect, it } from 'vitest'
import type { Simulator } from '../../../src/simulator/simulator.ts'
import { startSimulator } from '../../../src/simulator/simulator.ts'
import type { Answer } from '../../support/ai-calls.ts'
import {
  arrivals,
  call,
  chat,
  expectNothingLeaked,
  expectRow,
  HELLO,
  messages,
  steering,
  uniqueMark,
} from '../../support/ai-calls.ts'
import type { TestGateway } from '../../support/gateway.ts'
import { startGateway } from '../../support/gateway.ts'

const REQUEST_ID = /^req_[0-9A-Za-z]{10,}$/
const RATE_LIMITS = ['limit', 'remaining', 'reset'].flatMap((word) => [
  `x-ratelimit-${word}-requests`,
  `x-ratelimit-${word}-tokens`,
])

let simulator: Simulator
let gateway: TestGateway

beforeAll(async () => {
  simulator = await startSimulator()
  const baseUrl = `${simulator.origin}/v1`
  const more = { headers: { 'X-Configured': 'yes' } }
  gateway = await startGateway({
    upstreams: [
      { dialect: 'openai-chat', baseUrl, models: ['m'], more },
      { dialect: 'anthropic-messages', baseUrl, models: ['c'] },
    ],
  })
})

afterAll(async () => {
  await gateway.stop()
  await simulator.close()
})

/** One answer of each kind to a caller that is known. */
function authenticated(): Promise<Answer[]> {
  const bad = steering({ status: 400 })
  return Promise.all([
    chat(gateway),
    chat(gateway, { stream: true }),
    messages(gateway),
    messages(gateway, { stream: true }),
    call(gateway, { path: '/v1/messages/count_tokens', body: { ...HELLO, model: 'c' } }),
    call(gateway, { path: '/v1/models' }),
    call(gateway, { path: '/v1/models/m' }),
    chat(gateway, { temperature: 9 }),
    messages(gateway, { max_tokens: -1 }),
    chat(gateway, { model: 'nobody' }),
    call(gateway, { path: '/v1/models/nobody' }),
    chat(gateway, {}, { 'content-type': 'text/plain' }),
    chat(gateway, { messages: bad }),
    messages(gateway, { messages: bad }),
    chat(gateway, { messages: steering({ status: 500 }) }),
  ])
}

it('carries the six rate limit headers and the timing on every answer to a known caller', async () => {
  for (const answer of await authenticated()) {
    for (const name of RATE_LIMITS) expect(answer.headers.get(name), `${name} ${answer.text}`).toMatch(/^\d+$/)
    expect(Number(answer.headers.get('x-ratelimit-remaining-requests'))).toBeLessThan(
      Number(answer.headers.get('x-ratelimit-limit-requests')),
    )
    const timing = answer.headers.get('server-timing') ?? ''
    const names = [...timing.matchAll(/(\w+);dur=\d+\.\d\d/g)].map((match) => match[1])
    expect(names).toEqual(['auth', 'limit', 'translate', 'queue', 'upstream', 'overhead'])
  }
})

it('gives every answer a request id of its own, whoever asks for whatever', async () => {
  const stranger = { authorization: null }
  const answers = [
    ...(await authenticated()),
    ...(await Promise.all([
      chat(gateway, {}, stranger),
      messages(gateway, {}, stranger),
      call(gateway, { path: '/v1/models', headers: stranger }),
      call(gateway, { path: '/nothing' }),
      call(gateway, { path: '/v1/messages' }),
      call(gateway, { path: '/health' }),
      call(gateway, { path: '/health/live' }),
      call(gateway, { path: '/health/ready' }),
      call(gateway, { path: '/v1/admin/logs' }),
      call(gateway, { path: '/api/auth/login', body: {} }),
    ])),
  ]
  for (const answer of answers) {
    expect(answer.id, answer.text).toMatch(REQUEST_ID)
    expectNothingLeaked(answer)
  }
  expect(new Set(answers.map(({ id }) => id)).size).toBe(answers.length)
})

it('repeats the request id under the name that messages clients read', async () => {
  const answers = await Promise.all([
    messages(gateway),
    messages(gateway, { stream: true }),
    messages(gateway, {}, { 'anthropic-version': null }),
    messages(gateway, {}, { authorization: null }),
    call(gateway, { path: '/v1/messages/count_tokens', body: { ...HELLO, model: 'c' } }),
  ])
  for (const answer of answers) expect(answer.headers.get('request-id')).toBe(answer.id)
})

it('keeps its own request id and logs the client’s beside it', async () => {
  const mine = uniqueMark()
  const answer = await chat(gateway, {}, { 'x-client-request-id': mine, 'x-request-id': 'req_of-the-client' })
  expect(answer.id).toMatch(REQUEST_ID)
  expect(answer.id).not.toBe('req_of-the-client')
  await expectRow(gateway, answer, { status: 200, client_request_id: mine, client_address: '127.0.0.1' })
  expect(await gateway.logRows({ request_id: mine })).toHaveLength(1)

  const long = await chat(gateway, {}, { 'x-client-request-id': 'x'.repeat(400) })
  await expectRow(gateway, long, { status: 200, client_request_id: 'x'.repeat(128) })
})

it('lets nothing of the upstream’s headers through but what is listed', async () => {
  const upstream = {
    'set-cookie': 'session=upstream',
    server: 'upstream-server',
    'x-request-id': 'upstream-request',
    'openai-organization': 'upstream-organization',
    'x-ratelimit-limit-requests': '424242',
    'retry-after': '424242',
    'cf-ray': 'upstream-ray',
    'openai-processing-ms': '17',
  }
  for (const stream of [false, true]) {
    const answer = await chat(gateway, { messages: steering({ headers: upstream }), stream })
    expect(answer.status).toBe(200)
    expect(answer.headers.get('openai-processing-ms')).toBe('17')
    expect(JSON.stringify([...answer.headers])).not.toMatch(/upstream-|session=|424242/)
  }
})

it('sends the upstream no header of the client’s but those it needs', async () => {
  const mark = uniqueMark()
  await chat(
    gateway,
    { user: mark },
    {
      cookie: 'session=client',
      'x-api-key': gateway.apiKey,
      'x-forwarded-for': '203.0.113.9',
      'openai-organization': 'org-of-the-client',
      'openai-beta': 'assistants=v2',
      'accept-encoding': 'gzip, br',
      'x-custom': 'client',
    },
  )
  const headers = arrivals(simulator, mark)[0]?.headers ?? {}
  expect(headers).toMatchObject({
    authorization: 'Bearer upstream-credential-0',
    'content-type': 'application/json',
    'accept-encoding': 'identity',
    'openai-beta': 'assistants=v2',
    'x-configured': 'yes',
  })
  expect(JSON.stringify(headers)).not.toContain(gateway.apiKey)
  const allowed =
    /^(?:accept|accept-encoding|authorization|connection|content-(?:length|type)|host|openai-beta|traceparent|user-agent|x-configured)$/
  expect(Object.keys(headers).filter((name) => !allowed.test(name))).toEqual([])
})

it('declares a stream as one, not to be cached or buffered on the way', async () => {
  for (const answer of [await chat(gateway, { stream: true }), await messages(gateway, { stream: true })]) {
    expect(answer.headers.get('content-type')).toBe('text/event-stream; charset=utf-8')
    expect(answer.headers.get('cache-control')).toBe('no-cache')
    expect(answer.headers.get('x-accel-buffering')).toBe('no')
  }
})

it('names neither its software nor a cookie', async () => {
  for (const { headers } of [await chat(gateway), await call(gateway, { path: '/health' })]) {
    for (const name of ['server', 'x-powered-by', 'set-cookie', 'access-control-allow-origin']) {
      expect(headers.get(name)).toBeNull()
    }
  }
})
