import { describe, expect, it } from 'vitest'
import { parseRequest as parseMessages } from '../../../src/dialects/anthropic-messages/parse-request.ts'
import { clientCodec } from '../../../src/dialects/codecs.ts'
import { geminiCodec } from '../../../src/dialects/gemini/codec.ts'
import { parseRequest as parseChat } from '../../../src/dialects/openai-chat/parse-request.ts'
import type { Json } from '../../support/plain-json.ts'
import { readChatStream, readMessagesStream } from '../../support/stream-grammar.ts'
import { OPTIONS, answerOf, collect, decodeStream, encodeStream } from '../../support/translation.ts'
import { byteByByte } from '../../unit/wire/sse-oracle.ts'

// Bugs that other gateways have published, each with the reports' number in the notes on translation, as far as they
// concern answers of Gemini; and the pitfalls of its streams.

const USAGE = {
  promptTokenCount: 100,
  cachedContentTokenCount: 40,
  candidatesTokenCount: 5,
  thoughtsTokenCount: 7,
  toolUsePromptTokenCount: 3,
  totalTokenCount: 115,
}

function chunk(parts: readonly Json[], rest: Json = {}, top: Json = {}): Json {
  const candidate = { content: { role: 'model', parts }, index: 0, ...rest }
  return { candidates: [candidate], modelVersion: 'gemini-3-flash', responseId: 'r1', ...top }
}

function call(name: string, more: Json = {}): Json {
  return { functionCall: { name, args: { at: name }, ...more } }
}

function stream(...chunks: readonly Json[]): Buffer {
  return Buffer.from(chunks.map((one) => `data: ${JSON.stringify(one)}\r\n\r\n`).join(''))
}

const END = chunk([{ text: '' }], { finishReason: 'STOP' })

function seenByChat(bytes: Buffer): ReturnType<typeof readChatStream> {
  return readChatStream(encodeStream('openai-chat', decodeStream('gemini', [bytes])))
}

function seenByMessages(bytes: Buffer): ReturnType<typeof readMessagesStream> {
  return readMessagesStream(encodeStream('anthropic-messages', decodeStream('gemini', [bytes])))
}

function failureOf(bytes: Buffer): Json {
  const last = decodeStream('gemini', [bytes]).at(-1)
  if (last?.type !== 'error') throw new Error(`it ends in ${last?.type}`)
  return last.failure
}

describe('bug 1, pitfall 1: STOP although tools were called', () => {
  it('is decided by the calls', () => {
    const bytes = stream(chunk([{ text: 'Let me look.' }, call('look')], { finishReason: 'STOP' }))
    expect(seenByChat(bytes).stop).toBe('tool_calls')
    expect(seenByMessages(bytes).stop).toBe('tool_use')
  })
})

describe('bug 2: the finish reason at another place than the call', () => {
  it('may come in a later chunk without content', () => {
    const bytes = stream(chunk([call('look')]), { candidates: [{ finishReason: 'STOP' }], usageMetadata: USAGE })
    expect(seenByChat(bytes).stop).toBe('tool_calls')
    expect(seenByMessages(bytes).stop).toBe('tool_use')
  })

  it('may stand in every chunk, of which the last tells', () => {
    const parts = [chunk([{ text: 'a' }], { finishReason: 'STOP' }), chunk([{ text: 'b' }], { finishReason: 'STOP' })]
    expect(seenByChat(stream(...parts))).toMatchObject({ text: 'ab', stop: 'stop' })
    expect(seenByChat(stream(...parts, chunk([], { finishReason: 'RECITATION' })))).toMatchObject({
      text: 'ab',
      stop: 'content_filter',
    })
  })
})

describe('bug 3, bug 4: parallel calls', () => {
  it('have an index each, from 0 on, in one chunk or over several', () => {
    const together = seenByChat(stream(chunk([call('a'), call('b')]), END))
    expect(seenByChat(stream(chunk([call('a')]), chunk([call('b')]), END)).calls).toEqual(together.calls)
    expect(together.calls.map(({ name, input }) => [name, input])).toEqual([
      ['a', '{"at":"a"}'],
      ['b', '{"at":"b"}'],
    ])
    expect(new Set(together.calls.map(({ id }) => id)).size).toBe(2)
  })
})

