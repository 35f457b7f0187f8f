import { describe, expect, it } from 'vitest'
import type { BuiltRequest, Target } from '../../../src/shared/core/codec.ts'
import type { WireDialect } from '../../../src/shared/core/conversation.ts'
import { clientCodec, upstreamCodec } from '../../../src/dialects/codecs.ts'
import { writeAwsFrame } from '../../../src/shared/wire/aws-event-stream.ts'
import { decodeStream } from '../../support/decode-stream.ts'
import type { Json } from '../../support/plain-json.ts'
import { loadFixtures } from '../../support/recorded-fixtures.ts'
import { readChatStream, readMessagesStream } from '../../support/stream-grammar.ts'
import { OPTIONS, answerOf, encodeStream } from '../../support/translation.ts'

// Bugs that other gateways have published, each with the reports' number in the notes on translation, as far as they
// concern Converse, Cohere and Azure; and their pitfalls.

const CLAUDE = 'us.anthropic.claude-haiku-4-5-20251001-v1:0'
const SCHEMA = { type: 'object', properties: { city: { type: 'string' } } }
const WEATHER = { type: 'function', function: { name: 'get_weather', parameters: SCHEMA } }

function build(dialect: WireDialect, request: Json, more: Partial<Target> = {}): BuiltRequest & { body: Json } {
  const client = 'system' in request || request.max_tokens !== undefined ? 'anthropic-messages' : 'openai-chat'
  const { defaultTarget, buildRequest } = upstreamCodec(dialect)
  return buildRequest(clientCodec(client).parseRequest(request), { ...defaultTarget, model: CLAUDE, ...more })
}

function converse(messages: readonly Json[], more: Json = {}, target: Partial<Target> = {}): Json {
  return build('bedrock-converse', { model: 'm', messages, tools: [WEATHER], ...more }, target).body
}

function call(id: string, input = '{}'): Json {
  return {
    role: 'assistant',
    tool_calls: [{ id, type: 'function', function: { name: 'get_weather', arguments: input } }],
  }
}

function result(id: string, content = 'ok'): Json {
  return { role: 'tool', tool_call_id: id, content }
}

function frames(...events: readonly (readonly [type: string, payload: Json])[]): Buffer[] {
  return events.map(([type, payload]) =>
    writeAwsFrame(
      { ':message-type': 'event', ':event-type': type, ':content-type': 'application/json' },
      JSON.stringify({ ...payload, p: 'abc' }),
    ),
  )
}

function decode(chunks: readonly Buffer[]) {
  return decodeStream(upstreamCodec('bedrock-converse').createDecoder(), 'aws-event-stream', chunks)
}

const START = ['messageStart', { role: 'assistant' }] as const
const END = [
  ['messageStop', { stopReason: 'end_turn' }],
  [
    'metadata',
    {
      usage: {
        inputTokens: 10,
        outputTokens: 5,
        cacheReadInputTokens: 90,
        cacheWriteInputTokens: 20,
        totalTokens: 125,
      },
    },
  ],
] as const
const TOOL = [
  'contentBlockStart',
  { contentBlockIndex: 0, start: { toolUse: { toolUseId: 't', name: 'get_weather' } } },
] as const

