import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest'
import { startSimulator, type Simulator } from '../../../src/simulator/simulator.ts'
import { eventsOf } from './raw-client.ts'
import { ANTHROPIC, messagesBody, post, type Json } from './requests.ts'

let simulator: Simulator
let url: string

beforeAll(async () => {
  simulator = await startSimulator({})
  url = `${simulator.origin}/v1/messages`
})
beforeEach(() => {
  simulator.reset()
})
afterAll(() => simulator.close())

async function streamed(body: unknown, headers: Record<string, string> = ANTHROPIC): Promise<Json[]> {
  const events = eventsOf(await (await post(url, body, headers)).text())
  const parsed = events.map((event) => JSON.parse(event.data))
  expect(parsed.map((event) => event.type)).toEqual(events.map((event) => event.event))
  return parsed
}

it('answers a messages request with the shape and the headers of the protocol', async () => {
  const response = await post(url, messagesBody('Hello there', { system: 'Be kind.' }), ANTHROPIC)
  expect(response.status).toBe(200)
  expect(response.headers.get('request-id')).toMatch(/^req_/)
  expect(response.headers.get('anthropic-ratelimit-requests-remaining')).toBe('3999')
  expect(response.headers.get('anthropic-ratelimit-tokens-reset')).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/)
  expect(await response.json()).toMatchObject({
    id: expect.stringMatching(/^msg_/),
    type: 'message',
    role: 'assistant',
    model: 'claude-sonnet-4-5',
    content: [{ type: 'text', text: 'You said: Hello there' }],
    stop_reason: 'end_turn',
    stop_sequence: null,
    usage: { input_tokens: 5, output_tokens: 5, cache_read_input_tokens: 0, cache_creation_input_tokens: 0 },
  })
})

it('streams in the grammar of the protocol', async () => {
  const events = await streamed(messagesBody('Hi', { stream: true }))
  expect(events.map((event) => event.type)).toEqual([
    'message_start',
    'content_block_start',
    'ping',
    ...Array<string>(4).fill('content_block_delta'),
    'content_block_stop',
    'message_delta',
    'message_stop',
  ])
  expect(events[0].message).toMatchObject({
    content: [],
    stop_reason: null,
    usage: { input_tokens: 1, output_tokens: 1 },
  })
  expect(events.filter((event) => event.type === 'content_block_delta').map((event) => event.delta.text)).toEqual([
    'You',
    ' said',
    ':',
    ' Hi',
  ])
  expect(events.at(-2)).toMatchObject({
    delta: { stop_reason: 'end_turn', stop_sequence: null },
    usage: { input_tokens: 1, output_tokens: 4 },
  })
})

const WEATHER = {
  name: 'get_weather',
  input_schema: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
}

it('calls tools in blocks of their own, after the text', async () => {
  const sim = { text: 'Let me look.', tool: [{ name: 'a', arguments: { x: 1 } }, { name: 'b' }] }
  const headers = { ...ANTHROPIC, 'x-sim': JSON.stringify(sim) }
  const whole: Json = await (await post(url, messagesBody('x'), headers)).json()
  expect(whole.stop_reason).toBe('tool_use')
  expect(whole.content).toMatchObject([
    { type: 'text', text: 'Let me look.' },
    { type: 'tool_use', name: 'a', input: { x: 1 } },
    { type: 'tool_use', name: 'b', input: {} },
  ])

  const events = await streamed(messagesBody('x', { stream: true }), headers)
  const inputs = new Map<number, string>()
  let open: number | null = null
  for (const event of events) {
    if (event.type === 'content_block_start') {
      expect(open).toBeNull()
      expect(event.index).toBe(inputs.size)
      inputs.set((open = event.index as number), '')
    }
    if (event.type === 'content_block_delta') {
      expect(event.index).toBe(open)
      inputs.set(event.index, (inputs.get(event.index) ?? '') + (event.delta.text ?? event.delta.partial_json))
    }
    if (event.type === 'content_block_stop') open = null
  }
  expect([...inputs.values()]).toEqual(['Let me look.', '{"x":1}', ''])
  expect(events.at(-2)).toMatchObject({
    delta: { stop_reason: 'tool_use' },
    usage: { output_tokens: whole.usage.output_tokens },
  })
})

it('calls a tool that is asked for or forced, and not one that is forbidden', async () => {
  const stop = async (text: string, tool_choice?: unknown): Promise<string> => {
    const body = messagesBody(text, { tools: [WEATHER], tool_choice })
    return ((await (await post(url, body, ANTHROPIC)).json()) as Json).stop_reason as string
  }
  expect(await stop('use get_weather')).toBe('tool_use')
  expect(await stop('nothing')).toBe('end_turn')
  expect(await stop('nothing', { type: 'any' })).toBe('tool_use')
  expect(await stop('nothing', { type: 'tool', name: 'get_weather' })).toBe('tool_use')
  expect(await stop('use get_weather', { type: 'none' })).toBe('end_turn')
})