describe('bug 5: blocks', () => {
  it('never overlap, and those of calls without arguments are closed', () => {
    const view = seenByMessages(
      stream(
        chunk([{ text: 'hm', thought: true }]),
        chunk([{ text: 'a' }]),
        chunk([{ functionCall: { name: 'now' } }]),
        chunk([{ text: 'b' }]),
        END,
      ),
    )
    expect(view.order).toEqual(['thinking', 'text', 'call', 'text'])
    expect(view.calls).toMatchObject([{ name: 'now', input: '{}' }])
  })
})

describe('bugs 6, 7, 9, 10 and 12, pitfall 4: usage', () => {
  const early = { usageMetadata: { promptTokenCount: 100, totalTokenCount: 100 } }

  it('is that of the last chunk, where cached tokens are counted once and thoughts are added', () => {
    const bytes = stream(
      chunk([{ text: 'a' }], {}, early),
      chunk([], { finishReason: 'STOP' }, { usageMetadata: USAGE }),
    )
    expect(seenByChat(bytes).usage).toMatchObject({
      prompt_tokens: 103,
      completion_tokens: 12,
      total_tokens: 115,
      prompt_tokens_details: { cached_tokens: 40 },
      completion_tokens_details: { reasoning_tokens: 7 },
    })
    expect(seenByMessages(bytes).usage).toMatchObject({
      input_tokens: 63,
      cache_read_input_tokens: 40,
      output_tokens: 12,
    })
  })

  it('may come behind the finish reason, alone', () => {
    const bytes = stream(chunk([{ text: 'a' }], { finishReason: 'STOP' }), { usageMetadata: USAGE })
    expect(seenByChat(bytes).usage).toMatchObject({ prompt_tokens: 103, completion_tokens: 12 })
  })

  it('keeps what a later chunk does not repeat, and does not believe what cannot be', () => {
    const bytes = stream(
      chunk([{ text: 'a' }], {}, { usageMetadata: USAGE }),
      chunk([], { finishReason: 'STOP' }, { usageMetadata: { trafficType: 'ON_DEMAND' } }),
      { usageMetadata: { promptTokenCount: -1, candidatesTokenCount: 9 } },
    )
    expect(seenByChat(bytes).usage).toMatchObject({ prompt_tokens: 103, completion_tokens: 12 })
  })

  it('bug 8: begins a message with the count of its prompt, or an estimate, never with 0', () => {
    const begun = (bytes: Buffer): Json => {
      const [first = ''] = encodeStream('anthropic-messages', decodeStream('gemini', [bytes])).split('\n\n')
      return JSON.parse(first.slice(first.indexOf('{'))).message.usage.input_tokens
    }
    expect(begun(stream(chunk([{ text: 'a' }], {}, early), END))).toBe(100)
    expect(begun(stream(chunk([{ text: 'a' }]), END))).toBe(OPTIONS.estimatedPromptTokens)
  })
})

describe('bug 13, bug 14: why an answer ended', () => {
  it.each([
    ['MAX_TOKENS', 'length', 'max_tokens'],
    ['SAFETY', 'content_filter', 'refusal'],
    ['PROHIBITED_CONTENT', 'content_filter', 'refusal'],
    ['IMAGE_SAFETY', 'content_filter', 'refusal'],
    ['OTHER', 'stop', 'end_turn'],
    ['SOMETHING_NEW', 'stop', 'end_turn'],
    [1, 'stop', 'end_turn'],
    [2, 'length', 'max_tokens'],
  ])('is told in the words of the client: %s', (finishReason, chat, messages) => {
    const bytes = stream(chunk([{ text: 'a' }]), chunk([], { finishReason }))
    expect(seenByChat(bytes).stop).toBe(chat)
    expect(seenByMessages(bytes).stop).toBe(messages)
  })

  it.each(['MALFORMED_FUNCTION_CALL', 'OTHER', 'UNEXPECTED_TOOL_CALL'])(
    'is a failure when nothing came of it: %s',
    (finishReason) => {
      expect(failureOf(stream(chunk([], { finishReason, finishMessage: 'why' })))).toEqual({
        type: finishReason,
        message: 'why',
      })
    },
  )

  it('is no failure when the prompt was blocked, or when all tokens went into thoughts', () => {
    const blocked = stream({ promptFeedback: { blockReason: 'SAFETY' }, usageMetadata: USAGE })
    expect(seenByChat(blocked)).toMatchObject({ text: '', stop: 'content_filter' })
    expect(seenByMessages(blocked)).toMatchObject({ text: '', stop: 'refusal' })
    expect(seenByChat(stream({ candidates: [{ content: {}, finishReason: 'MAX_TOKENS' }] })).stop).toBe('length')
  })
})

