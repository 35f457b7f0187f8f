import { describe, expect, it } from 'vitest'
import type { Json } from '../../support/plain-json.ts'
import { chatToMessages, messagesToChat, translateRequest } from '../../support/translation.ts'

// Bugs that other gateways have published, and pitfalls, with their numbers in the notes on translation; what they have in
// common: one dialect's conversation was taken for the other's with other names.

function call(id: string, name = 'f', args: unknown = '{}'): Json {
  return { id, type: 'function', function: { name, arguments: args } }
}

function chat(...messages: Json[]): Json {
  return { model: 'm', messages }
}

const ASK = { role: 'user', content: 'go' }

describe('bug 17: results of several tools are not one turn', () => {
  it('answers all calls in the user turn behind them', () => {
    const { messages } = chatToMessages(
      chat(
        ASK,
        { role: 'assistant', content: null, tool_calls: [call('a'), call('b')] },
        { role: 'tool', tool_call_id: 'a', content: '1' },
        { role: 'tool', tool_call_id: 'b', content: '2' },
        { role: 'user', content: 'and?' },
      ),
    )
    expect(messages).toHaveLength(3)
    expect(messages[2].content.map((block: Json) => block.tool_use_id ?? block.text)).toEqual(['a', 'b', 'and?'])
  })

  it('answers a call whose result the client has cut away, and makes text of a result without a call', () => {
    const { messages } = chatToMessages(
      chat(
        ASK,
        { role: 'assistant', tool_calls: [call('a')] },
        { role: 'tool', tool_call_id: 'lost', content: 'found' },
        { role: 'user', content: 'and?' },
      ),
    )
    expect(messages[2].content[0]).toMatchObject({ type: 'tool_result', tool_use_id: 'a', is_error: true })
    expect(messages[2].content.slice(1).map((block: Json) => block.text)).toEqual(['found', 'and?'])
  })

  it('keeps the last of two results of one call', () => {
    const { messages } = chatToMessages(
      chat(
        ASK,
        { role: 'assistant', tool_calls: [call('a')] },
        { role: 'tool', tool_call_id: 'a', content: 'old' },
        { role: 'tool', tool_call_id: 'a', content: 'new' },
      ),
    )
    expect(messages[2].content).toEqual([{ type: 'tool_result', tool_use_id: 'a', content: 'new' }])
  })
})

describe('bug 18, pitfall 10: text ahead of a tool result', () => {
  it('moves behind the results', () => {
    const { messages } = messagesToChat({
      max_tokens: 9,
      messages: [
        ASK,
        { role: 'assistant', content: [{ type: 'tool_use', id: 't', name: 'f', input: { x: 1 } }] },
        {
          role: 'user',
          content: [
            { type: 'text', text: 'note' },
            { type: 'tool_result', tool_use_id: 't', content: [{ type: 'text', text: '7' }] },
          ],
        },
      ],
    })
    expect(messages.slice(1)).toEqual([
      { role: 'assistant', content: null, tool_calls: [call('t', 'f', '{"x":1}')] },
      { role: 'tool', tool_call_id: 't', content: '7' },
      { role: 'user', content: 'note' },
    ])
  })

  it('puts images of a result into the user message behind it', () => {
    const image = { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'AA==' } }
    const { messages } = messagesToChat({
      messages: [
        ASK,
        { role: 'assistant', content: [{ type: 'tool_use', id: 't', name: 'f', input: {} }] },
        { role: 'user', content: [{ type: 'tool_result', tool_use_id: 't', content: [image], is_error: true }] },
      ],
    })
    expect(messages[2].content).toBe('Error: [attached below]')
    expect(messages[3].content).toEqual([{ type: 'image_url', image_url: { url: 'data:image/png;base64,AA==' } }])
  })
})

