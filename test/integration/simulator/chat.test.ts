import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest'
import { startSimulator, type Simulator } from '../../../src/simulator/simulator.ts'
import { eventsOf } from './raw-client.ts'
import { chatBody, OPENAI, post, type Json } from './requests.ts'

let simulator: Simulator
let url: string

beforeAll(async () => {
  simulator = await startSimulator({})
  url = `${simulator.origin}/v1/chat/completions`
})
beforeEach(() => {
  simulator.reset()
})
afterAll(() => simulator.close())

async function streamed(body: unknown, headers: Record<string, string> = OPENAI): Promise<Json[]> {
  const response = await post(url, body, headers)
  expect(response.headers.get('content-type')).toBe('text/event-stream; charset=utf-8')
  const events = eventsOf(await response.text())
  expect(events.at(-1)?.data).toBe('[DONE]')
  return events.slice(0, -1).map((event) => JSON.parse(event.data))
}

it('answers a chat request with the shape and the headers of the protocol', async () => {
  const response = await post(url, chatBody('Hello there'), OPENAI)
  expect(response.status).toBe(200)
  expect(response.headers.get('content-type')).toBe('application/json')
  expect(response.headers.get('x-request-id')).toMatch(/^req_/)
  expect(response.headers.get('x-ratelimit-remaining-requests')).toBe('9999')
  expect(await response.json()).toMatchObject({
    id: expect.stringMatching(/^chatcmpl-/),
    object: 'chat.completion',
    model: 'gpt-4o',
    choices: [
      {
        index: 0,
        finish_reason: 'stop',
        message: { role: 'assistant', content: 'You said: Hello there', refusal: null },
      },
    ],
    usage: {
      prompt_tokens: 2,
      completion_tokens: 5,
      total_tokens: 7,
      prompt_tokens_details: { cached_tokens: 0 },
      completion_tokens_details: { reasoning_tokens: 0 },
    },
  })
})

it('takes any prefix of the path', async () => {
  for (const prefix of ['', '/v1', '/openai/deployments/gpt']) {
    const response = await post(`${simulator.origin}${prefix}/chat/completions?api-version=1`, chatBody('x'), OPENAI)
    expect(response.status).toBe(200)
    await response.text()
  }
})

it('streams role, contents, finish, usage and end in the order of the protocol', async () => {
  const chunks = await streamed(chatBody('Hi', { stream: true, stream_options: { include_usage: true } }))
  expect(chunks[0].choices[0].delta).toEqual({ role: 'assistant', content: '', refusal: null })
  const contents = chunks.slice(1, -2)
  expect(contents.map((chunk) => chunk.choices[0].delta.content)).toEqual(['You', ' said', ':', ' Hi'])
  expect(chunks.at(-2).choices[0]).toMatchObject({ delta: {}, finish_reason: 'stop' })
  expect(chunks.at(-1)).toMatchObject({
    choices: [],
    usage: { prompt_tokens: 1, completion_tokens: 4, total_tokens: 5 },
  })
  for (const chunk of chunks.slice(0, -1)) expect(chunk.usage).toBeNull()
  expect(new Set(chunks.map((chunk) => chunk.id)).size).toBe(1)
})

it('sends no usage in a stream that did not ask for it', async () => {
  const chunks = await streamed(chatBody('Hi', { stream: true }))
  for (const chunk of chunks) expect(chunk).not.toHaveProperty('usage')
})

it('cuts the answer at the token limit and says so', async () => {
  const body = chatBody('Hi', { max_completion_tokens: 3, max_tokens: 9 })
  const answer: Json = await (await post(url, body, OPENAI)).json()
  expect(answer.choices[0]).toMatchObject({ finish_reason: 'length', message: { content: 'You said:' } })
  expect(answer.usage.completion_tokens).toBe(3)
  const chunks = await streamed({ ...body, stream: true })
  expect(chunks.at(-1).choices[0].finish_reason).toBe('length')
})

it('gives each of n choices the whole answer, interleaved in a stream', async () => {
  const answer: Json = await (await post(url, chatBody('Hi', { n: 3 }), OPENAI)).json()
  expect(answer.choices.map((choice: Json) => [choice.index, choice.message.content])).toEqual([
    [0, 'You said: Hi'],
    [1, 'You said: Hi'],
    [2, 'You said: Hi'],
  ])
  expect(answer.usage.completion_tokens).toBe(12)

  const chunks = await streamed(chatBody('Hi', { n: 3, stream: true, stream_options: { include_usage: true } }))
  const texts = ['', '', '']
  for (const { choices } of chunks) {
    for (const choice of choices) texts[choice.index] += choice.delta.content ?? ''
  }
  expect(texts).toEqual(Array(3).fill('You said: Hi'))
  expect(chunks.slice(0, 6).map((chunk) => chunk.choices[0].index)).toEqual([0, 1, 2, 0, 1, 2])
  expect(chunks.at(-1).usage.completion_tokens).toBe(12)
})

const WEATHER = {
  type: 'function',
  function: {
    name: 'get_weather',
    parameters: {
      type: 'object',
      properties: { city: { type: 'string' }, days: { type: 'integer', minimum: 2 }, unit: { enum: ['C', 'F'] } },
      required: ['city', 'days', 'unit'],
    },
  },
}

it('calls a tool that the user asks for, with arguments that fit its schema', async () => {
  const answer: Json = await (await post(url, chatBody('Please use get_weather.', { tools: [WEATHER] }), OPENAI)).json()
  const [choice] = answer.choices
  expect(choice.finish_reason).toBe('tool_calls')
  expect(choice.message.content).toBeNull()
  expect(choice.message.tool_calls[0]).toMatchObject({ type: 'function', function: { name: 'get_weather' } })
  expect(JSON.parse(choice.message.tool_calls[0].function.arguments)).toEqual({ city: 'example', days: 2, unit: 'C' })
})