describe('bug 15, pitfall 8: an error inside a 200', () => {
  const error = { error: { code: 503, message: 'overloaded', status: 'UNAVAILABLE' } }
  const told = { type: 'UNAVAILABLE', message: 'overloaded' }

  it('is one as an event, as bare JSON over several lines, and as an array', () => {
    const begun = stream(chunk([{ text: 'a' }], { finishReason: 'STOP' }))
    expect(failureOf(stream(chunk([{ text: 'a' }]), error))).toEqual(told)
    expect(failureOf(Buffer.concat([begun, Buffer.from(JSON.stringify(error, null, 2))]))).toEqual(told)
    expect(failureOf(Buffer.concat([begun, Buffer.from(`${JSON.stringify([error])}\r\n`)]))).toEqual(told)
    expect(failureOf(Buffer.from(JSON.stringify(error)))).toEqual(told)
  })

  it('is one in a whole body, with the reason where it is told', () => {
    const details = [{ '@type': 'type.googleapis.com/google.rpc.ErrorInfo', reason: 'API_KEY_INVALID' }]
    const body = { error: { code: 400, message: 'API key not valid.', status: 'INVALID_ARGUMENT', details } }
    expect(geminiCodec.parseAnswer(body)).toEqual({ type: 'API_KEY_INVALID', message: 'API key not valid.' })
  })

  it('is never followed by anything', () => {
    const events = decodeStream('gemini', [stream(error, chunk([{ text: 'a' }]), END)])
    expect(events.map(({ type }) => type)).toEqual(['error'])
  })
})

describe('bug 19, pitfall 11: calls without ids', () => {
  it('are given ids that differ between the calls and the answers of a conversation', () => {
    const ids = (responseId: string): string[] =>
      seenByMessages(stream(chunk([call('a'), call('a')], {}, { responseId }), END)).calls.map(({ id }) => id)
    const all = [...ids('r1'), ...ids('r/2'), ...ids('x'.repeat(90)), ...ids('')]
    expect(new Set(all).size).toBe(8)
    for (const id of all) expect(id).toMatch(/^[A-Za-z0-9_-]{1,64}$/)
  })

  it('keep an id that they have', () => {
    expect(seenByChat(stream(chunk([call('a', { id: 'v3yybtcf' })]), END)).calls[0]?.id).toBe('v3yybtcf')
  })
})

describe('bug 20: empty text', () => {
  it('is no block', () => {
    const view = seenByMessages(stream(chunk([{ text: '' }]), chunk([{ text: 'a' }]), chunk([{}]), END))
    expect(view.order).toEqual(['text'])
    const answer = answerOf(collect(decodeStream('gemini', [stream(END)])))
    expect(answer.content).toEqual([])
  })
})

describe('bug 21: thoughts', () => {
  it('reach clients as reasoning, apart from the text', () => {
    const bytes = stream(chunk([{ text: 'hm', thought: true }, { text: 'ja' }]), END)
    expect(seenByChat(bytes)).toMatchObject({ thinking: 'hm', text: 'ja' })
    expect(seenByMessages(bytes)).toMatchObject({ thinking: 'hm', text: 'ja' })
  })
})

