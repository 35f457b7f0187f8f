import Anthropic from '@anthropic-ai/sdk'
import OpenAI from 'openai'
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest'
import { startSimulator, type Simulator } from '../../../src/simulator/simulator.ts'

let simulator: Simulator
let openai: OpenAI
let anthropic: Anthropic

beforeAll(async () => {
  simulator = await startSimulator({})
  openai = new OpenAI({ apiKey: 'key-o', baseURL: `${simulator.origin}/v1`, maxRetries: 0 })
  anthropic = new Anthropic({ apiKey: 'key-a', baseURL: simulator.origin, maxRetries: 0 })
})
beforeEach(() => {
  simulator.reset()
})
afterAll(() => simulator.close())

const hello = [{ role: 'user' as const, content: 'Hello' }]
const parameters = { type: 'object' as const, properties: { city: { type: 'string' } }, required: ['city'] }

it('serves the openai client: whole, streamed, with usage', async () => {
  const whole = await openai.chat.completions.create({ model: 'm', messages: hello })
  expect(whole.choices[0]?.message.content).toBe('You said: Hello')
  expect(whole._request_id).toMatch(/^req_/)

  const runner = openai.chat.completions.stream({
    model: 'm',
    messages: hello,
    stream_options: { include_usage: true },
  })
  const final = await runner.finalChatCompletion()
  expect(final.choices[0]?.message.content).toBe('You said: Hello')
  expect(await runner.totalUsage()).toMatchObject({ prompt_tokens: 1, completion_tokens: 4 })
})

it('serves the openai client: streamed tool calls and models', async () => {
  const runner = openai.chat.completions.stream({
    model: 'm',
    messages: [{ role: 'user', content: 'use get_weather' }],
    tools: [{ type: 'function', function: { name: 'get_weather', parameters } }],
  })
  const final = await runner.finalChatCompletion()
  expect(final.choices[0]?.finish_reason).toBe('tool_calls')
  const call = final.choices[0]?.message.tool_calls?.[0]
  expect(call?.type === 'function' && JSON.parse(call.function.arguments)).toEqual({ city: 'example' })

  const ids: string[] = []
  for await (const model of openai.models.list()) ids.push(model.id)
  expect(ids).toContain('gpt-4o')
})

it('makes the openai client throw its error classes', async () => {
  const failure = async (status: number): Promise<unknown> => {
    simulator.configureKey('key-o', { status })
    return openai.chat.completions.create({ model: 'm', messages: hello }).catch((cause: unknown) => cause)
  }
  expect(await failure(400)).toBeInstanceOf(OpenAI.BadRequestError)
  expect(await failure(401)).toBeInstanceOf(OpenAI.AuthenticationError)
  expect(await failure(404)).toMatchObject({ code: 'model_not_found', type: 'invalid_request_error' })
  expect(await failure(429)).toBeInstanceOf(OpenAI.RateLimitError)
  expect(await failure(503)).toBeInstanceOf(OpenAI.InternalServerError)
})

it('makes the openai client retry after the time told, and succeed', async () => {
  simulator.configureKey('key-o', { status: 429, retryAfter: 0.05, failTimes: 1 })
  const retrying = openai.withOptions({ maxRetries: 2 })
  const answer = await retrying.chat.completions.create({ model: 'm', messages: hello })
  expect(answer.choices).toHaveLength(1)
  expect(simulator.ledger.of('key-o')).toMatchObject({ started: 2, faults: 1, ok: 1 })
})

it('makes the openai client throw on an error in the stream', async () => {
  simulator.configureKey('key-o', { fault: 'error-event-mid' })
  const stream = await openai.chat.completions.create({ model: 'm', messages: hello, stream: true })
  const read = async (): Promise<void> => {
    for await (const chunk of stream) expect(chunk.object).toBe('chat.completion.chunk')
  }
  await expect(read()).rejects.toThrow(OpenAI.APIError)
})

it('serves the anthropic client: whole, streamed, counted', async () => {
  const whole = await anthropic.messages.create({ model: 'm', max_tokens: 100, messages: hello })
  expect(whole.content).toMatchObject([{ type: 'text', text: 'You said: Hello' }])
  expect(whole._request_id).toMatch(/^req_/)

  const final = await anthropic.messages.stream({ model: 'm', max_tokens: 100, messages: hello }).finalMessage()
  expect(final).toMatchObject({ stop_reason: 'end_turn', usage: { input_tokens: 1, output_tokens: 4 } })
  expect(final.content).toMatchObject(whole.content)

  const counted = await anthropic.messages.countTokens({ model: 'm', messages: hello })
  expect(counted.input_tokens).toBe(1)
})

it('serves the anthropic client: streamed tool calls and models', async () => {
  const final = await anthropic.messages
    .stream({
      model: 'm',
      max_tokens: 100,
      messages: [{ role: 'user', content: 'use get_weather' }],
      tools: [{ name: 'get_weather', input_schema: parameters }],
    })
    .finalMessage()
  expect(final.stop_reason).toBe('tool_use')
  expect(final.content).toMatchObject([{ type: 'tool_use', name: 'get_weather', input: { city: 'example' } }])

  const ids: string[] = []
  for await (const model of anthropic.models.list()) ids.push(model.id)
  expect(ids).toContain('claude-sonnet-4-5')
})

it('makes the anthropic client throw its error classes', async () => {
  const failure = async (status: number): Promise<unknown> => {
    simulator.configureKey('key-a', { status })
    const request = anthropic.messages.create({ model: 'm', max_tokens: 1, messages: hello })
    return request.catch((cause: unknown) => cause)
  }
  expect(await failure(401)).toBeInstanceOf(Anthropic.AuthenticationError)
  expect(await failure(403)).toBeInstanceOf(Anthropic.PermissionDeniedError)
  expect(await failure(429)).toBeInstanceOf(Anthropic.RateLimitError)
  expect(await failure(529)).toMatchObject({ status: 529, requestID: expect.stringMatching(/^req_/) })

  simulator.configureKey('key-a', { fault: 'error-event-first' })
  const stream = anthropic.messages.stream({ model: 'm', max_tokens: 9, messages: hello })
  await expect(stream.finalMessage()).rejects.toThrow(/overloaded/i)
})