describe('streams of Converse', () => {
  it('bug 1: a turn with calls ends in tool calls, whatever the stop reason says', () => {
    const events = decode(frames(START, TOOL, ['contentBlockStop', { contentBlockIndex: 0 }], ...END))
    expect(readMessagesStream(encodeStream('anthropic-messages', events)).stop).toBe('tool_use')
    expect(readChatStream(encodeStream('openai-chat', events)).stop).toBe('tool_calls')
  })

  it('bug 3, bug 4: parallel calls keep their places, the first among them', () => {
    const second = { contentBlockIndex: 1, start: { toolUse: { toolUseId: 'u', name: 'get_time' } } }
    const delta = (contentBlockIndex: number, input: string): readonly [string, Json] => [
      'contentBlockDelta',
      { contentBlockIndex, delta: { toolUse: { input } } },
    ]
    const events = decode(
      frames(
        START,
        TOOL,
        delta(0, '{"a":1}'),
        ['contentBlockStop', { contentBlockIndex: 0 }],
        ['contentBlockStart', second],
        delta(1, '{"b":2}'),
        ['contentBlockStop', { contentBlockIndex: 1 }],
        ...END,
      ),
    )
    expect(readChatStream(encodeStream('openai-chat', events)).calls).toMatchObject([
      { id: 't', input: '{"a":1}' },
      { id: 'u', input: '{"b":2}' },
    ])
  })

  it('bug 5: a call without arguments is closed, with an empty object for them', () => {
    for (const deltas of [
      [],
      [['contentBlockDelta', { contentBlockIndex: 0, delta: { toolUse: { input: '' } } }]],
    ] as const) {
      const events = decode(frames(START, TOOL, ...deltas, ['contentBlockStop', { contentBlockIndex: 0 }], ...END))
      expect(readChatStream(encodeStream('openai-chat', events)).calls).toMatchObject([{ input: '{}' }])
      expect(readMessagesStream(encodeStream('anthropic-messages', events)).calls).toHaveLength(1)
    }
  })

  it('bug 6, pitfall 19: texts begin with their first delta, and usage behind the stop is not lost', () => {
    const text = { contentBlockIndex: 3, delta: { text: 'hi' } }
    const events = decode(
      frames(START, ['contentBlockDelta', text], ['contentBlockStop', { contentBlockIndex: 3 }], ...END),
    )
    const view = readMessagesStream(encodeStream('anthropic-messages', events))
    expect(view.text).toBe('hi')
    expect(view.usage).toMatchObject({ input_tokens: 10, output_tokens: 5 })
  })

  it('bug 9, pitfall 4: cached tokens are counted once, beside the fresh ones', () => {
    const events = decode(frames(START, ['contentBlockDelta', { contentBlockIndex: 0, delta: { text: 'x' } }], ...END))
    expect(readChatStream(encodeStream('openai-chat', events)).usage).toMatchObject({
      prompt_tokens: 120,
      prompt_tokens_details: { cached_tokens: 90 },
      total_tokens: 125,
    })
    expect(readMessagesStream(encodeStream('anthropic-messages', events)).usage).toMatchObject({
      input_tokens: 10,
      cache_read_input_tokens: 90,
      cache_creation_input_tokens: 20,
    })
  })

  it('bug 13: a limit that was met is told as one, even with calls', () => {
    const stop = [['messageStop', { stopReason: 'max_tokens' }], END[1]] as const
    const events = decode(frames(START, TOOL, ['contentBlockStop', { contentBlockIndex: 0 }], ...stop))
    expect(readChatStream(encodeStream('openai-chat', events)).stop).toBe('length')
  })

  it('bug 15, pitfall 8: an exception within a stream is an error, not the end of a turn', () => {
    const exception = writeAwsFrame(
      { ':message-type': 'exception', ':exception-type': 'modelStreamErrorException' },
      '{"message":"failed","originalStatusCode":500,"originalMessage":"boom"}',
    )
    const events = decode([
      ...frames(START, ['contentBlockDelta', { contentBlockIndex: 0, delta: { text: 'x' } }]),
      exception,
      ...frames(...END),
    ])
    expect(events.at(-1)).toEqual({
      type: 'error',
      failure: { type: 'modelStreamErrorException', message: 'failed: boom' },
    })
  })

  it('a guardrail that steps in is a filtered answer', () => {
    const stop = [['messageStop', { stopReason: 'guardrail_intervened' }], END[1]] as const
    const events = decode(
      frames(START, ['contentBlockDelta', { contentBlockIndex: 0, delta: { text: 'Sorry.' } }], ...stop),
    )
    expect(readChatStream(encodeStream('openai-chat', events)).stop).toBe('content_filter')
    expect(readMessagesStream(encodeStream('anthropic-messages', events)).stop).toBe('refusal')
  })

  it('output that is malformed is an error when there is nothing else', () => {
    const stop = [['messageStop', { stopReason: 'malformed_tool_use' }], END[1]] as const
    expect(decode(frames(START, ...stop)).at(-1)).toMatchObject({ failure: { type: 'malformed_tool_use' } })
  })
})

