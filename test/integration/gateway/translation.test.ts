import Anthropic from '@anthropic-ai/sdk'
import OpenAI from 'openai'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Simulator } from '../../../src/simulator/simulator.ts'
import { startSimulator } from '../../../src/simulator/simulator.ts'
import { call, chat, expectRow, jsonOf, steering } from '../../support/ai-calls.ts'
import type { TestGateway } from '../../support/gateway.ts'
import { eventually } from '../../support/eventually.ts'
import { startGateway } from '../../support/gateway.ts'
import { FORM_NAMES, UPSTREAM_FORMS, upstreamsOfAllForms } from '../../support/upstream-forms.ts'

const PIXEL = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='
const schema = { type: 'object' as const, properties: { city: { type: 'string' } }, required: ['city'] }

let simulator: Simulator
let gateway: TestGateway
let openai: OpenAI
let anthropic: Anthropic

beforeAll(async () => {
  simulator = await startSimulator()
  gateway = await startGateway({
    upstreams: upstreamsOfAllForms(simulator.origin),
    config: { workers: { inline_max_bytes: 20_000 } },
  })
  openai = new OpenAI({ apiKey: gateway.apiKey, baseURL: `${gateway.url}/v1`, maxRetries: 0 })
  anthropic = new Anthropic({ apiKey: gateway.apiKey, baseURL: gateway.url, maxRetries: 0 })
})

afterAll(async () => {
  await gateway.stop()
  await simulator.close()
})

describe.each(FORM_NAMES)('over an upstream of %s', (model) => {
  it('an openai client looks at a picture, calls a tool and reads its result, whole', async () => {
    const tools = [{ type: 'function' as const, function: { name: 'get_weather', parameters: schema } }]
    const messages: OpenAI.ChatCompletionMessageParam[] = [
      { role: 'system', content: 'Be brief.' },
      {
        role: 'user',
        content: [
          { type: 'image_url', image_url: { url: `data:image/png;base64,${PIXEL}` } },
          { type: 'text', text: 'use get_weather' },
        ],
      },
    ]
    const first = await openai.chat.completions.create({ model, messages, tools })
    const message = first.choices[0]?.message
    const toolCall = message?.tool_calls?.[0]
    if (message === undefined || toolCall?.type !== 'function') throw new Error('no tool call')
    expect(first).toMatchObject({ object: 'chat.completion', model, choices: [{ finish_reason: 'tool_calls' }] })
    expect(JSON.parse(toolCall.function.arguments)).toEqual({ city: 'example' })
    const second = await openai.chat.completions.create({
      model,
      tools,
      messages: [...messages, message, { role: 'tool', tool_call_id: toolCall.id, content: 'sunny' }],
    })
    expect(second.choices[0]).toMatchObject({ finish_reason: 'stop', message: { content: 'The tool said: sunny' } })
    expect(second.usage?.completion_tokens).toBeGreaterThan(0)
  })

  it('the same, streamed', async () => {
    const tools = [{ type: 'function' as const, function: { name: 'get_weather', parameters: schema } }]
    const question = { role: 'user' as const, content: 'use get_weather' }
    const first = await openai.chat.completions.stream({ model, messages: [question], tools }).finalMessage()
    const toolCall = first.tool_calls?.[0]
    if (toolCall?.type !== 'function') throw new Error('no tool call')
    expect(JSON.parse(toolCall.function.arguments)).toEqual({ city: 'example' })
    const stream = openai.chat.completions.stream({
      model,
      tools,
      stream_options: { include_usage: true },
      messages: [question, first, { role: 'tool', tool_call_id: toolCall.id, content: 'sunny' }],
    })
    expect(await stream.finalMessage()).toMatchObject({ content: 'The tool said: sunny' })
    expect((await stream.totalUsage()).completion_tokens).toBeGreaterThan(0)
  })

  it.each(['whole', 'streamed'])('an anthropic client looks, calls a tool and reads its result, %s', async (how) => {
    const ask = (messages: Anthropic.MessageParam[]): Promise<Anthropic.Message> => {
      const request = { model, max_tokens: 100, system: 'Be brief.', messages, tools }
      return how === 'whole' ? anthropic.messages.create(request) : anthropic.messages.stream(request).finalMessage()
    }
    const tools = [{ name: 'get_weather', input_schema: schema }]
    const question: Anthropic.MessageParam = {
      role: 'user',
      content: [
        { type: 'image', source: { type: 'base64', media_type: 'image/png', data: PIXEL } },
        { type: 'text', text: 'use get_weather' },
      ],
    }
    const first = await ask([question])
    expect(first).toMatchObject({ type: 'message', role: 'assistant', model, stop_reason: 'tool_use' })
    const use = first.content.find((block) => block.type === 'tool_use')
    if (use === undefined) throw new Error('no tool call')
    expect(use.input).toEqual({ city: 'example' })
    const second = await ask([
      question,
      { role: 'assistant', content: first.content },
      { role: 'user', content: [{ type: 'tool_result', tool_use_id: use.id, content: 'sunny' }] },
    ])
    expect(second).toMatchObject({ stop_reason: 'end_turn', content: [{ text: 'The tool said: sunny' }] })
    expect(second.usage.output_tokens).toBeGreaterThan(0)
  })
})