describe('bug 19, pitfall 11: ids of calls that an upstream refuses', () => {
  it.each(['functions.search:0', 'call_1|fc_2'.repeat(9), 'ä'])('maps %s for call and result alike', (id) => {
    const { messages } = chatToMessages(
      chat(ASK, { role: 'assistant', tool_calls: [call(id)] }, { role: 'tool', tool_call_id: id, content: '1' }),
    )
    const used: string = messages[1].content[0].id
    expect(used).toMatch(/^[A-Za-z0-9_-]{1,64}$/)
    expect(messages[2].content[0].tool_use_id).toBe(used)
  })

  it('pairs calls and results that have no ids by their order', () => {
    const { messages } = chatToMessages(
      chat(
        ASK,
        { role: 'assistant', tool_calls: [call(''), call('')] },
        { role: 'tool', tool_call_id: '', content: '1' },
        { role: 'tool', tool_call_id: '', content: '2' },
      ),
    )
    const ids: string[] = messages[1].content.map((block: Json) => block.id)
    expect(new Set(ids).size).toBe(2)
    expect(messages[2].content.map((block: Json) => [block.tool_use_id, block.content])).toEqual([
      [ids[0], '1'],
      [ids[1], '2'],
    ])
  })

  it('leaves an id alone that fits, and gives services of nine characters such', () => {
    const request = {
      messages: [
        { role: 'assistant', content: [{ type: 'tool_use', id: 'toolu_01', name: 'f', input: {} }] },
        { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'toolu_01', content: 'x' }] },
      ],
    }
    expect(messagesToChat(request).messages[1].tool_call_id).toBe('toolu_01')
    const { messages } = messagesToChat(request, { exactToolIdLength: 9 })
    expect(messages[0].tool_calls[0].id).toMatch(/^[A-Za-z0-9]{9}$/)
    expect(messages[1].tool_call_id).toBe(messages[0].tool_calls[0].id)
  })
})

describe('bug 20, pitfall 12: empty text', () => {
  it('never reaches a messages upstream', () => {
    const { messages, system } = chatToMessages(
      chat(
        { role: 'system', content: '' },
        {
          role: 'user',
          content: [
            { type: 'text', text: '' },
            { type: 'text', text: 'go' },
          ],
        },
        { role: 'assistant', content: ' \n', tool_calls: [call('a')] },
        { role: 'tool', tool_call_id: 'a', content: '' },
      ),
    )
    expect(system).toBeUndefined()
    expect(messages[0].content).toEqual([{ type: 'text', text: 'go' }])
    expect(messages[1].content).toHaveLength(1)
    expect(messages[2].content).toEqual([{ type: 'tool_result', tool_use_id: 'a' }])
  })

  it('is not left in a conversation that has nothing else', () => {
    expect(chatToMessages(chat({ role: 'system', content: 'Be brief.' })).messages).toHaveLength(1)
  })
})

describe('bugs 22, 23, pitfalls 14, 15: thinking in the history', () => {
  const turn = {
    role: 'assistant',
    content: [
      { type: 'thinking', thinking: 'hm', signature: 'sig' },
      { type: 'tool_use', id: 't', name: 'f', input: {} },
    ],
  }
  const result = { role: 'user', content: [{ type: 'tool_result', tool_use_id: 't', content: 'x' }] }

  it('goes back to services that want it with their calls, to others not', () => {
    const request = { messages: [ASK, turn, result] }
    expect(messagesToChat(request, { reasoningBack: 'tool-turns' }).messages[1].reasoning_content).toBe('hm')
    expect(messagesToChat(request).messages[1].reasoning_content).toBeUndefined()
  })

  it('goes to a messages upstream with its signature alone', () => {
    const details = [{ type: 'reasoning.text', text: 'hm', signature: 'sig', format: 'anthropic-claude-v1', index: 0 }]
    const signed = { role: 'assistant', content: 'x', reasoning_details: details }
    const unsigned = { role: 'assistant', content: 'x', reasoning_content: 'hm' }
    const [thinking] = chatToMessages(chat(ASK, signed, ASK)).messages[1].content
    expect(thinking).toEqual({ type: 'thinking', thinking: 'hm', signature: 'sig' })
    expect(chatToMessages(chat(ASK, unsigned, ASK)).messages[1].content).toEqual([{ type: 'text', text: 'x' }])
  })

  it('is switched off for a turn that goes on without it', () => {
    const history = [
      ASK,
      { role: 'assistant', tool_calls: [call('a')] },
      { role: 'tool', tool_call_id: 'a', content: '1' },
    ]
    const { body, dropped } = translateRequest('openai-chat', 'anthropic-messages', {
      ...chat(...history),
      reasoning_effort: 'high',
    })
    expect(body.thinking).toEqual({ type: 'disabled' })
    expect(dropped).toContain('reasoning_effort')
  })
})

