import { describe, expect, it } from 'vitest'
import type { Json } from '../../support/plain-json.ts'
import {
  chatStream,
  collect,
  decodeStream,
  encodeStream,
  finishChunk,
  messageOf,
  messagesStream,
  seenByChatClient,
  seenByMessagesClient,
} from '../../support/translation.ts'
import { byteByByte } from '../../unit/wire/sse-oracle.ts'

// Bugs that other gateways have published, each with the reports' number in the notes on translation; what they have in common:
// a stream was translated event by event, although the dialects say the same things at different times.

const DONE = Buffer.from('data: [DONE]\n\n')
const USAGE = { prompt_tokens: 100, completion_tokens: 9, prompt_tokens_details: { cached_tokens: 40 } }

function fragment(index: number | undefined, args: unknown, head: Json = {}): Json {
  const { name, ...rest } = head
  return { tool_calls: [{ index, ...rest, function: { name, arguments: args } }] }
}

function whole(deltas: readonly Json[], ...rest: readonly Json[]): Buffer {
  return Buffer.concat([chatStream(deltas, ...rest), DONE])
}

describe('bug 1: the agent stops although tools were called', () => {
  const calls = [{ content: 'Let me look.' }, fragment(0, '{}', { id: 'a', name: 'look' })]

  it('is decided by the calls when a chat upstream says stop', () => {
    expect(seenByMessagesClient(whole(calls, finishChunk('stop'))).stop).toBe('tool_use')
  })

  it('is decided by the calls when a messages upstream says end_turn', () => {
    const stream = messageOf(
      [[{ type: 'text', text: 'x' }], [{ type: 'tool_use', id: 't', name: 'n', input: {} }]],
      'end_turn',
    )
    expect(seenByChatClient(stream).stop).toBe('tool_calls')
  })
})

describe('bug 3: parallel calls collapse onto index 0', () => {
  it('tells calls apart that a service sends under one index', () => {
    const stream = whole(
      [fragment(0, '{"n":1}', { id: 'a', name: 'f' }), fragment(0, '{"n":2}', { id: 'b', name: 'f' })],
      finishChunk('tool_calls'),
    )
    expect(seenByMessagesClient(stream).calls.map(({ input }) => input)).toEqual(['{"n":1}', '{"n":2}'])
  })

  it('tells calls apart that come without an index', () => {
    const stream = whole(
      [{ tool_calls: ['a', 'b'].map((id) => ({ id, function: { name: 'f', arguments: `{"n":"${id}"}` } })) }],
      finishChunk('tool_calls'),
    )
    expect(seenByMessagesClient(stream).calls).toEqual([
      { id: 'a', name: 'f', input: '{"n":"a"}' },
      { id: 'b', name: 'f', input: '{"n":"b"}' },
    ])
  })
})

describe('bug 4: the tool index 0 is taken for none', () => {
  it('begins at 0 for chat clients, and has nothing to do with where the block stands', () => {
    const events = decodeStream('anthropic-messages', [
      messageOf([[{ type: 'text', text: 'x' }], [{ type: 'tool_use', id: 't', name: 'n', input: {} }]], 'tool_use'),
    ])
    const text = encodeStream('openai-chat', events)
    expect(text).toContain('"tool_calls":[{"index":0,"id":"t"')
    expect(text).not.toContain('"index":1')
  })
})

describe('bug 5: content blocks that overlap or are never closed', () => {
  it('keeps the fragments of a call until the one before is complete', () => {
    const stream = whole(
      [
        { content: 'Both.' },
        fragment(0, '', { id: 'a', name: 'f' }),
        fragment(1, '', { id: 'b', name: 'g' }),
        fragment(0, '{"x":'),
        fragment(1, '{"y":'),
        fragment(0, '1}'),
        fragment(1, '2}'),
      ],
      finishChunk('tool_calls'),
    )
    const view = seenByMessagesClient(stream)
    expect(view.order).toEqual(['text', 'call', 'call'])
    expect(view.calls.map(({ input }) => input)).toEqual(['{"x":1}', '{"y":2}'])
  })

  it('closes a call without arguments, with others behind it', () => {
    const stream = whole(
      [fragment(0, '', { id: 'a', name: 'f' }), fragment(1, '{"y":2}', { id: 'b', name: 'g' })],
      finishChunk('tool_calls'),
    )
    expect(seenByMessagesClient(stream).calls.map(({ input }) => input)).toEqual(['', '{"y":2}'])
  })

  it('loses no text that comes behind a call', () => {
    const stream = whole(
      [fragment(0, '{"x"', { id: 'a', name: 'f' }), { content: 'late' }, fragment(0, ':1}')],
      finishChunk('stop'),
    )
    const view = seenByMessagesClient(stream)
    expect([view.text, view.calls[0]?.input]).toEqual(['late', '{"x":1}'])
  })

  it('gives chat clients the arguments of a call that has none', () => {
    const stream = messageOf(
      [
        [
          { type: 'tool_use', id: 't', name: 'n', input: {} },
          { type: 'input_json_delta', partial_json: '' },
        ],
      ],
      'tool_use',
    )
    expect(seenByChatClient(stream).calls).toEqual([{ id: 't', name: 'n', input: '{}' }])
  })
})