it('says what of a request the upstream could not be told, to the client and in the log', async () => {
  const answer = await chat(gateway, { model: 'anthropic-messages', frequency_penalty: 0.5, seed: 7 })
  expect(answer.status).toBe(200)
  const dropped = answer.headers.get('x-sluice-dropped')?.split(', ')
  expect(dropped).toEqual(expect.arrayContaining(['frequency_penalty', 'seed']))
  await expectRow(gateway, answer, { status: 200 })
  const headers = { authorization: `Bearer ${await gateway.adminToken()}` }
  const { attempts } = jsonOf(await call(gateway, { path: `/v1/admin/logs/${answer.id}`, headers }))
  expect(attempts).toMatchObject([{ outcome: 'ok', dropped }])
})

it('refuses what must not be left out, and names it', async () => {
  const answer = await chat(gateway, { model: 'anthropic-messages', n: 2 })
  expect([answer.status, JSON.parse(answer.text)]).toMatchObject([
    400,
    { error: { type: 'invalid_request', code: 'UNSUPPORTED_FIELD', param: '/n' } },
  ])
})

it('translates large bodies in the pool, and large answers', async () => {
  const text = 'a long story '.repeat(10_000)
  const answer = await chat(gateway, { model: 'anthropic-messages', messages: [{ role: 'user', content: text }] })
  expect([answer.status, JSON.parse(answer.text)]).toMatchObject([
    200,
    { choices: [{ message: { content: expect.stringContaining('You said: a long story') } }] },
  ])
  const messages = steering({ tokens: 20_000 })
  const large = await chat(gateway, { model: 'anthropic-messages', messages })
  expect(JSON.parse(large.text).choices[0].message.content.length).toBeGreaterThan(20_000)
})

const PAIRS = [
  ['/v1/chat/completions', 'anthropic-messages'],
  ['/v1/messages', 'openai-chat'],
  ['/v1/messages', 'azure-deployment'],
  ['/v1/messages', 'bedrock-invoke'],
  ['/v1/chat/completions', 'anthropic-vertex'],
] as const

describe.each(PAIRS)('%s over %s', (path, model) => {
  const request = { model, max_tokens: 50, messages: [{ role: 'user', content: 'Hello there' }] }

  it('answers a refusal of the upstream in the dialect of the client', async () => {
    const answer = await call(gateway, { path, body: { ...request, messages: steering({ status: 400 }) } })
    expect([answer.status, JSON.parse(answer.text)]).toMatchObject([400, { error: { type: expect.any(String) } }])
    expect('type' in JSON.parse(answer.text)).toBe(path === '/v1/messages')
  })

  it('books what the upstream counted', async () => {
    const usage = { promptTokens: 120, completionTokens: 30, cachedTokens: 100 }
    for (const stream of [false, true]) {
      const answer = await call(gateway, { path, body: { ...request, stream, messages: steering(usage) } })
      await expectRow(gateway, answer, {
        status: 200,
        prompt_tokens: 120,
        completion_tokens: 30,
        cached_tokens: 100,
        settlement: 'exact',
      })
    }
  })
})

it('bug 16: an error inside a stream tells nothing of the inside', async () => {
  const errorEvent = { fault: 'error-event-mid', after: 3, tokens: 10 } as const
  const body = { model: 'anthropic-messages', stream: true, messages: steering(errorEvent) }
  const { text } = await call(gateway, { path: '/v1/chat/completions', body })
  expect(text).toContain('data: {"error"')
  expect(text).not.toContain(simulator.origin.replace('http://', ''))
  expect(text).not.toMatch(/upstream-credential|\bat .+:\d+:\d+|node:internal|\.ts\b/)
})

it.each(FORM_NAMES)('bug 34: a client that leaves ends the call of %s, and no other is made for it', async (model) => {
  const leaving = new AbortController()
  const before = simulator.ledger.totals.started
  const answer = await fetch(`${gateway.url}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${gateway.apiKey}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model, stream: true, messages: steering({ tokens: 1_000, eventsPerSecond: 20 }) }),
    signal: leaving.signal,
  })
  await answer.body?.getReader().read()
  leaving.abort()
  await eventually(() => {
    expect(simulator.ledger.totals.aborted).toBeGreaterThan(0)
    expect(simulator.ledger.totals.inFlight).toBe(0)
  })
  expect(simulator.ledger.totals.started).toBe(before + 1)
  const id = answer.headers.get('x-request-id') ?? ''
  await expectRow(gateway, { id }, { status: 200, aborted: true })
})

// Last: so many failures open the circuit of a key.
describe.each(PAIRS)('%s over %s', (path, model) => {
  const request = { model, max_tokens: 50, messages: [{ role: 'user', content: 'Hello there' }] }

  it.each(['error-event-mid', 'close-mid-stream', 'reset-mid-stream', 'no-terminal', 'truncated-json'] as const)(
    'never ends a stream with %s as if it were whole',
    async (fault) => {
      const answer = await call(gateway, {
        path,
        body: { ...request, stream: true, messages: steering({ fault, after: 4, tokens: 10 }) },
      })
      expect(answer.status).toBe(200)
      const events = answer.text.split('\n\n').filter((event) => event !== '')
      // The chat protocol's own end is its finish reason.
      const whole = fault === 'no-terminal' && UPSTREAM_FORMS[model].dialect === 'openai-chat'
      if (path === '/v1/messages') {
        expect(answer.text.match(/event: message_start/g)).toHaveLength(1)
        expect(answer.text.includes('event: message_stop')).toBe(whole)
        expect(events.at(-1)?.startsWith('event: error')).toBe(!whole)
      } else {
        expect(answer.text.includes('data: [DONE]')).toBe(whole)
        expect(events.at(-1)?.startsWith('data: {"error"')).toBe(!whole)
      }
    },
  )
})
