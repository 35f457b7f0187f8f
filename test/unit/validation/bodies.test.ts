import { describe, expect, it } from 'vitest'
import { bytesOf, refusal, validate } from './refusal.ts'

const user = { role: 'user', content: 'Hello' }
const chat = { model: 'm', messages: [user] }
const messages = { model: 'm', max_tokens: 10, messages: [user] }

/** Body, pointer of the bad field, message. */
type Refused = readonly [body: unknown, param: string, message: string]

function refuses(endpoint: string, cases: readonly Refused[]): void {
  it.each(cases)('refuses %j at %s: %s', (body, param, message) => {
    expect(refusal(endpoint, body)).toMatchObject({ code: 'INVALID_FIELD', status: 400, param, message })
  })
}

function accepts(endpoint: string, cases: readonly unknown[]): void {
  it.each(cases)('accepts %j', (body) => {
    expect(refusal(endpoint, body)).toBeNull()
  })
}

/** The rules that hold in both dialects; `valid` is a body of the endpoint. */
function commonRules(endpoint: string, valid: { messages: unknown[] }): void {
  refuses(endpoint, [
    [[valid], '', 'The body must be an object.'],
    ['null', '', 'The body must be an object.'],
    ['"text"', '', 'The body must be an object.'],
    [{ ...valid, model: undefined }, '/model', 'model is required.'],
    [{ ...valid, model: '' }, '/model', 'model must not be empty.'],
    [{ ...valid, model: 'x'.repeat(257) }, '/model', 'model must have at most 256 characters.'],
    [{ ...valid, model: 4 }, '/model', 'model must be a string.'],
    [{ ...valid, model: null }, '/model', 'model must be a string.'],
    [{ ...valid, messages: undefined }, '/messages', 'messages is required.'],
    [{ ...valid, messages: [] }, '/messages', 'messages must not be empty.'],
    [{ ...valid, messages: 'Hello' }, '/messages', 'messages must be an array.'],
    [{ ...valid, messages: [user, 'Hello'] }, '/messages/1', 'messages[1] must be an object.'],
    [{ ...valid, messages: [{ content: 'x' }] }, '/messages/0/role', 'messages[0].role is required.'],
    [{ ...valid, messages: [user, { role: 'user' }] }, '/messages/1/content', 'messages[1].content is required.'],
    [
      { ...valid, messages: [{ role: 'user', content: 5 }] },
      '/messages/0/content',
      'messages[0].content must be a string or an array.',
    ],
    [
      { ...valid, messages: [{ role: 'user', content: null }] },
      '/messages/0/content',
      'messages[0].content must be a string or an array.',
    ],
    [
      { ...valid, messages: [{ role: 'user', content: [{ type: 'text', text: 'a' }, 'b'] }] },
      '/messages/0/content/1',
      'messages[0].content[1] must be an object.',
    ],
    [
      { ...valid, messages: [{ role: 'user', content: [{ text: 'a' }] }] },
      '/messages/0/content/0/type',
      'messages[0].content[0].type is required.',
    ],
    [
      { ...valid, messages: [{ role: 'user', content: [{ type: 7 }] }] },
      '/messages/0/content/0/type',
      'messages[0].content[0].type must be a string.',
    ],
    [{ ...valid, tools: {} }, '/tools', 'tools must be an array.'],
    [{ ...valid, tools: ['calculator'] }, '/tools/0', 'tools[0] must be an object.'],
  ])
  accepts(endpoint, [
    valid,
    { ...valid, model: 'x'.repeat(256) },
    { ...valid, messages: [{ role: 'user', content: '' }] },
    { ...valid, messages: [{ role: 'user', content: [] }] },
    { ...valid, messages: [{ role: 'user', content: [{ type: 'hologram', depth: 3 }] }] },
    { ...valid, messages: [{ ...user, mood: 'good' }] },
    { ...valid, tools: [] },
    { ...valid, tools: [{ type: 'teleport_20300101', range: null }] },
    { ...valid, min_p: 0.1, provider: { order: ['a'] }, anything: [[[null]]] },
  ])
}