describe('bug 25, pitfall 14: thought signatures', () => {
  const signed = stream(
    chunk([{ ...call('look'), thoughtSignature: 'AAA+/w==' }, call('see')]),
    chunk([{ text: '', thoughtSignature: 'BBB=' }]),
    END,
  )
  const answer = answerOf(collect(decodeStream('gemini', [signed])))
  const backParts = [
    { functionCall: { name: 'look', args: { at: 'look' } }, thoughtSignature: 'AAA+/w==' },
    { functionCall: { name: 'see', args: { at: 'see' } } },
  ]

  function partsFrom(conversation: ReturnType<typeof parseChat>): Json {
    const { body } = geminiCodec.buildRequest(conversation, geminiCodec.defaultTarget)
    return (body['contents'] as Json)[1].parts
  }

  function results(ids: readonly string[]): Json[] {
    return ids.map((id) => ({ role: 'tool', tool_call_id: id, content: '1' }))
  }

  it('come back from a chat client that keeps what it was given', () => {
    const { body } = clientCodec('openai-chat').buildAnswer(answer, OPTIONS)
    const { message } = (body['choices'] as Json)[0]
    const ids = message.tool_calls.map(({ id }: Json) => id)
    const messages = [{ role: 'user', content: 'go' }, message, ...results(ids)]
    expect(partsFrom(parseChat({ messages }))).toEqual([{ text: '', thoughtSignature: 'BBB=' }, ...backParts])
  })

  it('come back from a messages client, whole or streamed', () => {
    const { body } = clientCodec('anthropic-messages').buildAnswer(answer, OPTIONS)
    const content = body['content'] as Json[]
    const ids = content.flatMap(({ type, id }: Json) => (type === 'tool_use' ? id : []))
    const back = ids.map((id) => ({ type: 'tool_result', tool_use_id: id, content: '1' }))
    const messages = [
      { role: 'user', content: 'go' },
      { role: 'assistant', content },
      { role: 'user', content: back },
    ]
    expect(partsFrom(parseMessages({ messages }))).toEqual([...backParts, { text: '', thoughtSignature: 'BBB=' }])
    const streamed = encodeStream('anthropic-messages', decodeStream('gemini', [signed]))
    for (const { type, data } of content)
      if (type === 'redacted_thinking') expect(streamed).toContain(JSON.stringify(data))
  })

  it('are stood in for where a client has lost them, on the first call of each step', () => {
    const calls = ['a', 'b'].map((id) => ({ id, type: 'function', function: { name: id, arguments: '{}' } }))
    const messages = [{ role: 'user', content: 'go' }, { role: 'assistant', tool_calls: calls }, ...results(['a', 'b'])]
    expect(partsFrom(parseChat({ messages }))).toEqual([
      { functionCall: { name: 'a', args: {} }, thoughtSignature: 'skip_thought_signature_validator' },
      { functionCall: { name: 'b', args: {} } },
    ])
  })
})

describe('bug 32, bug 33: characters cut by the network', () => {
  it('stay whole', () => {
    const bytes = stream(chunk([{ text: 'naïve 了解 👍🏽' }]), END)
    const view = readChatStream(encodeStream('openai-chat', decodeStream('gemini', byteByByte(bytes))))
    expect(view.text).toBe('naïve 了解 👍🏽')
  })
})

describe('bug 35: arguments', () => {
  it('come as an object and are text for chat clients, an object for messages clients', () => {
    const answer = answerOf(geminiCodec.parseAnswer(chunk([call('look')], { finishReason: 'STOP' })))
    const chat: Json = clientCodec('openai-chat').buildAnswer(answer, OPTIONS).body
    expect(chat.choices[0].message.tool_calls[0].function.arguments).toBe('{"at":"look"}')
    const messages: Json = clientCodec('anthropic-messages').buildAnswer(answer, OPTIONS).body
    expect(messages.content[0].input).toEqual({ at: 'look' })
  })
})

describe('pitfall 18: arguments that come piece by piece, by path', () => {
  const piece = (jsonPath: string, value: Json, goesOn = true): Json =>
    chunk([{ functionCall: { partialArgs: [{ jsonPath, ...value }], willContinue: goesOn } }])

  it('are put together, whatever ends them', () => {
    const head = chunk([{ functionCall: { name: 'cook', willContinue: true } }])
    const pieces = [
      piece('$.steps[0]', { stringValue: 'Pre', willContinue: true }),
      piece('$.steps[0]', { stringValue: 'heat', willContinue: true }),
      piece('$.steps[1]', { stringValue: 'Wait' }),
      piece("$['a.b'].n", { numberValue: 0.5 }),
      piece('$.ok', { boolValue: true }),
      piece('$.none', { nullValue: null }),
    ]
    const expected = { steps: ['Preheat', 'Wait'], 'a.b': { n: 0.5 }, ok: true, none: null }
    const ends = [[chunk([{ functionCall: {} }]), END], [END], [chunk([call('next')]), END]]
    for (const end of ends) {
      const { calls } = seenByChat(stream(head, ...pieces, ...end))
      expect(JSON.parse(calls[0]?.input ?? '')).toEqual(expected)
    }
  })

  it('do no harm with paths that lead astray', () => {
    const head = chunk([{ functionCall: { name: 'cook', willContinue: true } }])
    const paths = [
      '',
      '$',
      'x',
      '$.a..b',
      '$.a[',
      '$.list[4000000000]',
      '$.__proto__.polluted',
      `$${'.a'.repeat(5000)}`,
    ]
    const bytes = stream(head, ...paths.map((path) => piece(path, { stringValue: 'x' })), END)
    expect(seenByChat(bytes).calls[0]?.input.length).toBeLessThan(200)
    expect(({} as Json).polluted).toBeUndefined()
  })
})
