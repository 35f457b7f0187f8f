import OpenAI from 'openai'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Simulator } from '../../../src/simulator/simulator.ts'
import { startSimulator } from '../../../src/simulator/simulator.ts'
import { arrivals, call, chat, expectRow, steering, uniqueMark } from '../../support/ai-calls.ts'
import type { Answer } from '../../support/ai-calls.ts'
import type { TestGateway } from '../../support/gateway.ts'
import { startGateway } from '../../support/gateway.ts'
import { FORM_NAMES, UPSTREAM_FORMS, upstreamsOfAllForms } from '../../support/upstream-forms.ts'
import { loadFixtures } from '../../support/recorded-fixtures.ts'

type ResponseInput = OpenAI.Responses.ResponseInput
type ResponseStreamEvent = OpenAI.Responses.ResponseStreamEvent

const PIXEL = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='
const parameters = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] }
const tools = [{ type: 'function' as const, name: 'get_weather', parameters, strict: false }]
/** A stream that thinks, then calls a tool; and an answer that calls a custom tool. */
const THINKS = 'anthropic-messages/anthropic-claude-agent-sdk-v1-messages-beta-true-post-ea8af730'
const CALLS_CUSTOM = 'openai-chat/openai-chat-completion-custom-tool-call'

let simulator: Simulator
let gateway: TestGateway
let openai: OpenAI

beforeAll(async () => {
  simulator = await startSimulator()
  for (const fixture of loadFixtures(({ id }) => id === THINKS || id === CALLS_CUSTOM)) {
    const type = fixture.kind === 'stream' ? 'text/event-stream' : 'application/json'
    const { id, response } = fixture
    simulator.record({ id, status: 200, headers: { 'content-type': type }, body: response, splits: null })
  }
  gateway = await startGateway({
    upstreams: upstreamsOfAllForms(simulator.origin),
  })
  openai = new OpenAI({ apiKey: gateway.apiKey, baseURL: `${gateway.url}/v1`, maxRetries: 0 })
})

afterAll(async () => {
  await gateway.stop()
  await simulator.close()
})

function responses(body: Record<string, unknown>): Promise<Answer> {
  return call(gateway, { path: '/v1/responses', body: { input: 'Hello there', ...body } })
}

function speaksChat(form: keyof typeof UPSTREAM_FORMS): boolean {
  return UPSTREAM_FORMS[form].dialect === 'openai-chat'
}

/** Types of a stream's events, each once where it is repeated. */
function orderOf(events: readonly ResponseStreamEvent[]): string[] {
  const types = events.map(({ type }) => type.replace('response.', ''))
  return types.filter((type, at) => type !== types[at - 1])
}