describe('a chat body', () => {
  const endpoint = 'chat.completions'
  commonRules(endpoint, chat)

  refuses(endpoint, [
    [
      { ...chat, messages: [{ role: 'narrator', content: 'x' }] },
      '/messages/0/role',
      'messages[0].role must be one of user, assistant, tool, system, developer, function.',
    ],
    [
      { ...chat, messages: [{ role: 5, content: 'x' }] },
      '/messages/0/role',
      'messages[0].role must be one of user, assistant, tool, system, developer, function.',
    ],
    [
      { ...chat, messages: [{ role: 'system', content: null }] },
      '/messages/0/content',
      'messages[0].content must be a string or an array.',
    ],
    [
      { ...chat, messages: [user, { role: 'assistant', tool_calls: {} }] },
      '/messages/1/tool_calls',
      'messages[1].tool_calls must be an array.',
    ],
    [
      { ...chat, messages: [user, { role: 'tool', content: 'x', tool_call_id: 3 }] },
      '/messages/1/tool_call_id',
      'messages[1].tool_call_id must be a string.',
    ],
    [{ ...chat, temperature: 2.1 }, '/temperature', 'temperature must be between 0 and 2.'],
    [{ ...chat, temperature: -0.1 }, '/temperature', 'temperature must be between 0 and 2.'],
    [{ ...chat, temperature: '1' }, '/temperature', 'temperature must be a number.'],
    [
      '{"model":"m","messages":[{"role":"user","content":"x"}],"temperature":1e999}',
      '/temperature',
      'temperature must be a number.',
    ],
    [{ ...chat, top_p: 1.01 }, '/top_p', 'top_p must be between 0 and 1.'],
    [{ ...chat, top_p: -1 }, '/top_p', 'top_p must be between 0 and 1.'],
    [{ ...chat, top_k: -1 }, '/top_k', 'top_k must be at least 0.'],
    [{ ...chat, top_k: 1.5 }, '/top_k', 'top_k must be a whole number.'],
    [{ ...chat, max_tokens: 0 }, '/max_tokens', 'max_tokens must be at least 1.'],
    [{ ...chat, max_tokens: 1.5 }, '/max_tokens', 'max_tokens must be a whole number.'],
    [{ ...chat, max_tokens: '5' }, '/max_tokens', 'max_tokens must be a whole number.'],
    [{ ...chat, max_tokens: 2 ** 31 }, '/max_tokens', 'max_tokens must be at most 2147483647.'],
    [{ ...chat, max_completion_tokens: 0 }, '/max_completion_tokens', 'max_completion_tokens must be at least 1.'],
    [{ ...chat, n: 0 }, '/n', 'n must be between 1 and 128.'],
    [{ ...chat, n: 129 }, '/n', 'n must be between 1 and 128.'],
    [{ ...chat, presence_penalty: 3 }, '/presence_penalty', 'presence_penalty must be between -2 and 2.'],
    [{ ...chat, frequency_penalty: -3 }, '/frequency_penalty', 'frequency_penalty must be between -2 and 2.'],
    [{ ...chat, stop: 5 }, '/stop', 'stop must be a string or an array.'],
    [{ ...chat, stop: ['a', 5] }, '/stop/1', 'stop[1] must be a string.'],
    [{ ...chat, stream: 'true' }, '/stream', 'stream must be true or false.'],
    [{ ...chat, stream_options: [] }, '/stream_options', 'stream_options must be an object.'],
    [
      { ...chat, stream_options: { include_usage: 1 } },
      '/stream_options/include_usage',
      'stream_options.include_usage must be true or false.',
    ],
    [{ ...chat, tools: [{ function: 'f' }] }, '/tools/0/function', 'tools[0].function must be an object.'],
    [{ ...chat, tool_choice: 1 }, '/tool_choice', 'tool_choice must be a string or an object.'],
    [{ ...chat, response_format: 'json' }, '/response_format', 'response_format must be an object.'],
  ])

  accepts(endpoint, [
    { ...chat, temperature: 0, top_p: 0, top_k: 0, presence_penalty: -2, frequency_penalty: -2 },
    { ...chat, temperature: 2, top_p: 1, max_tokens: 1, n: 1, presence_penalty: 2, frequency_penalty: 2 },
    { ...chat, max_tokens: 2 ** 31 - 1 },
    { ...chat, stop: 'x' },
    { ...chat, stop: ['x', 'y'] },
    { ...chat, tools: [{ type: 'function', function: { name: 'f', parameters: { type: 'object' } } }] },
    { ...chat, tool_choice: { type: 'function', function: { name: 'f' } } },
    {
      ...chat,
      messages: [
        { role: 'developer', content: 'Be brief.' },
        { role: 'system', content: [{ type: 'text', text: 'Be kind.' }] },
        user,
        { role: 'assistant', content: null, tool_calls: [{ id: 'c', type: 'function', function: { name: 'f' } }] },
        { role: 'tool', tool_call_id: 'c', content: '5' },
        { role: 'tool', tool_call_id: 'c', content: [{ type: 'text', text: '5' }] },
        { role: 'function', name: 'f', content: null },
        { role: 'assistant' },
      ],
    },
  ])

  it('takes an explicit null of an optional field as its absence', () => {
    const nulls = Object.fromEntries(
      [
        ...['stream', 'stream_options', 'max_tokens', 'max_completion_tokens', 'n', 'temperature', 'top_p', 'top_k'],
        ...['presence_penalty', 'frequency_penalty', 'stop', 'tools', 'tool_choice', 'parallel_tool_calls'],
        ...[
          'response_format',
          'seed',
          'logit_bias',
          'logprobs',
          'top_logprobs',
          'reasoning_effort',
          'user',
          'metadata',
        ],
      ].map((name) => [name, null]),
    )

    expect(validate(endpoint, bytesOf({ ...chat, ...nulls }))).toMatchObject({
      stream: false,
      wantsUsage: false,
      maxOutputTokens: null,
      choices: 1,
    })
  })

  it('reads what routing and limits need', () => {
    const body = { ...chat, stream: true, stream_options: { include_usage: true }, max_tokens: 77, n: 3 }

    expect(validate(endpoint, bytesOf(body))).toMatchObject({
      model: 'm',
      stream: true,
      wantsUsage: true,
      maxOutputTokens: 77,
      choices: 3,
    })
  })

  it('reserves for the larger of max_tokens and max_completion_tokens', () => {
    const limits = (fields: object) => validate(endpoint, bytesOf({ ...chat, ...fields })).maxOutputTokens

    expect(limits({ max_tokens: 5, max_completion_tokens: 9 })).toBe(9)
    expect(limits({ max_tokens: 9, max_completion_tokens: 5 })).toBe(9)
    expect(limits({ max_completion_tokens: 5 })).toBe(5)
    expect(limits({ max_tokens: 9, max_completion_tokens: null })).toBe(9)
    expect(limits({})).toBeNull()
  })
})

