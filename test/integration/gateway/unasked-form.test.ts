import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { call, jsonOf } from '../../support/ai-calls.ts'
import type { Answer } from '../../support/ai-calls.ts'
import type { TestGateway } from '../../support/gateway.ts'
import { startGateway } from '../../support/gateway.ts'
import { readResponsesStream } from '../../support/responses-grammar.ts'
import { ScriptedServer, events, json } from '../../support/scripted-server.ts'
import type { Scene } from '../../support/scripted-server.ts'
import { readChatStream, readMessagesStream } from '../../support/stream-grammar.ts'
import { chatStream, finishChunk, messageOf } from '../../support/translation.ts'

const INPUT = '{"city":"Rome"}'
const USAGE = { prompt_tokens: 5, completion_tokens: 7, total_tokens: 12 }
const CALL = { id: 'call_1', type: 'function', function: { name: 'look', arguments: INPUT } }

/** The same answer in both forms: a text, a call, usage. */
const CHAT: Readonly<Record<string, Scene>> = {
  whole: json(200, {
    id: 'chatcmpl-1',
    object: 'chat.completion',
    created: 1,
    model: 'm',
    choices: [
      {
        index: 0,
        message: { role: 'assistant', content: 'Let me see', tool_calls: [CALL] },
        finish_reason: 'tool_calls',
      },
    ],
    usage: USAGE,
  }),
  events: events([
    chatStream(
      [{ role: 'assistant', content: 'Let me ' }, { content: 'see' }, { tool_calls: [{ index: 0, ...CALL }] }],
      finishChunk('tool_calls'),
      { choices: [], usage: USAGE },
    ),
    'data: [DONE]\n\n',
  ]),
}

const TOOL_USE = { type: 'tool_use', id: 'toolu_1', name: 'look' }
const MESSAGES: Readonly<Record<string, Scene>> = {
  whole: json(200, {
    id: 'msg_1',
    type: 'message',
    role: 'assistant',
    model: 'm',
    content: [
      { type: 'text', text: 'Let me see' },
      { ...TOOL_USE, input: JSON.parse(INPUT) as unknown },
    ],
    stop_reason: 'tool_use',
    stop_sequence: null,
    usage: { input_tokens: 5, output_tokens: 7 },
  }),
  events: events([
    messageOf(
      [
        [
          { type: 'text', text: '' },
          { type: 'text_delta', text: 'Let me see' },
        ],
        [
          { ...TOOL_USE, input: {} },
          { type: 'input_json_delta', partial_json: INPUT },
        ],
      ],
      'tool_use',
    ),
  ]),
}

const SAID = 'Let me see'
const GEMINI_ANSWER = {
  candidates: [
    {
      content: { role: 'model', parts: [{ text: SAID }, { functionCall: { name: 'look', args: { city: 'Rome' } } }] },
      finishReason: 'STOP',
    },
  ],
  usageMetadata: { promptTokenCount: 5, candidatesTokenCount: 7, totalTokenCount: 12 },
}
const GEMINI: Readonly<Record<string, Scene>> = {
  whole: json(200, GEMINI_ANSWER),
  events: events([`data: ${JSON.stringify(GEMINI_ANSWER)}\n\n`]),
}

const COHERE_USAGE = { tokens: { input_tokens: 5, output_tokens: 7 } }
const cohereEvent = (type: string, rest: object): string =>
  `event: ${type}\ndata: ${JSON.stringify({ type, ...rest })}\n\n`
const COHERE: Readonly<Record<string, Scene>> = {
  whole: json(200, {
    id: 'c',
    message: { role: 'assistant', content: [{ type: 'text', text: SAID }], tool_calls: [CALL] },
    finish_reason: 'TOOL_CALL',
    usage: COHERE_USAGE,
  }),
  events: events([
    cohereEvent('message-start', { id: 'c', delta: { message: { role: 'assistant', content: [] } } }),
    cohereEvent('content-start', { index: 0, delta: { message: { content: { type: 'text', text: '' } } } }),
    cohereEvent('content-delta', { index: 0, delta: { message: { content: { text: SAID } } } }),
    cohereEvent('content-end', { index: 0 }),
    cohereEvent('tool-call-start', { index: 0, delta: { message: { tool_calls: CALL } } }),
    cohereEvent('tool-call-end', { index: 0 }),
    cohereEvent('message-end', { delta: { finish_reason: 'TOOL_CALL', usage: COHERE_USAGE } }),
  ]),
}

const SCENES: Readonly<Record<string, Readonly<Record<string, Scene>>>> = {
  chat: CHAT,
  messages: MESSAGES,
  gemini: GEMINI,
  cohere: COHERE,
}

