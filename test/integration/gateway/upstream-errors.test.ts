import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Behaviour } from '../../../src/simulator/behaviour.ts'
import type { Simulator } from '../../../src/simulator/simulator.ts'
import { startSimulator } from '../../../src/simulator/simulator.ts'
import type { Answer } from '../../support/ai-calls.ts'
import {
  arrivals,
  chat,
  eventsOf,
  expectChatError,
  expectMessagesError,
  expectNothingLeaked,
  expectRow,
  messages,
  steering,
  uniqueMark,
} from '../../support/ai-calls.ts'
import type { TestGateway } from '../../support/gateway.ts'
import { startGateway } from '../../support/gateway.ts'

let simulator: Simulator
let gateway: TestGateway

/** Models whose keys are known to one test alone: what a key has done is remembered. */
const GROUPS = { m: 2, five: 5, limited: 2, forbidden: 2, failing: 2, hanging: 2 }
/** Of the models for upstreams that hang, alone: a slow machine must not end what is alive. */
const HASTY = { timeouts: { idle_ms: 4_000 } }

beforeAll(async () => {
  simulator = await startSimulator()
  const baseUrl = `${simulator.origin}/v1`
  const upstreams = Object.entries(GROUPS).map(([id, keys]) => ({
    id,
    dialect: 'openai-chat' as const,
    baseUrl,
    models: [id],
    keys: Array.from({ length: keys }, (_, index) => ({ credential: `upstream-credential-${id}-${index}` })),
    more: id === 'hanging' ? HASTY : {},
  }))
  const keys = [{ credential: 'upstream-credential-c-0' }, { credential: 'upstream-credential-c-1' }]
  const messagesUpstream = { dialect: 'anthropic-messages' as const, baseUrl, keys }
  gateway = await startGateway({
    upstreams: [
      ...upstreams,
      { ...messagesUpstream, id: 'c', models: ['c'] },
      { ...messagesUpstream, id: 'hanging-c', models: ['hanging-c'], more: HASTY },
    ],
  })
})

afterAll(async () => {
  await gateway.stop()
  await simulator.close()
})

it('passes an upstream’s 400 on with its message, and tries no other key', async () => {
  const mark = uniqueMark()
  const errorBody = JSON.stringify({ error: { message: 'The image is too blurred.', type: 'invalid_request_error' } })
  const answer = await chat(gateway, { messages: steering({ status: 400, errorBody }), user: mark })
  expectChatError(answer, {
    status: 400,
    type: 'invalid_request',
    code: 'UPSTREAM_INVALID_REQUEST',
    message: 'The image is too blurred.',
  })
  expect(arrivals(simulator, mark)).toHaveLength(1)
  await expectRow(gateway, answer, {
    status: 400,
    error_type: 'invalid_request',
    error_code: 'UPSTREAM_INVALID_REQUEST',
    attempts: 1,
    settlement: 'none',
    prompt_tokens: 0,
    completion_tokens: 0,
  })
})

it('passes an upstream’s 400 on to messages clients, streamed ones too', async () => {
  const error = { type: 'invalid_request_error', message: 'max_tokens: too many for this model' }
  const errorBody = JSON.stringify({ type: 'error', error })
  for (const stream of [false, true]) {
    const answer = await messages(gateway, { messages: steering({ status: 400, errorBody }), stream })
    expectMessagesError(answer, { status: 400, type: 'invalid_request', message: error.message })
  }
})

it('cleans an upstream’s message of its credential, host and account', async () => {
  const host = new URL(simulator.origin).host
  const message =
    `Bad value. Key upstream-credential-m-0 and upstream-credential-m-1 of org-Ab12Cd34Ef56Gh78Ij90Kl12, ` +
    `see http://${host}/docs or https://platform.example.com/x, ask ops@provider.example.com`
  const errorBody = JSON.stringify({ error: { message, type: 'invalid_request_error' } })
  simulator.script([{ status: 400, errorBody }])
  const answer = await chat(gateway)
  expectChatError(answer, {
    status: 400,
    type: 'invalid_request',
    code: 'UPSTREAM_INVALID_REQUEST',
    message: /^Bad value\./,
  })
  expect(answer.text).not.toMatch(/upstream-credential|org-Ab12|example\.com|127\.0\.0\.1/)
})

