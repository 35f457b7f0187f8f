import Anthropic from '@anthropic-ai/sdk'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { generateApiKey } from '../../../src/shared/core/api-key.ts'
import type { Simulator } from '../../../src/simulator/simulator.ts'
import { startSimulator } from '../../../src/simulator/simulator.ts'
import { arrivals, expectRow, steering, uniqueMark } from '../../support/ai-calls.ts'
import type { TestGateway } from '../../support/gateway.ts'
import { startGateway } from '../../support/gateway.ts'

const NARROW_KEY = generateApiKey()
const SLOW_KEY = generateApiKey()
const input_schema = { type: 'object' as const, properties: { city: { type: 'string' } }, required: ['city'] }
const tools = [{ name: 'get_weather', input_schema }]
const hello = [{ role: 'user' as const, content: 'Hello there' }]
const minimal = { model: 'c', max_tokens: 100, messages: hello }

let simulator: Simulator
let gateway: TestGateway
let anthropic: Anthropic
/** Bodies and versions of the protocol as the client sent them. */
const sent: string[] = []
const versions: string[] = []

const client = (apiKey: string, base = gateway.url): Anthropic =>
  new Anthropic({
    apiKey,
    baseURL: base,
    maxRetries: 0,
    fetch: (url, init) => {
      if (typeof init?.body === 'string') sent.push(init.body)
      versions.push(new Headers(init?.headers).get('anthropic-version') ?? '')
      return fetch(url, init)
    },
  })

beforeAll(async () => {
  simulator = await startSimulator()
  const models = ['c', { id: 'alias', upstream_model: 'the-real/model' }] as unknown as string[]
  gateway = await startGateway({
    upstreams: [{ dialect: 'anthropic-messages', baseUrl: `${simulator.origin}/v1`, models }],
    keys: [
      { name: 'narrow', key: NARROW_KEY, models: ['alias'] },
      { name: 'slow', key: SLOW_KEY, rpm: 1 },
    ],
  })
  anthropic = client(gateway.apiKey)
})

afterAll(async () => {
  await gateway.stop()
  await simulator.close()
})

it('answers a whole message, and its body reaches the upstream byte for byte', async () => {
  const user_id = uniqueMark()
  const answer = await anthropic.messages.create({ ...minimal, metadata: { user_id } })
  expect(answer.content).toMatchObject([{ type: 'text', text: 'You said: Hello there' }])
  expect(answer.usage).toMatchObject({ input_tokens: 2, output_tokens: 5 })
  expect(answer._request_id).toMatch(/^req_/)
  const [arrival, ...more] = arrivals(simulator, user_id)
  expect(more).toEqual([])
  expect(arrival?.body).toBe(sent.at(-1))
  await expectRow(
    gateway,
    { id: answer._request_id ?? '' },
    {
      status: 200,
      endpoint: 'messages',
      model: 'c',
      served_model: 'c',
      settlement: 'exact',
      prompt_tokens: 2,
      completion_tokens: 5,
      attempts: 1,
      stream: false,
      aborted: false,
      error_type: null,
      error_code: null,
    },
  )
})

it('forwards the version and beta headers, and the credential of the upstream instead of the client’s', async () => {
  const user_id = uniqueMark()
  await anthropic.beta.messages.create({
    ...minimal,
    metadata: { user_id },
    betas: ['one-2025-01-01', 'two-2025-01-01'],
  })
  const headers = arrivals(simulator, user_id)[0]?.headers
  expect(headers).toMatchObject({
    'anthropic-version': versions.at(-1),
    'anthropic-beta': expect.stringMatching(/one-2025-01-01,\s*two-2025-01-01/),
    'x-api-key': 'upstream-credential-0',
  })
  expect(versions.at(-1)).toMatch(/^\d{4}-\d\d-\d\d$/)
  expect(JSON.stringify(headers)).not.toContain(gateway.apiKey)
})