describe('bugs 24, 30, pitfall 13: fields that a model refuses', () => {
  it('bug 24: an effort is adaptive thinking where the model has it, a budget where it has that', () => {
    const request = { ...chat(ASK), reasoning_effort: 'high', max_completion_tokens: 1000 }
    expect(chatToMessages(request)).toMatchObject({ thinking: { type: 'adaptive' }, output_config: { effort: 'high' } })
    const older = chatToMessages(request, { reasoning: 'budget' })
    expect(older.thinking).toEqual({ type: 'enabled', budget_tokens: 16_384 })
    expect(older.max_tokens).toBeGreaterThan(16_384)
  })

  it('bug 30: the limit of tokens has the name that the upstream knows', () => {
    const request = { max_tokens: 32_000, messages: [ASK] }
    expect(messagesToChat(request)).toMatchObject({ max_completion_tokens: 32_000 })
    const clamped = messagesToChat(request, { maxTokensField: 'max_tokens', maxOutputTokens: 8192 })
    expect([clamped.max_tokens, clamped.max_completion_tokens]).toEqual([8192, undefined])
  })

  it('bug 30: sampling is left out where it is refused, and reported', () => {
    const request = { max_tokens: 9, temperature: 0.5, top_p: 0.5, top_k: 5, messages: [ASK] }
    const { body, dropped } = translateRequest('anthropic-messages', 'openai-chat', request, { takesSampling: false })
    expect([body.temperature, body.top_p]).toEqual([undefined, undefined])
    expect(dropped).toEqual(['temperature', 'top_p', 'top_k'])
  })

  it('pitfall 13: temperature is clamped, goes without top_p, and not with thinking', () => {
    const request = { ...chat(ASK), temperature: 1.7, top_p: 0.9 }
    const { body, dropped } = translateRequest('openai-chat', 'anthropic-messages', request)
    expect([body.temperature, body.top_p, dropped]).toEqual([1, undefined, ['temperature', 'top_p']])
    expect(chatToMessages({ ...request, reasoning_effort: 'low' }).temperature).toBeUndefined()
  })

  it('pitfall 13: a forced tool gives way to thinking', () => {
    const tools = [{ type: 'function', function: { name: 'f' } }]
    const request = { ...chat(ASK), tools, tool_choice: 'required', reasoning_effort: 'low' }
    expect(chatToMessages(request).tool_choice).toEqual({ type: 'auto' })
    expect(chatToMessages({ ...request, reasoning_effort: 'none' }).tool_choice).toEqual({ type: 'any' })
  })
})

describe('bugs 28, 29, pitfalls 16, 17: system prompts', () => {
  const system = [
    { type: 'text', text: 'x-anthropic-billing-header: cc_version=1; cch=ab;' },
    { type: 'text', text: 'Be brief.', cache_control: { type: 'ephemeral' } },
  ]

  it('bug 28: the billing line of a coding agent is left out', () => {
    expect(messagesToChat({ system, messages: [ASK] }).messages[0]).toEqual({ role: 'system', content: 'Be brief.' })
  })

  it('bug 29: instructions in mid-conversation stay in their place, as what the upstream takes', () => {
    const request = { messages: [ASK, { role: 'system', content: 'Now in French.' }] }
    expect(messagesToChat(request).messages[1]).toEqual({ role: 'system', content: 'Now in French.' })
    const { messages } = messagesToChat(request, { takesSystemAnywhere: false })
    expect(messages[1]).toEqual({ role: 'user', content: '<system>\nNow in French.\n</system>' })
  })

  it('bug 29: the same on the way to a messages upstream', () => {
    const request = chat({ role: 'system', content: 'A' }, ASK, { role: 'developer', content: 'B' })
    const wrapped = chatToMessages(request)
    expect(wrapped.system).toEqual([{ type: 'text', text: 'A' }])
    expect(wrapped.messages[0].content[1].text).toBe('<system>\nB\n</system>')
    expect(chatToMessages(request, { takesSystemAnywhere: true }).messages[1].role).toBe('system')
  })
})