describe('a messages body', () => {
  const endpoint = 'messages'
  commonRules(endpoint, messages)

  refuses(endpoint, [
    [
      { ...messages, messages: [{ role: 'tool', content: 'x' }] },
      '/messages/0/role',
      'messages[0].role must be one of user, assistant, system.',
    ],
    [{ ...messages, max_tokens: undefined }, '/max_tokens', 'max_tokens is required.'],
    [{ ...messages, max_tokens: 0 }, '/max_tokens', 'max_tokens must be at least 1.'],
    [{ ...messages, max_tokens: null }, '/max_tokens', 'max_tokens must be a whole number.'],
    [{ ...messages, max_tokens: 1.5 }, '/max_tokens', 'max_tokens must be a whole number.'],
    [{ ...messages, temperature: 1.1 }, '/temperature', 'temperature must be between 0 and 1.'],
    [{ ...messages, temperature: -1 }, '/temperature', 'temperature must be between 0 and 1.'],
    [{ ...messages, top_p: 1.5 }, '/top_p', 'top_p must be between 0 and 1.'],
    [{ ...messages, top_k: -1 }, '/top_k', 'top_k must be at least 0.'],
    [{ ...messages, top_k: 0.5 }, '/top_k', 'top_k must be a whole number.'],
    [{ ...messages, stream: 1 }, '/stream', 'stream must be true or false.'],
    [{ ...messages, system: 5 }, '/system', 'system must be a string or an array.'],
    [{ ...messages, system: ['x'] }, '/system/0', 'system[0] must be an object.'],
    [{ ...messages, system: [{ text: 'x' }] }, '/system/0/type', 'system[0].type is required.'],
    [{ ...messages, stop_sequences: 'x' }, '/stop_sequences', 'stop_sequences must be an array.'],
    [{ ...messages, stop_sequences: [5] }, '/stop_sequences/0', 'stop_sequences[0] must be a string.'],
    [{ ...messages, tool_choice: 'auto' }, '/tool_choice', 'tool_choice must be an object.'],
    [{ ...messages, metadata: 'me' }, '/metadata', 'metadata must be an object.'],
    [{ ...messages, thinking: true }, '/thinking', 'thinking must be an object.'],
  ])

  accepts(endpoint, [
    { ...messages, temperature: 1, top_p: 1, top_k: 0, max_tokens: 1 },
    { ...messages, system: 'Be brief.' },
    { ...messages, system: [{ type: 'text', text: 'Be brief.', cache_control: { type: 'ephemeral' } }] },
    { ...messages, messages: [user, { role: 'assistant', content: 'Hi' }, { role: 'system', content: 'Be brief.' }] },
    { ...messages, messages: [{ role: 'user', content: [{ type: 'tool_result', tool_use_id: 't' }] }] },
    { ...messages, tools: [{ name: 'f', type: null, input_schema: { type: 'object' } }] },
  ])

  it('reads what routing and limits need', () => {
    expect(validate(endpoint, bytesOf({ ...messages, stream: true }))).toMatchObject({
      model: 'm',
      stream: true,
      wantsUsage: true,
      maxOutputTokens: 10,
      choices: 1,
    })
  })
})