describe.each(FORM_NAMES)('over an upstream of %s', (model) => {
  it.each(['whole', 'streamed'])('a client looks at a picture, calls a tool and reads its result, %s', async (how) => {
    const ask = (input: ResponseInput): Promise<OpenAI.Responses.Response> => {
      const request = { model, input, tools, instructions: 'Be brief.', store: false }
      return how === 'whole' ? openai.responses.create(request) : openai.responses.stream(request).finalResponse()
    }
    const mark = uniqueMark()
    const question: ResponseInput = [
      {
        role: 'user',
        content: [
          { type: 'input_image', image_url: `data:image/png;base64,${PIXEL}`, detail: 'auto' },
          { type: 'input_text', text: `use get_weather ${mark}` },
        ],
      },
    ]
    const first = await ask(question)
    expect(first).toMatchObject({ object: 'response', status: 'completed', model, error: null, store: false, tools })
    expect(first.instructions).toBe('Be brief.')
    const item = first.output.find(({ type }) => type === 'function_call')
    if (item?.type !== 'function_call') throw new Error('no call')
    expect([item.status, JSON.parse(item.arguments)]).toEqual(['completed', { city: 'example' }])
    expect(arrivals(simulator, mark).every(({ body }) => body.includes(PIXEL))).toBe(true)

    const result = { type: 'function_call_output' as const, call_id: item.call_id, output: 'sunny' }
    const second = await ask([...question, ...(first.output as ResponseInput), result])
    expect(second.output_text).toBe('The tool said: sunny')
    expect(second.usage?.output_tokens).toBeGreaterThan(0)
    expect(second.usage?.total_tokens).toBe((second.usage?.input_tokens ?? 0) + (second.usage?.output_tokens ?? 0))
  })

  it('streams a text in the order of the protocol', async () => {
    const events: ResponseStreamEvent[] = []
    const stream = await openai.responses.create({ model, input: 'Hello there', stream: true })
    for await (const event of stream) events.push(event)
    expect(orderOf(events)).toEqual([
      'created',
      'in_progress',
      'output_item.added',
      'content_part.added',
      'output_text.delta',
      'output_text.done',
      'content_part.done',
      'output_item.done',
      'completed',
    ])
    expect(events.map(({ sequence_number }) => sequence_number)).toEqual(events.map((_, at) => at))
    const text = events.map((event) => (event.type === 'response.output_text.delta' ? event.delta : '')).join('')
    const last = events.at(-1)
    if (last?.type !== 'response.completed') throw new Error('not completed')
    expect(last.response.output).toMatchObject([
      { type: 'message', status: 'completed', content: [{ type: 'output_text', text, annotations: [] }] },
    ])
    expect(text).toContain('You said: Hello there')
  })

  it('streams a call in the order of the protocol', async () => {
    const events: ResponseStreamEvent[] = []
    const stream = await openai.responses.create({ model, input: 'use get_weather', tools, stream: true })
    for await (const event of stream) events.push(event)
    const order = orderOf(events)
    expect(order.slice(order.lastIndexOf('output_item.added'))).toEqual([
      'output_item.added',
      'function_call_arguments.delta',
      'function_call_arguments.done',
      'output_item.done',
      'completed',
    ])
  })

  it('tells an answer that was cut off from a whole one', async () => {
    const input = steering({ tokens: 50 })
    const cut = await openai.responses.create({ model, input, max_output_tokens: 16 })
    expect([cut.status, cut.incomplete_details]).toEqual(['incomplete', { reason: 'max_output_tokens' }])
    expect(cut.output).toMatchObject([{ type: 'message', status: 'incomplete' }])
    const streamed = await openai.responses.stream({ model, input, max_output_tokens: 16 }).finalResponse()
    expect([streamed.status, streamed.output_text]).toEqual(['incomplete', cut.output_text])
  })

  it('is booked under its own endpoint and dialect', async () => {
    for (const stream of [false, true]) {
      const input = steering({ promptTokens: 120, completionTokens: 30, cachedTokens: 100 })
      const answer = await responses({ model, stream, input })
      await expectRow(gateway, answer, {
        status: 200,
        endpoint: 'responses',
        dialect: 'openai-responses',
        prompt_tokens: 120,
        completion_tokens: 30,
        cached_tokens: 100,
        settlement: 'exact',
      })
    }
  })

  it('is counted as a chat is, where the upstream counts nothing', async () => {
    const input = steering({ usage: 'absent', text: 'Nobody counts these words, so they are counted here.' })
    const response = await responses({ model, input })
    const completion = await chat(gateway, { model, messages: input })
    const counted = await gateway.logRow(completion.id)
    expect(counted.completion_tokens).toBeGreaterThan(5)
    const { completion_tokens, settlement } = counted
    await expectRow(gateway, response, { status: 200, completion_tokens, settlement })
  })

  it('answers a refusal of the upstream with an error of its own', async () => {
    const failure = openai.responses.create({ model, input: steering({ status: 400 }) })
    await expect(failure).rejects.toMatchObject({ status: 400, type: 'invalid_request' })
  })
})

it('gives thinking back to who signed it, byte for byte', async () => {
  const model = 'anthropic-messages'
  const mark = uniqueMark()
  const input: ResponseInput = steering({ recorded: THINKS }, mark)
  const first = await openai.responses.stream({ model, input, reasoning: { effort: 'high' } }).finalResponse()
  const [reasoning] = first.output
  const toolCall = first.output.find(({ type }) => type === 'function_call')
  if (reasoning?.type !== 'reasoning' || toolCall?.type !== 'function_call') throw new Error('neither thought nor call')
  expect(reasoning.summary).toMatchObject([{ type: 'summary_text', text: expect.stringMatching(/\w/) }])

  const used = [{ type: 'function' as const, name: toolCall.name, parameters, strict: false }]
  const result = { type: 'function_call_output' as const, call_id: toolCall.call_id, output: 'done' }
  const history: ResponseInput = [{ role: 'user', content: mark }, ...(first.output as ResponseInput), result]
  await openai.responses.create({ model, input: history, tools: used, reasoning: { effort: 'high' } })
  const [, second] = arrivals(simulator, mark).map(({ body }) => JSON.parse(body))
  const [block] = second.messages[1].content
  expect(second.thinking).toEqual({ type: 'adaptive' })
  expect(block).toMatchObject({ type: 'thinking', thinking: reasoning.summary[0]?.text })
  const fixture = loadFixtures(({ id }) => id === THINKS)[0]
  expect(fixture?.response.includes(block.signature as string)).toBe(true)
})

