import OpenAI from 'openai'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { generateApiKey } from '../../../src/shared/core/api-key.ts'
import type { Simulator } from '../../../src/simulator/simulator.ts'
import { startSimulator } from '../../../src/simulator/simulator.ts'
import { arrivals, expectRow, steering, uniqueMark } from '../../support/ai-calls.ts'
import type { TestGateway } from '../../support/gateway.ts'
import { startGateway } from '../../support/gateway.ts'

const NARROW_KEY = generateApiKey()
const SLOW_KEY = generateApiKey()
const ONE_AT_A_TIME_KEY = generateApiKey()
const parameters = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] }
const tools = [{ type: 'function' as const, function: { name: 'get_weather', parameters } }]
const hello = [{ role: 'user' as const, content: 'Hello there' }]

let simulator: Simulator
let gateway: TestGateway
let openai: OpenAI
/** Bodies as the client sent them. */
const sent: string[] = []

const client = (apiKey: string): OpenAI =>
  new OpenAI({
    apiKey,
    baseURL: `${gateway.url}/v1`,
    maxRetries: 0,
    fetch: (url, init) => {
      if (typeof init?.body === 'string') sent.push(init.body)
      return fetch(url, init)
    },
  })

beforeAll(async () => {
  simulator = await startSimulator()
  const models = ['m', { id: 'alias', upstream_model: 'the-real/model' }] as unknown as string[]
  gateway = await startGateway({
    upstreams: [{ dialect: 'openai-chat', baseUrl: `${simulator.origin}/v1`, models }],
    keys: [
      { name: 'narrow', key: NARROW_KEY, models: ['alias'] },
      { name: 'slow', key: SLOW_KEY, rpm: 1 },
      { name: 'single', key: ONE_AT_A_TIME_KEY, max_concurrency: 1 },
    ],
  })
  openai = client(gateway.apiKey)
})

afterAll(async () => {
  await gateway.stop()
  await simulator.close()
})