describe('bugs 6, 7, 8, 9, 10, 11, 12: usage is lost, doubled or zero', () => {
  it('bug 6: waits for usage that comes behind the finish reason', () => {
    const { usage } = seenByMessagesClient(
      whole([{ content: 'x' }], finishChunk('stop'), { choices: [], usage: USAGE }),
    )
    expect(usage).toMatchObject({ input_tokens: 60, cache_read_input_tokens: 40, output_tokens: 9 })
  })

  it('bug 7: takes usage from the chunk with the finish reason', () => {
    const { usage } = seenByMessagesClient(whole([{ content: 'x' }], finishChunk('stop', USAGE)))
    expect(usage.output_tokens).toBe(9)
  })

  it('bug 8: begins a message with an estimate of its prompt, not with 0', () => {
    const events = decodeStream('openai-chat', [whole([{ content: 'x' }], finishChunk('stop'))])
    expect(encodeStream('anthropic-messages', events, { estimatedPromptTokens: 77 })).toContain('"input_tokens":77')
  })

  it('bug 9: counts cached tokens once', () => {
    const stream = messageOf([[{ type: 'text', text: 'x' }]], 'end_turn', {
      input_tokens: 10,
      cache_read_input_tokens: 20,
      cache_creation_input_tokens: 30,
    })
    expect(seenByChatClient(stream).usage).toMatchObject({
      prompt_tokens: 60,
      total_tokens: 67,
      prompt_tokens_details: { cached_tokens: 20, cache_write_tokens: 30 },
    })
  })

  it('bug 10: does not add the counters of one message', () => {
    const stream = messageOf([[{ type: 'text', text: 'x' }]], 'end_turn', { input_tokens: 5, output_tokens: 7 })
    expect(seenByChatClient(stream).usage).toMatchObject({ prompt_tokens: 5, completion_tokens: 7 })
  })

  it('bug 11: keeps the prompt where the last counters do not repeat it', () => {
    expect(seenByChatClient(messageOf([[{ type: 'text', text: 'x' }]], 'end_turn')).usage.prompt_tokens).toBe(5)
  })

  it('bug 12: has usage in the stream of each client that asks for it, and only there', () => {
    const stream = messageOf([[{ type: 'text', text: 'x' }]], 'end_turn')
    expect(seenByChatClient(stream).usage.completion_tokens).toBe(7)
    const events = decodeStream('anthropic-messages', [stream])
    expect(encodeStream('openai-chat', events, { wantsUsage: false })).not.toContain('usage')
  })

  it('takes the last of several usages, and numbers that are written as text', () => {
    const first = { choices: [], usage: { prompt_tokens: 1, completion_tokens: 1 } }
    const last = { choices: [], usage: { prompt_tokens: '30', completion_tokens: '4' } }
    const { usage } = seenByMessagesClient(whole([{ content: 'x' }], first, finishChunk('stop'), last))
    expect([usage.input_tokens, usage.output_tokens]).toEqual([30, 4])
  })
})

describe('bugs 13, 14: why an answer ended', () => {
  it('bug 13: max_tokens is length, and the other way round', () => {
    expect(seenByChatClient(messageOf([[{ type: 'text', text: 'x' }]], 'max_tokens')).stop).toBe('length')
    expect(seenByMessagesClient(whole([{ content: 'x' }], finishChunk('length'))).stop).toBe('max_tokens')
  })

  it('bug 14: every whole stream tells it, every other one is an error', () => {
    expect(seenByMessagesClient(whole([{ content: 'x' }])).stop).toBe('end_turn')
    const cut = decodeStream('openai-chat', [chatStream([{ content: 'x' }])])
    expect(cut.at(-1)).toMatchObject({ type: 'error', failure: { type: 'truncated' } })
  })
})