describe('requests to Converse', () => {
  it('bug 17, bug 18, pitfall 10: all results stand in one turn, ahead of what the user says', () => {
    const body = converse([
      { role: 'user', content: 'a' },
      { role: 'assistant', tool_calls: [...call('x').tool_calls, ...call('y').tool_calls] },
      { role: 'user', content: 'wait' },
      result('y'),
      result('x'),
    ])
    expect(body.messages).toHaveLength(3)
    expect(body.messages[2].content.map((block: Json) => block.toolResult?.toolUseId ?? block.text)).toEqual([
      'y',
      'x',
      'wait',
    ])
  })

  it('bug 19, pitfall 11: ids fit the service, and calls and results keep each other', () => {
    const ids = ['functions.search:0', 'call_x|fc_y'.repeat(9), '1']
    for (const id of ids) {
      const { messages } = converse([{ role: 'user', content: 'a' }, call(id), result(id)])
      const sent = messages[1].content[0].toolUse.toolUseId
      expect(sent).toMatch(/^[A-Za-z0-9_-]{1,64}$/)
      expect(messages[2].content[0].toolResult.toolUseId).toBe(sent)
    }
    const mistral = converse(
      [{ role: 'user', content: 'a' }, call('call_1'), result('call_1')],
      {},
      { exactToolIdLength: 9 },
    )
    expect(mistral.messages[1].content[0].toolUse.toolUseId).toMatch(/^[A-Za-z0-9]{9}$/)
  })

  it('bug 20, pitfall 12: no blank text, no empty content, no white space behind what the client began', () => {
    const { messages } = converse(
      [
        {
          role: 'user',
          content: [
            { type: 'text', text: ' ' },
            { type: 'text', text: 'a' },
          ],
        },
        call('x'),
        result('x', ''),
        { role: 'assistant', content: 'So ' },
      ],
      {},
      { takesPrefill: true },
    )
    expect(messages[0].content).toEqual([{ text: 'a' }])
    expect(messages[2].content[0].toolResult.content).not.toEqual([])
    expect(messages.at(-1).content).toEqual([{ text: 'So' }])
  })

  it('bug 23: a signature comes back byte for byte, and redacted thinking as it was', () => {
    const answer = answerOf(
      upstreamCodec('bedrock-converse').parseAnswer({
        output: {
          message: {
            role: 'assistant',
            content: [
              { reasoningContent: { reasoningText: { text: 'hm', signature: 'Sig+/=' } } },
              { reasoningContent: { redactedContent: Buffer.from('EncryptedText==').toString('base64') } },
              { toolUse: { toolUseId: 'x', name: 'get_weather', input: {} } },
            ],
          },
        },
        stopReason: 'tool_use',
        usage: { inputTokens: 1, outputTokens: 1, totalTokens: 2 },
      }),
    )
    const { body } = clientCodec('anthropic-messages').buildAnswer(answer, OPTIONS) as { body: Json }
    const request = {
      model: 'm',
      max_tokens: 10,
      tools: [{ name: 'get_weather', input_schema: SCHEMA }],
      messages: [
        { role: 'user', content: 'a' },
        { role: 'assistant', content: body.content },
        { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'x', content: 'ok' }] },
      ],
    }
    expect(build('bedrock-converse', request).body.messages[1].content.slice(0, 2)).toEqual([
      { reasoningContent: { reasoningText: { text: 'hm', signature: 'Sig+/=' } } },
      { reasoningContent: { redactedContent: Buffer.from('EncryptedText==').toString('base64') } },
    ])
  })

  it('bug 28, pitfall 16: the billing line of a coding agent is left out', () => {
    const request = {
      model: 'm',
      max_tokens: 10,
      system: [
        { type: 'text', text: 'x-anthropic-billing-header: cc=1' },
        { type: 'text', text: 'Be kind.' },
      ],
      messages: [{ role: 'user', content: 'a' }],
    }
    expect(build('bedrock-converse', request).body.system).toEqual([{ text: 'Be kind.' }])
  })

  it('bug 31: marks for the cache stand behind what they mark, be it a call or a result', () => {
    const cache_control = { type: 'ephemeral', ttl: '1h' }
    const request = {
      model: 'm',
      max_tokens: 10,
      system: [{ type: 'text', text: 's', cache_control }],
      tools: [{ name: 'get_weather', input_schema: SCHEMA, cache_control }],
      messages: [
        { role: 'user', content: 'a' },
        { role: 'assistant', content: [{ type: 'tool_use', id: 'x', name: 'get_weather', input: {}, cache_control }] },
        { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'x', content: 'ok', cache_control }] },
      ],
    }
    const { body } = build('bedrock-converse', request)
    const point = { cachePoint: { type: 'default', ttl: '1h' } }
    expect([
      body.system[1],
      body.toolConfig.tools[1],
      body.messages[1].content[1],
      body.messages[2].content[1],
    ]).toEqual([point, point, point, point])
  })

  it('bug 35: arguments that are no JSON, or no object, survive', () => {
    const { messages } = converse([{ role: 'user', content: 'a' }, call('x', '{"city": Rom'), result('x')])
    expect(messages[1].content[0].toolUse.input).toEqual({ _raw_arguments: '{"city": Rom' })
  })

  it('bug 36: turns alternate and begin with the user', () => {
    const { messages } = converse([
      { role: 'assistant', content: 'hello' },
      { role: 'user', content: 'a' },
      { role: 'user', content: 'b' },
    ])
    expect(messages.map(({ role }: Json) => role)).toEqual(['user', 'assistant', 'user'])
  })

  it('bug 37: an answer that was begun is refused by name where the model goes on with none', () => {
    expect(() =>
      converse([
        { role: 'user', content: 'a' },
        { role: 'assistant', content: 'b' },
      ]),
    ).toThrow(/messages/)
  })

  it('tools stay declared while the history has calls, even where none is to be called', () => {
    const history = [{ role: 'user', content: 'a' }, call('x'), result('x')]
    expect(converse(history, { tools: undefined }).toolConfig.tools).toMatchObject([
      { toolSpec: { name: 'get_weather' } },
    ])
    expect(converse(history, { tool_choice: 'none' }).toolConfig).not.toHaveProperty('toolChoice')
    expect(converse([{ role: 'user', content: 'a' }], { tool_choice: 'none' })).not.toHaveProperty('toolConfig')
  })

  it('documents have names that fit and differ, and text beside them', () => {
    const file = {
      type: 'file',
      file: { filename: 'Q3 report (final).pdf', file_data: 'data:application/pdf;base64,AAAA' },
    }
    const [first, second, text] = converse([{ role: 'user', content: [file, file] }]).messages[0].content
    expect([first.document.name, second.document.name]).toEqual(['Q3 report (final) pdf', 'Q3 report (final) pdf (2)'])
    expect(text.text).not.toBe('')
  })

  it('pitfall 13: a model that thinks is not forced to call, and its limit leaves room for the answer', () => {
    const body = converse([{ role: 'user', content: 'a' }], {
      tool_choice: 'required',
      reasoning_effort: 'low',
      max_completion_tokens: 100,
      temperature: 0.5,
    })
    expect(body.toolConfig.toolChoice).toEqual({ auto: {} })
    expect(body.additionalModelRequestFields).toEqual({ thinking: { type: 'enabled', budget_tokens: 2048 } })
    expect(body.inferenceConfig).toEqual({ maxTokens: 2148 })
  })
})

