import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest'
import { startSimulator, type Simulator } from '../../../src/simulator/simulator.ts'
import { ANTHROPIC, chatBody, messagesBody, OPENAI, post, type Json } from './requests.ts'

let simulator: Simulator

beforeAll(async () => {
  simulator = await startSimulator({})
})
beforeEach(() => {
  simulator.reset()
})
afterAll(() => simulator.close())

function chat(behaviour: unknown = {}, headers: Record<string, string> = OPENAI): Promise<Response> {
  const url = `${simulator.origin}/v1/chat/completions`
  return post(url, chatBody('x'), { ...headers, 'x-sim': JSON.stringify(behaviour) })
}

function messages(behaviour: unknown): Promise<Response> {
  return post(`${simulator.origin}/v1/messages`, messagesBody('x'), {
    ...ANTHROPIC,
    'x-sim': JSON.stringify(behaviour),
  })
}

it.each([400, 401, 403, 404, 408, 409, 413, 422, 429, 500, 502, 503, 504, 529])(
  'answers %i in the shape of both dialects',
  async (status) => {
    const openai = await chat({ status })
    expect(openai.status).toBe(status)
    const { error } = (await openai.json()) as Json
    expect(Object.keys(error)).toEqual(['message', 'type', 'param', 'code'])

    const anthropic = await messages({ status })
    expect(anthropic.status).toBe(status)
    expect(await anthropic.json()).toMatchObject({
      type: 'error',
      error: { type: expect.stringMatching(/_error$|^request_too_large$/), message: expect.any(String) },
      request_id: anthropic.headers.get('request-id'),
    })
    expect(simulator.ledger.totals).toMatchObject({ faults: 2, promptTokens: 0, completionTokens: 0 })
  },
)

it('names the type of the usual errors as the providers do', async () => {
  const openai: Json = await (await chat({ status: 429 })).json()
  expect(openai.error).toMatchObject({ type: 'requests', code: 'rate_limit_exceeded' })
  const types = await Promise.all(
    [401, 403, 404, 413, 429, 500, 504, 529].map(
      async (status) => ((await (await messages({ status })).json()) as Json).error.type as unknown,
    ),
  )
  expect(types).toEqual([
    'authentication_error',
    'permission_error',
    'not_found_error',
    'request_too_large',
    'rate_limit_error',
    'api_error',
    'timeout_error',
    'overloaded_error',
  ])
})

it('sends the headers of an exhausted limit with a 429, each once', async () => {
  const openai = (await chat({ status: 429, retryAfter: 7 })).headers
  expect(openai.get('retry-after')).toBe('7')
  expect(openai.get('retry-after-ms')).toBe('7000')
  expect(openai.get('x-ratelimit-remaining-requests')).toBe('0')
  expect(openai.get('x-ratelimit-reset-requests')).toBe('7s')
  const anthropic = (await messages({ status: 429 })).headers
  expect(anthropic.get('retry-after')).toBe('1')
  expect(anthropic.get('anthropic-ratelimit-requests-remaining')).toBe('0')
  expect((await chat({ status: 429, retryAfter: null })).headers.get('retry-after')).toBeNull()
  expect((await chat({ status: 503, retryAfter: 'Wed, 21 Oct 2026 07:28:00 GMT' })).headers.get('retry-after')).toMatch(
    /^Wed/,
  )
  expect((await chat({ status: 503 })).headers.get('retry-after')).toBeNull()
})

it('answers an error with the body and the headers it is given', async () => {
  const page = await chat({
    status: 502,
    errorBody: '<html>bad gateway</html>',
    headers: { 'X-RateLimit-Limit-Requests': '9' },
  })
  expect(page.headers.get('content-type')).toBe('text/html')
  expect(page.headers.get('x-ratelimit-limit-requests')).toBe('9')
  expect(await page.text()).toBe('<html>bad gateway</html>')
  expect((await chat({ status: 400, errorBody: '[{"error":{}}]' })).headers.get('content-type')).toBe(
    'application/json',
  )
})

it('fails the first requests of a credential and then no more', async () => {
  simulator.configureKey('key-o', { status: 500, failTimes: 2 })
  const statuses: number[] = []
  for (let i = 0; i < 4; i++) statuses.push((await chat()).status)
  expect(statuses).toEqual([500, 500, 200, 200])
  expect((await chat({}, { authorization: 'Bearer other' })).status).toBe(200)
  simulator.configureKey('key-o', { status: 500, failTimes: 1 })
  expect([(await chat()).status, (await chat()).status]).toEqual([500, 200])
})

it('flaps', async () => {
  simulator.configureKey('key-o', { status: 503, flap: [2, 1] })
  const statuses: number[] = []
  for (let i = 0; i < 7; i++) statuses.push((await chat()).status)
  expect(statuses).toEqual([200, 200, 503, 200, 200, 503, 200])
})

it('lets in only the credentials it is told to', async () => {
  simulator.setDefaults({ requireKey: ['good'] })
  const bad = await chat({}, { authorization: 'Bearer bad' })
  expect(bad.status).toBe(401)
  expect(await bad.json()).toMatchObject({ error: { code: 'invalid_api_key' } })
  expect((await chat({}, {})).status).toBe(401)
  expect((await chat({}, { authorization: 'Bearer good' })).status).toBe(200)
  expect((await chat({}, { 'api-key': 'good' })).status).toBe(200)
})

it('answers 404 for paths it does not know', async () => {
  const response = await post(`${simulator.origin}/v1/audio/speech`, {}, OPENAI)
  expect(response.status).toBe(404)
  expect(await response.json()).toMatchObject({ error: { type: 'invalid_request_error' } })
})

it('refuses steering that it does not understand, with the reason', async () => {
  const unknown = await chat({ colour: 'red' })
  expect(unknown.status).toBe(400)
  expect(((await unknown.json()) as Json).error.message).toBe('simulator: a behaviour has no member "colour"')
  const bad: Json = await (await chat({ fault: 'nonsense' })).json()
  expect(bad.error.message).toContain('bad value for "fault"')
})