it('leaves the URLs of a client’s own request in what comes back to it, whole, streamed and in either dialect', async () => {
  const url = 'https://bucket.s3.example.com/cat%20(1).png?X-Amz-Credential=AKIAIOSFODNN7EXAMPLE&v=1'
  const content = [
    { type: 'text', text: 'What is this?' },
    { type: 'image_url', image_url: { url } },
  ]
  const foreign = 'https://platform.example.com/docs'
  const message = `Unable to download ${url}. See ${foreign}, or http://${new URL(simulator.origin).host}/x`
  const errorBody = JSON.stringify({ error: { message, type: 'invalid_request_error' } })
  const refusal = { status: 400, type: 'invalid_request' }
  const expected = `Unable to download ${url}. See [redacted] or [redacted]`
  for (const stream of [false, true]) {
    simulator.script([{ status: 400, errorBody }])
    const answer = await chat(gateway, { stream, messages: [{ role: 'user', content }] })
    expectChatError(answer, { ...refusal, code: 'UPSTREAM_INVALID_REQUEST', message: expected })
  }
  simulator.script([{ status: 400, errorBody: JSON.stringify({ type: 'error', ...JSON.parse(errorBody) }) }])
  const picture = { type: 'image', source: { type: 'url', url } }
  const inMessages = await messages(gateway, { messages: [{ role: 'user', content: [picture] }] })
  expectMessagesError(inMessages, { ...refusal, message: expected })
})

it('reads an error of any shape, without its markup', async () => {
  const send = (errorBody: string, status = 422): Promise<Answer> =>
    chat(gateway, { messages: steering({ status, errorBody }) })
  const refusal = { status: 400, type: 'invalid_request', code: 'UPSTREAM_INVALID_REQUEST' }
  expectChatError(await send('{"detail":[{"loc":["body"],"msg":"field required"}]}'), {
    ...refusal,
    message: 'field required',
  })
  expectChatError(await send('"just a string"'), { ...refusal, message: 'just a string' })
  const page = await send('<html><head><title>x</title></head><body><h1>Bad Request</h1></body></html>')
  expectChatError(page, { ...refusal, message: 'Bad Request' })
  expect(page.text).not.toContain('<')
  expectChatError(await send('too big', 413), { status: 413, type: 'invalid_request', code: 'UPSTREAM_BODY_TOO_LARGE' })
})

it('answers 503 when every key fails, having tried each of them once', async () => {
  const mark = uniqueMark()
  const answer = await chat(gateway, { model: 'failing', messages: steering({ status: 500 }), user: mark })
  expectChatError(answer, { status: 503, type: 'service_unavailable', code: 'UPSTREAM_ERROR' })
  const credentials = arrivals(simulator, mark).map(({ credential }) => credential)
  expect(credentials.sort()).toEqual(['upstream-credential-failing-0', 'upstream-credential-failing-1'])
  await expectRow(gateway, answer, {
    status: 503,
    error_type: 'service_unavailable',
    error_code: 'UPSTREAM_ERROR',
    attempts: 2,
    settlement: 'none',
    prompt_tokens: 0,
    completion_tokens: 0,
  })
})

it('tries no more keys than upstream.max_attempts', async () => {
  const mark = uniqueMark()
  const answer = await chat(gateway, { model: 'five', messages: steering({ status: 503 }), user: mark })
  expectChatError(answer, { status: 503, type: 'service_unavailable', code: 'UPSTREAM_OVERLOADED' })
  expect(new Set(arrivals(simulator, mark).map(({ credential }) => credential)).size).toBe(3)
  await expectRow(gateway, answer, { status: 503, attempts: 3 })
})

it('computes Retry-After from what the upstreams said, and goes on telling it while they rest', async () => {
  const limit = { status: 429, retryAfter: 40 }
  const first = await chat(gateway, { model: 'limited', messages: steering(limit) })
  expectChatError(first, { status: 503, type: 'service_unavailable', code: 'UPSTREAM_RATE_LIMITED' })
  expect(Number(first.headers.get('retry-after'))).toBe(40)

  const mark = uniqueMark()
  const second = await chat(gateway, { model: 'limited', user: mark })
  expectChatError(second, { status: 503, type: 'service_unavailable', code: 'NO_UPSTREAM_CAPACITY' })
  const seconds = Number(second.headers.get('retry-after'))
  expect(seconds).toBeGreaterThan(1)
  expect(seconds).toBeLessThanOrEqual(40)
  expect(arrivals(simulator, mark)).toEqual([])
  await expectRow(gateway, second, { status: 503, error_code: 'NO_UPSTREAM_CAPACITY', attempts: 0, settlement: 'none' })
})

it('shows a client nothing of an upstream’s 401 or 403', async () => {
  for (const status of [401, 403]) {
    const errorBody = JSON.stringify({ error: { message: 'Incorrect API key provided: sk-real-0123456789abcdef' } })
    const answer = await chat(gateway, { model: 'forbidden', messages: steering({ status, errorBody }) })
    expect(answer.status).toBe(503)
    expect(answer.text).not.toMatch(/incorrect|sk-real/i)
    expectNothingLeaked(answer)
  }
})