it('streams a message whose body reaches the upstream byte for byte', async () => {
  const user_id = uniqueMark()
  const deltas: string[] = []
  const runner = anthropic.messages.stream({ ...minimal, metadata: { user_id } })
  runner.on('text', (text) => deltas.push(text))
  const final = await runner.finalMessage()
  expect(deltas.length).toBeGreaterThan(2)
  expect(deltas.join('')).toBe('You said: Hello there')
  expect(final).toMatchObject({ stop_reason: 'end_turn', usage: { input_tokens: 2, output_tokens: 5 } })
  expect(arrivals(simulator, user_id)[0]?.body).toBe(sent.at(-1))
  await expectRow(
    gateway,
    { id: runner.request_id ?? '' },
    {
      status: 200,
      stream: true,
      settlement: 'exact',
      prompt_tokens: 2,
      completion_tokens: 5,
    },
  )
})

it('streams the events of the protocol in their order', async () => {
  const stream = await anthropic.messages.create({ ...minimal, stream: true })
  const types: string[] = []
  for await (const event of stream) if (types.at(-1) !== event.type) types.push(event.type)
  expect(types).toEqual([
    'message_start',
    'content_block_start',
    ...(types.includes('ping') ? ['ping'] : []),
    'content_block_delta',
    'content_block_stop',
    'message_delta',
    'message_stop',
  ])
})

it('gives the upstream its own name of the model and leaves every other byte', async () => {
  const user_id = uniqueMark()
  const answer = await anthropic.messages.create({ ...minimal, model: 'alias', metadata: { user_id } })
  expect(arrivals(simulator, user_id)[0]?.body).toBe(sent.at(-1)?.replace('"alias"', '"the-real/model"'))
  await expectRow(
    gateway,
    { id: answer._request_id ?? '' },
    { status: 200, model: 'alias', served_model: 'the-real/model' },
  )
})

it('carries a tool call there and its result back, whole and streamed', async () => {
  const question = { role: 'user' as const, content: 'use get_weather' }
  for (const streamed of [false, true]) {
    const request = { ...minimal, messages: [question], tools }
    const first = streamed
      ? await anthropic.messages.stream(request).finalMessage()
      : await anthropic.messages.create(request)
    expect(first.stop_reason).toBe('tool_use')
    const use = first.content.find((block) => block.type === 'tool_use')
    if (use === undefined) throw new Error('no tool call')
    expect(use).toMatchObject({ name: 'get_weather', input: { city: 'example' } })

    const user_id = uniqueMark()
    const followUp = {
      ...minimal,
      tools,
      metadata: { user_id },
      messages: [
        question,
        { role: 'assistant' as const, content: first.content },
        { role: 'user' as const, content: [{ type: 'tool_result' as const, tool_use_id: use.id, content: 'sunny' }] },
      ],
    }
    const second = streamed
      ? await anthropic.messages.stream(followUp).finalMessage()
      : await anthropic.messages.create(followUp)
    expect(second).toMatchObject({ stop_reason: 'end_turn', content: [{ text: 'The tool said: sunny' }] })
    expect(arrivals(simulator, user_id)[0]?.body).toBe(sent.at(-1))
  }
})

it('counts tokens as the upstream does, and books none', async () => {
  const { data, request_id } = await anthropic.messages
    .countTokens({ model: 'c', messages: hello, system: 'Be kind' })
    .withResponse()
  expect(data.input_tokens).toBe(4)
  await expectRow(
    gateway,
    { id: request_id ?? '' },
    {
      status: 200,
      endpoint: 'messages.count_tokens',
      settlement: 'none',
      prompt_tokens: 0,
      completion_tokens: 0,
      attempts: 1,
    },
  )
})

it('serves the vendor alias as it serves the plain path', async () => {
  const alias = client(gateway.apiKey, `${gateway.url}/anthropic`)
  expect(await alias.messages.create(minimal)).toMatchObject({ content: [{ text: 'You said: Hello there' }] })
  const final = await alias.messages.stream(minimal).finalMessage()
  expect(final.content).toMatchObject([{ text: 'You said: Hello there' }])
  expect(await alias.messages.countTokens({ model: 'c', messages: hello })).toMatchObject({ input_tokens: 2 })
  const bad = await alias.messages.create({ ...minimal, max_tokens: 0 }).catch((cause: unknown) => cause)
  expect(bad).toBeInstanceOf(Anthropic.BadRequestError)
})