describe('Cohere and Azure', () => {
  it('bug 2: null for arguments is no argument', () => {
    const answer = answerOf(
      upstreamCodec('cohere-chat').parseAnswer({
        id: 'x',
        finish_reason: 'TOOL_CALL',
        message: {
          role: 'assistant',
          tool_calls: [{ id: 'c', type: 'function', function: { name: 'f', arguments: 'null' } }],
        },
      }),
    )
    const { body } = clientCodec('anthropic-messages').buildAnswer(answer, OPTIONS) as { body: Json }
    expect(body.content).toMatchObject([{ type: 'tool_use', name: 'f', input: {} }])
  })

  it('a tool that is named is the only one that Cohere is given, and it must be called', () => {
    const time = { type: 'function', function: { name: 'get_time', parameters: SCHEMA } }
    const choice = { type: 'function', function: { name: 'get_time' } }
    const { body, dropped } = build('cohere-chat', {
      model: 'm',
      messages: [{ role: 'user', content: 'a' }],
      tools: [WEATHER, time],
      tool_choice: choice,
    })
    expect(body.tools.map((tool: Json) => tool.function.name)).toEqual(['get_time'])
    expect(body.tool_choice).toBe('REQUIRED')
    expect(dropped).toEqual(['tools'])
  })

  it('pitfall 9: the first chunk of Azure has no choice, no id and no model, and begins nothing', () => {
    const streams = loadFixtures(
      ({ kind, features }) => kind === 'stream' && features.has('stream:prompt_filter_results'),
    )
    expect(streams.length).toBeGreaterThan(3)
    for (const { id, response } of streams) {
      const events = decodeStream(upstreamCodec('openai-chat').createDecoder(), 'sse', [response])
      const [start] = events
      expect(start, id).toMatchObject({
        type: 'start',
        id: expect.stringMatching(/./),
        model: expect.stringMatching(/./),
      })
      expect(events.at(-1)?.type, id).toBe('end')
    }
  })
})