it('does not call the tool again once its result has come', async () => {
  const call = { id: 'call_1', type: 'function', function: { name: 'get_weather', arguments: '{}' } }
  const messages = [
    { role: 'user', content: 'use get_weather' },
    { role: 'assistant', content: null, tool_calls: [call] },
    { role: 'tool', tool_call_id: 'call_1', content: 'Rain' },
  ]
  const answer: Json = await (await post(url, { model: 'm', messages, tools: [WEATHER] }, OPENAI)).json()
  expect(answer.choices[0]).toMatchObject({ finish_reason: 'stop', message: { content: 'The tool said: Rain' } })
})

it('streams parallel calls one after another, merged by index', async () => {
  const tool = [
    { name: 'first', arguments: { a: 'b "quoted"' } },
    { name: 'second', arguments: '{}' },
  ]
  const body = chatBody('x', { stream: true, stream_options: { include_usage: true } })
  const chunks = await streamed(body, { ...OPENAI, 'x-sim': JSON.stringify({ tool }) })
  const calls: { id?: string; name?: string; arguments: string }[] = []
  for (const { choices } of chunks) {
    for (const fragment of choices[0]?.delta.tool_calls ?? []) {
      const call = (calls[fragment.index] ??= { arguments: '' })
      if (fragment.id) Object.assign(call, { id: fragment.id, name: fragment.function.name })
      call.arguments += fragment.function.arguments
    }
  }
  expect(calls).toMatchObject([
    { name: 'first', arguments: '{"a":"b \\"quoted\\""}' },
    { name: 'second', arguments: '{}' },
  ])
  expect(chunks.at(-2).choices[0].finish_reason).toBe('tool_calls')
  expect(chunks.at(-1).usage.completion_tokens).toBe(simulator.ledger.totals.completionTokens)
})

it('obeys tool_choice', async () => {
  const named = { type: 'function', function: { name: 'get_weather' } }
  const finish = async (tool_choice: unknown): Promise<unknown[]> => {
    const body = chatBody('use get_weather', { tools: [WEATHER], tool_choice })
    const answer: Json = await (await post(url, body, OPENAI)).json()
    return [answer.choices[0].finish_reason, answer.choices[0].message.tool_calls?.length ?? 0]
  }
  expect(await finish('none')).toEqual(['stop', 0])
  expect(await finish('required')).toEqual(['tool_calls', 1])
  expect(await finish(named)).toEqual(['stop', 1])
})

it('refuses what the provider refuses', async () => {
  const refused = async (body: unknown): Promise<Json> => {
    const response = await post(url, body, OPENAI)
    expect(response.status).toBe(400)
    return ((await response.json()) as Json).error
  }
  expect(await refused('{"model":')).toMatchObject({ type: 'invalid_request_error' })
  expect(await refused({ messages: [] })).toMatchObject({ message: 'you must provide a model parameter' })
  expect(await refused({ model: 'm' })).toMatchObject({ param: 'messages', code: 'missing_required_parameter' })
  expect(await refused({ model: 'm', messages: [] })).toMatchObject({ code: 'empty_array', param: 'messages' })
  expect(await refused(chatBody('x', { n: 0 }))).toMatchObject({ param: 'n' })
})

it('takes null for absent', async () => {
  const body = chatBody('x', { n: null, max_tokens: null, stream: null, tools: null, stream_options: null, user: null })
  expect((await post(url, body, OPENAI)).status).toBe(200)
})

it('reports usage as bent as it is told to', async () => {
  const usage = async (mode: string, stream: boolean): Promise<Json> => {
    const body = chatBody(`[[sim {"usage":"${mode}"}]] hello`, { stream, stream_options: { include_usage: true } })
    if (!stream) return ((await (await post(url, body, OPENAI)).json()) as Json).usage
    return (await streamed(body)).at(-1).usage
  }
  for (const stream of [false, true]) {
    expect(await usage('zero', stream)).toMatchObject({ prompt_tokens: 0, completion_tokens: 0, total_tokens: 0 })
    expect((await usage('negative', stream)).completion_tokens).toBeLessThan(0)
    expect((await usage('huge', stream)).prompt_tokens).toBeGreaterThan(Number.MAX_SAFE_INTEGER)
    expect((await usage('string', stream)).prompt_tokens).toMatch(/^\d+$/)
    expect(await usage('absent', stream)).toBeUndefined()
  }
})

it('sends late usage after a pause, before the end', async () => {
  const body = chatBody('x', { stream: true, stream_options: { include_usage: true } })
  const started = performance.now()
  const chunks = await streamed(body, { 'x-sim': '{"usage":"late"}' })
  expect(chunks.at(-1).usage.prompt_tokens).toBe(1)
  expect(performance.now() - started).toBeGreaterThan(290)
})

it('reports the figures it is given, and books them', async () => {
  const headers = { ...OPENAI, 'x-sim': '{"promptTokens":1000,"completionTokens":50,"cachedTokens":400}' }
  const answer: Json = await (await post(url, chatBody('x'), headers)).json()
  expect(answer.usage).toMatchObject({ prompt_tokens: 1000, completion_tokens: 50, total_tokens: 1050 })
  expect(answer.usage.prompt_tokens_details.cached_tokens).toBe(400)
  await streamed(chatBody('x', { stream: true }), headers)
  expect(simulator.ledger.of('key-o')).toMatchObject({ promptTokens: 2000, completionTokens: 100, cachedTokens: 800 })
})