it('cuts the answer at max_tokens', async () => {
  const answer: Json = await (await post(url, messagesBody('Hi', { max_tokens: 2 }), ANTHROPIC)).json()
  expect(answer).toMatchObject({ stop_reason: 'max_tokens', usage: { output_tokens: 2 } })
  const events = await streamed(messagesBody('Hi', { max_tokens: 2, stream: true }))
  expect(events.at(-2).delta.stop_reason).toBe('max_tokens')
})

it('counts the same tokens in count_tokens, in usage and in the chat dialect', async () => {
  const conversation = [
    { role: 'user', content: [{ type: 'text', text: 'What is 2+2?' }] },
    { role: 'assistant', content: [{ type: 'tool_use', id: 't1', name: 'calc', input: { a: 2, b: 2 } }] },
    { role: 'user', content: [{ type: 'tool_result', tool_use_id: 't1', content: 'four' }] },
  ]
  const body = { model: 'm', system: [{ type: 'text', text: 'Be exact.' }], messages: conversation }
  const counted: Json = await (await post(`${url}/count_tokens`, body, ANTHROPIC)).json()
  const answer: Json = await (await post(url, { ...body, max_tokens: 50 }, ANTHROPIC)).json()
  expect(counted).toEqual({ input_tokens: answer.usage.input_tokens })
  expect(answer.content[0].text).toBe('The tool said: four')

  const call = { id: 't1', type: 'function', function: { name: 'calc', arguments: '{ "a": 2, "b": 2 }' } }
  const messages = [
    { role: 'system', content: 'Be exact.' },
    { role: 'user', content: 'What is 2+2?' },
    { role: 'assistant', content: null, tool_calls: [call] },
    { role: 'tool', tool_call_id: 't1', content: 'four' },
  ]
  const chat: Json = await (await post(`${simulator.origin}/v1/chat/completions`, { model: 'm', messages })).json()
  expect(chat.usage.prompt_tokens).toBe(answer.usage.input_tokens)
})

it('leaves cached tokens out of input_tokens', async () => {
  const headers = { ...ANTHROPIC, 'x-sim': '{"promptTokens":100,"cachedTokens":90}' }
  const answer: Json = await (await post(url, messagesBody('x'), headers)).json()
  expect(answer.usage).toMatchObject({ input_tokens: 10, cache_read_input_tokens: 90 })
  expect(simulator.ledger.of('key-a')).toMatchObject({ promptTokens: 100, cachedTokens: 90 })
})

it('tells late usage in message_delta alone', async () => {
  const events = await streamed(messagesBody('x', { stream: true }), { ...ANTHROPIC, 'x-sim': '{"usage":"late"}' })
  expect(events[0].message.usage.input_tokens).toBe(0)
  expect(events.at(-2).usage.input_tokens).toBe(1)
})

it('refuses what the provider refuses', async () => {
  const refused = async (body: unknown, headers: Record<string, string> = ANTHROPIC): Promise<string> => {
    const response = await post(url, body, headers)
    expect(response.status).toBe(400)
    const answer: Json = await response.json()
    expect(answer).toMatchObject({ type: 'error', error: { type: 'invalid_request_error' } })
    expect(answer.request_id).toBe(response.headers.get('request-id'))
    return answer.error.message as string
  }
  expect(await refused(messagesBody('x'), { 'x-api-key': 'k' })).toBe('anthropic-version: header is required')
  expect(await refused(messagesBody('x', { max_tokens: undefined }))).toBe('max_tokens: Field required')
  expect(await refused(messagesBody('x', { messages: [] }))).toBe('messages: at least one message is required')
  expect(await refused(messagesBody('x', { messages: [{ role: 'tool', content: 'x' }] }))).toMatch(/messages\.0\.role/)
})

it('lists models in the shape of the asker', async () => {
  const chat: Json = await (await fetch(`${simulator.origin}/v1/models`)).json()
  expect(chat).toMatchObject({
    object: 'list',
    data: expect.arrayContaining([expect.objectContaining({ id: 'gpt-4o' })]),
  })
  const messages: Json = await (await fetch(`${simulator.origin}/v1/models`, { headers: ANTHROPIC })).json()
  expect(messages).toMatchObject({
    has_more: false,
    data: expect.arrayContaining([expect.objectContaining({ type: 'model' })]),
  })
  const one: Json = await (await fetch(`${simulator.origin}/v1/models/some%2Fmodel`)).json()
  expect(one).toMatchObject({ id: 'some/model', object: 'model' })
})