let chatHost: ScriptedServer
let messagesHost: ScriptedServer
let otherHost: ScriptedServer
let gateway: TestGateway

beforeAll(async () => {
  chatHost = await ScriptedServer.start()
  messagesHost = await ScriptedServer.start()
  otherHost = await ScriptedServer.start()
  gateway = await startGateway({
    upstreams: [
      { dialect: 'openai-chat', baseUrl: `${chatHost.url}/v1`, models: ['chat'] },
      { dialect: 'anthropic-messages', baseUrl: messagesHost.url, models: ['messages'] },
      { dialect: 'gemini', baseUrl: otherHost.url, models: ['gemini'] },
      { dialect: 'cohere-chat', baseUrl: otherHost.url, models: ['cohere'] },
    ],
  })
})

afterAll(async () => {
  await gateway.stop()
  await Promise.all([chatHost.close(), messagesHost.close(), otherHost.close()])
})

interface Seen {
  readonly text: string
  readonly input: unknown
  readonly tokens: unknown
}

const EXPECTED: Seen = { text: 'Let me see', input: INPUT, tokens: [5, 7] }
const ASKED = { messages: [{ role: 'user', content: 'Look' }] }

interface Client {
  readonly path: string
  readonly body: object
  readonly whole: (body: Record<string, unknown>) => Seen
  readonly stream: (text: string) => Seen
}

/* eslint-disable @typescript-eslint/no-explicit-any -- answers are read as they come */
const CLIENTS: Readonly<Record<string, Client>> = {
  chat: {
    path: '/v1/chat/completions',
    body: { ...ASKED, stream_options: { include_usage: true } },
    whole: ({ choices, usage }: any) => ({
      text: choices[0].message.content,
      input: choices[0].message.tool_calls[0].function.arguments,
      tokens: [usage.prompt_tokens, usage.completion_tokens],
    }),
    stream: (text) => {
      const { text: said, calls, usage } = readChatStream(text)
      return { text: said, input: calls[0]?.input, tokens: [usage?.prompt_tokens, usage?.completion_tokens] }
    },
  },
  messages: {
    path: '/v1/messages',
    body: { ...ASKED, max_tokens: 100 },
    whole: ({ content, usage }: any) => ({
      text: content[0].text,
      input: JSON.stringify(content[1].input),
      tokens: [usage.input_tokens, usage.output_tokens],
    }),
    stream: (text) => {
      const { text: said, calls, usage } = readMessagesStream(text)
      return { text: said, input: calls[0]?.input, tokens: [usage?.input_tokens, usage?.output_tokens] }
    },
  },
  responses: {
    path: '/v1/responses',
    body: { input: 'Look' },
    whole: ({ output, usage }: any) => ({
      text: output[0].content[0].text,
      input: output[1].arguments,
      tokens: [usage.input_tokens, usage.output_tokens],
    }),
    stream: (text) => CLIENTS['responses']!.whole(readResponsesStream(text).response as Record<string, unknown>),
  },
}
/* eslint-enable @typescript-eslint/no-explicit-any */

async function ask(name: string, model: string, stream: boolean): Promise<Answer> {
  const { path, body } = CLIENTS[name]!
  const { stream_options, ...rest } = body as { stream_options?: object }
  const asked = stream ? { ...rest, ...(stream_options && { stream_options }), stream } : rest
  return call(gateway, { path, body: { model, ...asked } })
}

describe.each(['chat', 'messages', 'responses'])('a %s client', (name) => {
  describe.each(Object.keys(SCENES))('whose host speaks %s', (model) => {
    const host = (): ScriptedServer => (model === 'chat' ? chatHost : model === 'messages' ? messagesHost : otherHost)
    const scenes = SCENES[model]!

    it('gets its stream where the host answers whole', async () => {
      host().script(scenes['whole']!)
      const answer = await ask(name, model, true)
      expect([answer.status, answer.headers.get('content-type')]).toEqual([200, 'text/event-stream; charset=utf-8'])
      expect(CLIENTS[name]!.stream(answer.text)).toEqual(EXPECTED)
      expect(host().received).toHaveLength(1)
    })

    it('gets its whole answer where the host streams', async () => {
      host().script(scenes['events']!)
      const answer = await ask(name, model, false)
      expect([answer.status, answer.headers.get('content-type')]).toEqual([200, 'application/json'])
      expect(CLIENTS[name]!.whole(jsonOf(answer))).toEqual(EXPECTED)
      expect(host().received).toHaveLength(1)
    })
  })
})

it('does not take a stream that breaks off for a whole answer', async () => {
  chatHost.script(events([chatStream([{ content: 'Let me' }])]))
  const answer = await ask('chat', 'chat', false)
  expect(answer.status).toBeGreaterThanOrEqual(500)
})