it('takes the key as a bearer token too', async () => {
  const bearer = new Anthropic({ apiKey: null, authToken: gateway.apiKey, baseURL: gateway.url, maxRetries: 0 })
  expect(await bearer.messages.create(minimal)).toMatchObject({ content: [{ text: 'You said: Hello there' }] })
})

it('throws the class of each error, with its type and request id', async () => {
  const failure = async (promise: Promise<unknown>): Promise<InstanceType<typeof Anthropic.APIError>> => {
    const cause: unknown = await promise.then(
      () => null,
      (thrown: unknown) => thrown,
    )
    if (!(cause instanceof Anthropic.APIError)) throw new Error('not an error of the client', { cause })
    expect(cause.requestID).toMatch(/^req_/)
    expect(cause.error).toMatchObject({ type: 'error', request_id: cause.requestID })
    return cause
  }
  const create = (from: Anthropic, members: object = {}): Promise<unknown> =>
    from.messages.create({ ...minimal, ...members })

  const bad = await failure(create(anthropic, { temperature: 1.5 }))
  expect(bad).toBeInstanceOf(Anthropic.BadRequestError)
  expect(bad).toMatchObject({ status: 400, type: 'invalid_request', message: expect.stringContaining('/temperature') })

  const unauthorised = await failure(create(client('sk-nobody')))
  expect(unauthorised).toBeInstanceOf(Anthropic.AuthenticationError)
  expect(unauthorised).toMatchObject({ status: 401, type: 'auth_error' })

  const denied = await failure(create(client(NARROW_KEY)))
  expect(denied).toBeInstanceOf(Anthropic.PermissionDeniedError)
  expect(denied).toMatchObject({ status: 403, type: 'access_denied' })

  const missing = await failure(create(anthropic, { model: 'no-such-model' }))
  expect(missing).toBeInstanceOf(Anthropic.NotFoundError)
  expect(missing).toMatchObject({ status: 404, type: 'invalid_request' })

  const slow = client(SLOW_KEY)
  await create(slow)
  const limited = await failure(create(slow))
  expect(limited).toBeInstanceOf(Anthropic.RateLimitError)
  expect(limited).toMatchObject({ status: 429, type: 'rate_limit' })
  expect(Number(limited.headers?.get('retry-after'))).toBeGreaterThan(0)

  const failed = await failure(create(anthropic, { messages: steering({ status: 500 }) }))
  expect(failed).toMatchObject({ status: 503, type: 'service_unavailable' })
})

it('throws from within a stream that breaks off', async () => {
  const runner = anthropic.messages.stream({
    ...minimal,
    max_tokens: 1000,
    messages: steering({ fault: 'reset-mid-stream', tokens: 50 }),
  })
  const deltas: string[] = []
  runner.on('text', (text) => deltas.push(text))
  await expect(runner.finalMessage()).rejects.toThrow(Anthropic.APIError)
  expect(deltas.length).toBeGreaterThan(0)
  await expectRow(
    gateway,
    { id: runner.request_id ?? '' },
    {
      status: 200,
      error_code: 'UPSTREAM_TRUNCATED',
      settlement: 'observed',
      aborted: false,
    },
  )
})

it('lists the models and tells of one', async () => {
  const listed: string[] = []
  for await (const model of anthropic.models.list()) listed.push(model.id)
  expect(listed).toEqual(['alias', 'c'])
  expect(await anthropic.models.retrieve('c')).toMatchObject({ id: 'c', type: 'model', display_name: 'c' })
  await expect(anthropic.models.retrieve('no-such-model')).rejects.toThrow(Anthropic.NotFoundError)
})