describe('bug 15: an error inside a 200 becomes an empty answer', () => {
  const overloaded = { type: 'overloaded_error', message: 'busy' }
  const cases: [string, 'openai-chat' | 'anthropic-messages', Buffer][] = [
    ['an error chunk', 'openai-chat', chatStream([{ role: 'assistant' }], { error: overloaded })],
    ['an error event', 'openai-chat', Buffer.from(`event: error\ndata: ${JSON.stringify({ error: overloaded })}\n\n`)],
    ['a bare object', 'openai-chat', Buffer.from(JSON.stringify({ error: overloaded }))],
    ['an error first of all', 'anthropic-messages', messagesStream({ type: 'error', error: overloaded })],
    [
      'an error in the middle',
      'anthropic-messages',
      messagesStream(
        { type: 'message_start', message: {} },
        { type: 'error', error: overloaded },
        { type: 'message_stop' },
      ),
    ],
    ['a bare object where events were due', 'anthropic-messages', Buffer.from(JSON.stringify({ error: overloaded }))],
  ]

  it.each(cases)('%s ends the stream as an error (%s)', (_name, dialect, stream) => {
    const events = decodeStream(dialect, [stream])
    expect(collect(events)).toEqual({ message: 'busy', type: 'overloaded_error' })
    expect(events.some(({ type }) => type === 'end')).toBe(false)
  })

  it('says nothing behind an error, and no error behind an end', () => {
    const stream = Buffer.concat([
      whole([{ content: 'x' }], finishChunk('stop')),
      chatStream([], { error: overloaded }),
    ])
    expect(decodeStream('openai-chat', [stream]).at(-1)?.type).toBe('end')
  })
})

describe('bugs 19, 21, 23, 32, 33, 35: what is carried on the way', () => {
  it('bug 19: an id that a messages client could not send back is mapped, the same each time', () => {
    const call = fragment(0, '{}', { id: 'functions.search:0', name: 'search' })
    const [first, second] = [1, 2].map(() => seenByMessagesClient(whole([call], finishChunk('stop'))).calls[0]?.id)
    expect(first).toMatch(/^functions_search_0_[A-Za-z0-9]{8}$/)
    expect(second).toBe(first)
  })

  it('bug 21: reasoning reaches clients, under whichever name it comes', () => {
    for (const name of ['reasoning_content', 'reasoning']) {
      expect(seenByMessagesClient(whole([{ [name]: 'hm' }, { content: 'x' }], finishChunk('stop'))).thinking).toBe('hm')
    }
    const thinking = [
      { type: 'thinking', thinking: '' },
      { type: 'thinking_delta', thinking: 'hm' },
    ]
    expect(seenByChatClient(messageOf([thinking], 'end_turn')).thinking).toBe('hm')
  })

  it('bug 21: reasoning that comes under two names is shown once', () => {
    const both = {
      reasoning: 'hm',
      reasoning_content: 'hm',
      reasoning_details: [{ type: 'reasoning.text', text: 'hm' }],
    }
    expect(seenByMessagesClient(whole([both], finishChunk('stop'))).thinking).toBe('hm')
  })

  it('bug 23: a signature comes through byte for byte, once', () => {
    const signature = 'EqQB+/=="\\u00e9é'
    const stream = messageOf(
      [
        [
          { type: 'thinking', thinking: '', signature: '' },
          { type: 'thinking_delta', thinking: 'hm' },
          { type: 'signature_delta', signature },
        ],
      ],
      'end_turn',
    )
    const view = seenByChatClient(stream)
    expect([view.thinking, view.signatures]).toEqual(['hm', [signature]])
  })

  it('bug 32: characters that the network cuts in two stay whole', () => {
    const stream = whole([{ content: 'né 漢字 😀' }], finishChunk('stop'))
    const events = decodeStream('openai-chat', byteByByte(stream))
    expect(encodeStream('anthropic-messages', events)).toContain('né 漢字 😀')
  })

  it('bug 33: halves of a surrogate pair that the upstream has split come together again', () => {
    const [high, low] = ['\ud83d', '\ude00']
    expect(seenByMessagesClient(whole([{ content: high }, { content: low }], finishChunk('stop'))).text).toBe('😀')
  })

  it('bug 35: arguments that come as an object are text for the client', () => {
    const call = fragment(0, { city: 'Rome' }, { id: 'a', name: 'f' })
    expect(seenByMessagesClient(whole([call], finishChunk('stop'))).calls[0]?.input).toBe('{"city":"Rome"}')
  })
})