describe('a body to count tokens of', () => {
  const endpoint = 'messages.count_tokens'
  const prompt = { model: 'm', messages: [user] }
  commonRules(endpoint, prompt)

  it('needs no max_tokens and is never a stream', () => {
    expect(validate(endpoint, bytesOf({ ...prompt, stream: true }))).toMatchObject({
      stream: false,
      maxOutputTokens: null,
    })
  })
})

describe('names that must not stand', () => {
  const around = (place: string) => `{"model":"m","max_tokens":1,${place}}`
  const inMessage = (members: string) => around(`"messages":[{"role":"user","content":"x"},{${members}}]`)
  const inPart = (members: string) => inMessage(`"role":"user","content":[{${members}}]`)
  const valid = '"messages":[{"role":"user","content":"x"}]'

  const duplicates: readonly (readonly [string, string, string, string])[] = [
    ['chat.completions', around(`"model":"n",${valid}`), '/model', 'model is given twice.'],
    ['chat.completions', around(`"mod\\u0065l":"n",${valid}`), '/model', 'model is given twice.'],
    ['chat.completions', around(`${valid},"é":1,"\\u00e9":2`), '/é', 'é is given twice.'],
    ['chat.completions', around(`${valid},"a/b~":1,"a/b~":2`), '/a~1b~0', 'a/b~ is given twice.'],
    [
      'chat.completions',
      inMessage('"role":"user","content":"x","role":"system"'),
      '/messages/1/role',
      'messages[1].role is given twice.',
    ],
    [
      'chat.completions',
      inPart('"type":"text","text":"a","text":"b"'),
      '/messages/1/content/0/text',
      'messages[1].content[0].text is given twice.',
    ],
    [
      'chat.completions',
      around(`${valid},"tools":[{"type":"function","type":"x"}]`),
      '/tools/0/type',
      'tools[0].type is given twice.',
    ],
    [
      'chat.completions',
      around(`${valid},"tools":[{},{"function":{"name":"a","name":"b"}}]`),
      '/tools/1/function/name',
      'tools[1].function.name is given twice.',
    ],
    [
      'chat.completions',
      around(`${valid},"stream_options":{"include_usage":true,"include_usage":false}`),
      '/stream_options/include_usage',
      'stream_options.include_usage is given twice.',
    ],
    [
      'messages',
      around(`${valid},"system":[{"type":"text","text":"a","text":"b"}]`),
      '/system/0/text',
      'system[0].text is given twice.',
    ],
    ['messages', around(`${valid},"max_tokens":5`), '/max_tokens', 'max_tokens is given twice.'],
    [
      'messages.count_tokens',
      inMessage('"role":"user","content":"x","content":"y"'),
      '/messages/1/content',
      'messages[1].content is given twice.',
    ],
  ]
  it.each(duplicates)('refuses a duplicate in %s %s', (endpoint, body, param, message) => {
    expect(refusal(endpoint, body)).toMatchObject({ code: 'DUPLICATE_FIELD', status: 400, param, message })
  })

  const forbidden: readonly (readonly [string, string])[] = [
    [around(`${valid},"__proto__":{}`), '/__proto__'],
    [around(`${valid},"__pr\\u006fto__":{}`), '/__proto__'],
    [inMessage('"role":"user","content":"x","__proto__":1'), '/messages/1/__proto__'],
    [inPart('"type":"text","\\u005f_proto__":1'), '/messages/1/content/0/__proto__'],
    [around(`${valid},"tools":[{"__proto__":1}]`), '/tools/0/__proto__'],
    [around(`${valid},"tools":[{"function":{"__proto__":1}}]`), '/tools/0/function/__proto__'],
    [around(`${valid},"system":[{"__proto__":1}]`), '/system/0/__proto__'],
    [around(`${valid},"stream_options":{"__proto__":1}`), '/stream_options/__proto__'],
  ]
  it.each(forbidden)('refuses __proto__ in %s', (body, param) => {
    for (const endpoint of ['chat.completions', 'messages'] as const) {
      expect(refusal(endpoint, body)).toMatchObject({ code: 'FORBIDDEN_FIELD', status: 400, param })
    }
  })

  it.each([
    around(`${valid},"metadata":{"a":1,"a":2,"__proto__":3}`),
    around(`${valid},"tools":[{"function":{"parameters":{"a":1,"a":2,"properties":{"__proto__":{}}}}}]`),
    around(`${valid},"tools":[{"input_schema":{"a":1,"a":2,"__proto__":{}}}]`),
    inPart('"type":"tool_use","input":{"a":1,"a":2,"__proto__":{}}'),
    inPart('"type":"tool_result","content":[{"type":"text","type":"text"}]'),
    around(`${valid},"x":[{"messages":1,"messages":2}]`),
    around(`${valid},"y":"__proto__"`),
    around(`"messages":[{"role":"user","content":"x"},{"role":"user","content":"x"}]`),
  ])('lets the client use any name in its own objects: %s', (body) => {
    expect(refusal('messages', body)).toBeNull()
  })

  it('finds the second among very many names', () => {
    const names = Array.from({ length: 5000 }, (_, index) => `"f${index}":0`).join()

    expect(refusal('chat.completions', around(`${valid},${names}`))).toBeNull()
    for (const name of ['f0', 'f8', 'f9', 'f10', 'f11', 'f12', 'f4999']) {
      expect(refusal('chat.completions', around(`${valid},${names},"${name}":1`))).toMatchObject({
        code: 'DUPLICATE_FIELD',
        param: `/${name}`,
      })
    }
  })

  it('does not take names of an inner object for those of the outer one', () => {
    const part = '{"type":"text","text":"x","role":1,"model":2}'
    const message = `{"content":[${part},${part}],"role":"user","type":1,"text":2}`
    const body = around(`"messages":[${message},${message}],"role":1,"content":2,"type":3,"text":4`)

    expect(refusal('messages', body)).toBeNull()
  })
})