describe('bug 31: cache marks on calls and results', () => {
  it('are kept, four at most', () => {
    const marked = { type: 'text', text: 'x', cache_control: { type: 'ephemeral', ttl: '1h' } }
    const request = chat({ role: 'user', content: [marked, marked, marked, marked, marked] })
    const { body, dropped } = translateRequest('openai-chat', 'anthropic-messages', request)
    const marks = body.messages[0].content.filter((block: Json) => block.cache_control)
    expect(marks.map((block: Json) => block.cache_control.ttl)).toEqual(['1h', '1h', '1h', '1h'])
    expect(dropped).toEqual(['content.cache_control'])
  })

  it('are reported where the upstream knows none', () => {
    const block = { type: 'tool_use', id: 't', name: 'f', input: {}, cache_control: { type: 'ephemeral' } }
    const request = { messages: [ASK, { role: 'assistant', content: [block] }] }
    expect(translateRequest('anthropic-messages', 'openai-chat', request).dropped).toEqual(['content.cache_control'])
  })
})

describe('bugs 36, 37: the order of roles', () => {
  it('bug 36: neighbours of one role are one message where they must be', () => {
    const request = { messages: [ASK, { role: 'user', content: 'on' }] }
    expect(messagesToChat(request).messages).toHaveLength(2)
    expect(messagesToChat(request, { alternates: true }).messages).toEqual([{ role: 'user', content: 'go\n\non' }])
  })

  it('bug 37: an answer that the client has begun is refused where models refuse it, trimmed elsewhere', () => {
    const request = chat(ASK, { role: 'assistant', content: 'Once upon ' })
    expect(() => chatToMessages(request)).toThrowError(/messages/)
    expect(chatToMessages(request, { takesPrefill: true }).messages[1].content).toEqual([
      { type: 'text', text: 'Once upon' },
    ])
  })
})

describe('what cannot be carried', () => {
  it.each([
    ['n', { ...chat(ASK), n: 2 }],
    ['modalities', { ...chat(ASK), modalities: ['text', 'audio'], audio: { voice: 'alloy', format: 'wav' } }],
    [
      'input_audio',
      chat({ role: 'user', content: [{ type: 'input_audio', input_audio: { data: 'AA==', format: 'wav' } }] }),
    ],
    ['video_url', chat({ role: 'user', content: [{ type: 'video_url', video_url: { url: 'https://x.test/v' } }] })],
    ['file_id', chat({ role: 'user', content: [{ type: 'file', file: { file_id: 'f' } }] })],
  ])('is refused with the name of the field: %s', (name, request) => {
    expect(() => chatToMessages(request)).toThrowError(new RegExp(name))
  })

  it('is dropped and reported where the answer stays the same in kind', () => {
    const request = { ...chat(ASK), seed: 1, store: true, modalities: ['text'], logit_bias: { 1: 2 }, unheard_of: {} }
    const { body, dropped } = translateRequest('openai-chat', 'anthropic-messages', request)
    expect(Object.keys(body as object)).toEqual(['model', 'max_tokens', 'messages'])
    expect([...dropped].sort()).toEqual(['logit_bias', 'modalities', 'seed', 'store', 'unheard_of'])
  })

  it('passes where a provider knows the field under its name', () => {
    expect(chatToMessages({ ...chat(ASK), unheard_of: 1 }, { passFields: ['unheard_of'] }).unheard_of).toBe(1)
  })

  it('is the tool of a server, and refused when it must be called', () => {
    const tools = [{ type: 'web_search_20250305', name: 'web_search' }]
    const request = { tools, messages: [ASK] }
    const { body, dropped } = translateRequest('anthropic-messages', 'openai-chat', request)
    expect([body.tools, dropped]).toEqual([undefined, ['tools.web_search_20250305']])
    expect(() => messagesToChat({ ...request, tool_choice: { type: 'tool', name: 'web_search' } })).toThrowError(
      /tool_choice/,
    )
  })

  it('is arguments that are no JSON: they survive as text', () => {
    const history = [ASK, { role: 'assistant', tool_calls: [call('a', 'f', '{"x":')] }]
    expect(chatToMessages(chat(...history)).messages[1].content[0].input).toEqual({ _raw_arguments: '{"x":' })
  })
})