it('answers a whole chat completion, and its body reaches the upstream byte for byte', async () => {
  const user = uniqueMark()
  const answer = await openai.chat.completions.create({
    model: 'm',
    messages: hello,
    user,
    temperature: 0.30000000000000004,
  })
  expect(answer.choices[0]?.message.content).toBe('You said: Hello there')
  expect(answer.usage).toMatchObject({ prompt_tokens: 2, completion_tokens: 5, total_tokens: 7 })
  expect(answer._request_id).toMatch(/^req_/)
  const [arrival, ...more] = arrivals(simulator, user)
  expect(more).toEqual([])
  expect(arrival?.body).toBe(sent.at(-1))
  await expectRow(
    gateway,
    { id: answer._request_id ?? '' },
    {
      status: 200,
      endpoint: 'chat.completions',
      model: 'm',
      served_model: 'm',
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

it('gives the upstream its own name of the model and leaves every other byte', async () => {
  const user = uniqueMark()
  const answer = await openai.chat.completions.create({ model: 'alias', messages: hello, user })
  expect(arrivals(simulator, user)[0]?.body).toBe(sent.at(-1)?.replace('"alias"', '"the-real/model"'))
  await expectRow(
    gateway,
    { id: answer._request_id ?? '' },
    { status: 200, model: 'alias', served_model: 'the-real/model' },
  )
})

it('streams chunks without usage when none was asked for, and asks the upstream for it all the same', async () => {
  const user = uniqueMark()
  const { data: stream, request_id } = await openai.chat.completions
    .create({ model: 'm', messages: hello, user, stream: true })
    .withResponse()
  let text = ''
  for await (const chunk of stream) {
    expect(chunk.usage ?? null).toBeNull()
    expect(chunk.choices).toHaveLength(1)
    text += chunk.choices[0]?.delta.content ?? ''
  }
  expect(text).toBe('You said: Hello there')
  const arrived = arrivals(simulator, user)[0]?.body
  expect(arrived).toBe(`${sent.at(-1)?.slice(0, -1)},"stream_options":{"include_usage":true}}`)
  await expectRow(
    gateway,
    { id: request_id ?? '' },
    {
      status: 200,
      stream: true,
      settlement: 'exact',
      prompt_tokens: 2,
      completion_tokens: 5,
    },
  )
})

it('streams usage to a client that asked for it', async () => {
  const user = uniqueMark()
  const runner = openai.chat.completions.stream({
    model: 'm',
    messages: hello,
    user,
    stream_options: { include_usage: true },
  })
  const final = await runner.finalChatCompletion()
  expect(final.choices[0]?.message.content).toBe('You said: Hello there')
  expect(await runner.totalUsage()).toMatchObject({ prompt_tokens: 2, completion_tokens: 5 })
  expect(arrivals(simulator, user)[0]?.body).toBe(sent.at(-1))
})

it('turns a refusal of usage into a request for it, for the upstream alone', async () => {
  const user = uniqueMark()
  const runner = openai.chat.completions.stream({
    model: 'm',
    messages: hello,
    user,
    stream_options: { include_usage: false },
  })
  const final = await runner.finalChatCompletion()
  expect(final.usage ?? null).toBeNull()
  expect(arrivals(simulator, user)[0]?.body).toBe(sent.at(-1)?.replace('"include_usage":false', '"include_usage":true'))
})

it('emits the content events of the stream helper', async () => {
  const deltas: string[] = []
  const runner = openai.chat.completions.stream({ model: 'm', messages: hello })
  runner.on('content.delta', ({ delta }) => deltas.push(delta))
  await runner.finalChatCompletion()
  expect(deltas.length).toBeGreaterThan(2)
  expect(deltas.join('')).toBe('You said: Hello there')
})

it('carries a tool call there and its result back, whole', async () => {
  const question = { role: 'user' as const, content: 'use get_weather' }
  const first = await openai.chat.completions.create({ model: 'm', messages: [question], tools })
  const message = first.choices[0]?.message
  const toolCall = message?.tool_calls?.[0]
  if (message === undefined || toolCall?.type !== 'function') throw new Error('no tool call')
  expect(first.choices[0]?.finish_reason).toBe('tool_calls')
  expect(JSON.parse(toolCall.function.arguments)).toEqual({ city: 'example' })

  const user = uniqueMark()
  const second = await openai.chat.completions.create({
    model: 'm',
    user,
    tools,
    messages: [question, message, { role: 'tool', tool_call_id: toolCall.id, content: 'sunny' }],
  })
  expect(second.choices[0]).toMatchObject({ finish_reason: 'stop', message: { content: 'The tool said: sunny' } })
  expect(arrivals(simulator, user)[0]?.body).toBe(sent.at(-1))
})

it('carries a tool call there and its result back, streamed', async () => {
  const question = { role: 'user' as const, content: 'use get_weather' }
  const first = await openai.chat.completions.stream({ model: 'm', messages: [question], tools }).finalMessage()
  const toolCall = first.tool_calls?.[0]
  if (toolCall?.type !== 'function') throw new Error('no tool call')
  expect(JSON.parse(toolCall.function.arguments)).toEqual({ city: 'example' })
  const second = await openai.chat.completions
    .stream({
      model: 'm',
      tools,
      messages: [question, first, { role: 'tool', tool_call_id: toolCall.id, content: 'sunny' }],
    })
    .finalMessage()
  expect(second.content).toBe('The tool said: sunny')
})

it('answers several choices, whole and streamed, and books the tokens of all', async () => {
  const whole = await openai.chat.completions.create({ model: 'm', messages: hello, n: 3 })
  expect(whole.choices.map(({ index }) => index)).toEqual([0, 1, 2])
  await expectRow(gateway, { id: whole._request_id ?? '' }, { status: 200, completion_tokens: 15 })

  const runner = openai.chat.completions.stream({ model: 'm', messages: hello, n: 2 })
  const streamed = await runner.finalChatCompletion()
  expect(streamed.choices.map(({ message }) => message.content)).toEqual(Array(2).fill('You said: Hello there'))
})

it('throws the class of each error, with its code, parameter and request id', async () => {
  const failure = async (promise: Promise<unknown>): Promise<InstanceType<typeof OpenAI.APIError>> => {
    const cause: unknown = await promise.then(
      () => null,
      (thrown: unknown) => thrown,
    )
    if (!(cause instanceof OpenAI.APIError)) throw new Error('not an error of the client', { cause })
    expect(cause.requestID).toMatch(/^req_/)
    expect(cause.error).toMatchObject({ request_id: cause.requestID })
    return cause
  }
  const create = (from: OpenAI, members: object = {}): Promise<unknown> =>
    from.chat.completions.create({ model: 'm', messages: hello, ...members })

  const bad = await failure(create(openai, { temperature: 3 }))
  expect(bad).toBeInstanceOf(OpenAI.BadRequestError)
  expect(bad).toMatchObject({ status: 400, type: 'invalid_request', code: 'INVALID_FIELD', param: '/temperature' })

  const unauthorised = await failure(create(client('sk-nobody')))
  expect(unauthorised).toBeInstanceOf(OpenAI.AuthenticationError)
  expect(unauthorised).toMatchObject({ status: 401, type: 'auth_error', code: 'KEY_UNKNOWN' })

  const denied = await failure(create(client(NARROW_KEY)))
  expect(denied).toBeInstanceOf(OpenAI.PermissionDeniedError)
  expect(denied).toMatchObject({ status: 403, type: 'access_denied', code: 'MODEL_DENIED' })

  const missing = await failure(create(openai, { model: 'no-such-model' }))
  expect(missing).toBeInstanceOf(OpenAI.NotFoundError)
  expect(missing).toMatchObject({ status: 404, type: 'invalid_request', code: 'MODEL_NOT_FOUND', param: '/model' })

  const slow = client(SLOW_KEY)
  await create(slow)
  const limited = await failure(create(slow))
  expect(limited).toBeInstanceOf(OpenAI.RateLimitError)
  expect(limited).toMatchObject({ status: 429, type: 'rate_limit', code: 'RPM_EXCEEDED' })
  expect(Number(limited.headers?.get('retry-after'))).toBeGreaterThan(0)

  const failed = await failure(create(openai, { messages: steering({ status: 500 }) }))
  expect(failed).toBeInstanceOf(OpenAI.InternalServerError)
  expect(failed).toMatchObject({ status: 503, type: 'service_unavailable', code: 'UPSTREAM_ERROR' })
})

it('throws from within a stream that breaks off', async () => {
  const stream = await openai.chat.completions.create({
    model: 'm',
    messages: steering({ fault: 'reset-mid-stream', tokens: 50 }),
    stream: true,
  })
  let chunks = 0
  const read = async (): Promise<void> => {
    for await (const chunk of stream) chunks += chunk.choices.length
  }
  await expect(read()).rejects.toThrow(OpenAI.APIError)
  expect(chunks).toBeGreaterThan(0)
})

it('is retried by the client as Retry-After tells, and gets through', async () => {
  const single = client(ONE_AT_A_TIME_KEY)
  const hangUp = new AbortController()
  const user = uniqueMark()
  const held = single.chat.completions
    .create({ model: 'm', messages: steering({ fault: 'hang-before-headers' }), user }, { signal: hangUp.signal })
    .catch((cause: unknown) => cause)
  await expect.poll(() => arrivals(simulator, user).length, { timeout: 20_000 }).toBe(1)
  const retrying = single.withOptions({
    maxRetries: 5,
    fetch: async (url, init) => {
      const response = await fetch(url, init)
      // The first refusal frees the place.
      if (response.status === 429) hangUp.abort()
      return response
    },
  })
  const answer = await retrying.chat.completions.create({ model: 'm', messages: hello })
  expect(answer.choices).toHaveLength(1)
  expect(await held).toBeInstanceOf(OpenAI.APIUserAbortError)
})

it('lists the models and tells of one', async () => {
  const listed: string[] = []
  for await (const model of openai.models.list()) listed.push(model.id)
  expect(listed).toEqual(['alias', 'm'])
  expect(await openai.models.retrieve('m')).toMatchObject({ id: 'm', object: 'model', owned_by: expect.any(String) })
  await expect(openai.models.retrieve('no-such-model')).rejects.toThrow(OpenAI.NotFoundError)
})