it('calls custom tools, of upstreams that know them and of those that have functions alone', async () => {
  const custom = [{ type: 'custom' as const, name: 'apply_patch', format: { type: 'text' as const } }]
  const alias = openai.responses.stream({ model: 'anthropic-messages', input: 'use apply_patch', tools: custom })
  const aliased = await alias.finalResponse()
  const item = aliased.output.find(({ type }) => type === 'custom_tool_call')
  expect(item).toMatchObject({ name: 'apply_patch', input: 'example' })

  const mark = uniqueMark()
  const format = { type: 'grammar' as const, syntax: 'lark' as const, definition: 'start: "x"' }
  const own = await openai.responses.create({
    model: 'openai-chat',
    input: steering({ recorded: CALLS_CUSTOM }, mark),
    tools: [{ type: 'custom', name: 'math_exp', format }],
  })
  expect(own.output.find(({ type }) => type === 'custom_tool_call')).toMatchObject({
    input: expect.stringMatching(/\d/),
  })
  const { syntax, definition } = format
  expect(arrivals(simulator, mark).map(({ body }) => JSON.parse(body).tools)).toEqual([
    [{ type: 'custom', custom: { name: 'math_exp', format: { type: 'grammar', grammar: { syntax, definition } } } }],
  ])
})

it.each([
  [{ store: true }, '/store'],
  [{ previous_response_id: 'resp_1' }, '/previous_response_id'],
  [{ conversation: 'conv_1' }, '/conversation'],
  [{ background: true }, '/background'],
  [{ prompt: { id: 'pmpt_1' } }, '/prompt'],
  [{ input: [{ type: 'item_reference', id: 'msg_1' }] }, '/input/0/type'],
])('refuses %j, which needs a server that keeps or runs something', async (members, param) => {
  const answer = await responses({ model: 'openai-chat', ...members })
  expect([answer.status, JSON.parse(answer.text)]).toMatchObject([
    400,
    { error: { type: 'invalid_request', code: 'UNSUPPORTED_FIELD', param } },
  ])
})

it.each([
  [{ input: undefined }, '/input'],
  [{ input: [] }, '/input'],
  [{ input: [{ role: 'robot', content: 'x' }] }, '/input/0/role'],
  [{ input: [{ type: 'function_call_output', output: 'x' }] }, '/input/0/call_id'],
  [{ tools: [{ type: 'function', parameters: {} }] }, '/tools/0/name'],
  [{ max_output_tokens: 0 }, '/max_output_tokens'],
])('names the bad field of %j', async (members, param) => {
  const answer = await responses({ model: 'openai-chat', ...members })
  expect([answer.status, JSON.parse(answer.text).error]).toMatchObject([400, { code: 'INVALID_FIELD', param }])
})

// Last: so many failures open the circuit of a key.
describe.each(FORM_NAMES)('over an upstream of %s', (model) => {
  it.each(['error-event-mid', 'close-mid-stream', 'reset-mid-stream', 'no-terminal', 'truncated-json'] as const)(
    'never completes a stream with %s',
    async (fault) => {
      const answer = await responses({ model, stream: true, input: steering({ fault, after: 4, tokens: 10 }) })
      expect(answer.status).toBe(200)
      const events = answer.text
        .split('\n\n')
        .filter((event) => event !== '')
        .map((event) => JSON.parse(event.slice(event.indexOf('data: ') + 6)))
      // The chat protocol's own end is its finish reason.
      const whole = fault === 'no-terminal' && speaksChat(model)
      expect(events.map(({ sequence_number: number }) => number)).toEqual(events.map((_, at) => at))
      expect(events.filter(({ type }) => type === 'response.created')).toHaveLength(1)
      expect(events.filter(({ type }) => type === 'response.completed')).toHaveLength(whole ? 1 : 0)
      if (whole) return
      expect(events.at(-2)).toMatchObject({ type: 'error', error: { type: 'service_unavailable' } })
      expect(events.at(-1)).toMatchObject({
        type: 'response.failed',
        response: { status: 'failed', error: { code: expect.any(String), message: expect.any(String) } },
      })
    },
  )
})