const MID_STREAM: ReadonlyArray<readonly [name: string, behaviour: Behaviour, code: string]> = [
  ['a reset', { fault: 'reset-mid-stream' }, 'UPSTREAM_TRUNCATED'],
  ['a hang', { fault: 'hang-mid-stream' }, 'UPSTREAM_TIMEOUT'],
  ['an early end', { fault: 'close-mid-stream' }, 'UPSTREAM_TRUNCATED'],
  ['half an event', { fault: 'truncated-json' }, 'UPSTREAM_INVALID_ANSWER'],
  ['an event that is no JSON', { fault: 'garbage-event' }, 'UPSTREAM_INVALID_ANSWER'],
  ['an error event', { fault: 'error-event-mid' }, '(any)'],
]

describe('ends a begun stream with one error event and no good end, and asks no second key, after', () => {
  it.each(MID_STREAM)('%s, on chat', async (_name, behaviour, code) => {
    const mark = uniqueMark()
    const model = behaviour.fault === 'hang-mid-stream' ? 'hanging' : 'm'
    const steered = steering({ tokens: 40, ...behaviour })
    const answer = await chat(gateway, { model, messages: steered, user: mark, stream: true })
    expect(answer.status).toBe(200)
    expect(answer.headers.get('content-type')).toMatch(/^text\/event-stream/)
    const events = eventsOf(answer.text).map(({ data }) => JSON.parse(data) as Record<string, unknown>)
    const last = events.pop()
    expect(last).toEqual({
      error: {
        type: 'service_unavailable',
        code: code === '(any)' ? expect.stringMatching(/^UPSTREAM_/) : code,
        message: expect.any(String),
        param: null,
        request_id: answer.id,
      },
    })
    expect(events.length).toBeGreaterThan(0)
    expect(events.every((event) => event['object'] === 'chat.completion.chunk')).toBe(true)
    expectNothingLeaked(answer)
    await expectBroken(answer, mark, (last as { error: { code: string } }).error.code)
  })

  it.each(MID_STREAM)('%s, on messages', async (_name, behaviour, code) => {
    const mark = uniqueMark()
    const model = behaviour.fault === 'hang-mid-stream' ? 'hanging-c' : 'c'
    const steered = steering({ tokens: 40, ...behaviour })
    const answer = await messages(gateway, { model, messages: steered, metadata: { user_id: mark }, stream: true })
    expect(answer.status).toBe(200)
    const events = eventsOf(answer.text)
    const last = events.pop()
    expect(last?.event).toBe('error')
    expect(JSON.parse(last?.data ?? '')).toEqual({
      type: 'error',
      error: { type: 'service_unavailable', message: expect.any(String) },
      request_id: answer.id,
    })
    expect(events[0]?.event).toBe('message_start')
    expect(events.some(({ event }) => event === 'error' || event === 'message_stop')).toBe(false)
    expectNothingLeaked(answer)
    await expectBroken(answer, mark, code === '(any)' ? expect.stringMatching(/^UPSTREAM_/) : code)
  })
})

async function expectBroken(answer: Answer, mark: string, code: unknown): Promise<void> {
  expect(arrivals(simulator, mark)).toHaveLength(1)
  const row = await gateway.logRow(answer.id)
  expect(row).toMatchObject({
    status: 200,
    error_type: 'service_unavailable',
    error_code: code,
    settlement: 'observed',
    attempts: 1,
    stream: true,
    aborted: false,
  })
  expect(row.prompt_tokens).toBeGreaterThan(0)
  expect(row.completion_tokens).toBeGreaterThan(0)
}

it('completes a stream that was whole but for its terminal event', async () => {
  const answer = await chat(gateway, { messages: steering({ fault: 'no-terminal' }), stream: true })
  expect(eventsOf(answer.text).at(-1)?.data).toBe('[DONE]')
  await expectRow(gateway, answer, { status: 200, error_code: null, settlement: 'exact', completion_tokens: 5 })
  const message = await messages(gateway, { messages: steering({ fault: 'no-terminal' }), stream: true })
  expect(eventsOf(message.text).at(-1)?.event).toBe('message_stop')
  await expectRow(gateway, message, { status: 200, error_code: null, settlement: 'exact', completion_tokens: 5 })
})

it('sends one terminal event where the upstream sent two', async () => {
  const answer = await chat(gateway, { messages: steering({ fault: 'double-terminal' }), stream: true })
  expect(eventsOf(answer.text).filter(({ data }) => data === '[DONE]')).toHaveLength(1)
  await expectRow(gateway, answer, { status: 200, settlement: 'exact' })
})
