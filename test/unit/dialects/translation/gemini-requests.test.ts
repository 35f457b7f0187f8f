import { describe, expect, it } from 'vitest'
import type { BuiltRequest, Target } from '../../../../src/shared/core/codec.ts'
import { GatewayError } from '../../../../src/shared/core/errors.ts'
import { parseRequest as parseMessages } from '../../../../src/dialects/anthropic-messages/parse-request.ts'
import { geminiCodec } from '../../../../src/dialects/gemini/codec.ts'
import { parseRequest as parseChat } from '../../../../src/dialects/openai-chat/parse-request.ts'
import { loadFixtures } from '../../../support/recorded-fixtures.ts'
import { expectAcceptable } from './gemini-contents.ts'

const OLDER: Partial<Target> = { reasoning: 'budget', efforts: ['none', 'minimal', 'low', 'medium', 'high'] }

function chat(request: object, target: Partial<Target> = {}): BuiltRequest {
  const messages = [{ role: 'user', content: 'hi' }]
  return geminiCodec.buildRequest(parseChat({ model: 'm', messages, ...request }), {
    ...geminiCodec.defaultTarget,
    ...target,
  })
}

function messages(request: object): BuiltRequest {
  return geminiCodec.buildRequest(parseMessages({ model: 'm', max_tokens: 10, ...request }), geminiCodec.defaultTarget)
}

const CALL = { id: 'c1', type: 'function', function: { name: 'weather', arguments: '{"city":"Ulm"}' } }
const HI = { role: 'user', parts: [{ text: 'hi' }] }

describe('a request for the gemini dialect', () => {
  it('is acceptable to the service whatever recorded request it is made from', () => {
    let built = 0
    const refused: string[] = []
    for (const fixture of loadFixtures()) {
      if (fixture.request === null || fixture.operation !== null || fixture.kind === 'error') continue
      const body: unknown = JSON.parse(fixture.request.toString())
      const conversation = fixture.protocol === 'openai-chat' ? parseChat(body) : parseMessages(body)
      for (const target of [geminiCodec.defaultTarget, { ...geminiCodec.defaultTarget, ...OLDER }]) {
        try {
          expectAcceptable(geminiCodec.buildRequest(conversation, target).body, fixture.id)
          built++
        } catch (cause) {
          if (!(cause instanceof GatewayError)) throw cause
          refused.push(`${fixture.id}: ${cause.param}`)
        }
      }
    }
    console.log(`requests built for gemini: ${built}, refused: ${refused.length}\n${[...new Set(refused)].join('\n')}`)
    expect(built).toBeGreaterThan(500)
    expect(refused.length).toBeLessThan(built / 10)
  })

  it('has instructions apart, the turns of two roles, and later instructions as text of the user', () => {
    const { body } = chat({
      messages: [
        { role: 'system', content: 'a' },
        { role: 'developer', content: 'b' },
        { role: 'user', content: 'c' },
        { role: 'system', content: 'd' },
        { role: 'assistant', content: 'e' },
      ],
    })
    expect(body).toEqual({
      systemInstruction: { parts: [{ text: 'a' }, { text: 'b' }] },
      contents: [
        { role: 'user', parts: [{ text: 'c' }, { text: '<system>\nd\n</system>' }] },
        { role: 'model', parts: [{ text: 'e' }] },
      ],
    })
  })

  it('has the results of one step in one turn, with the names of their calls', () => {
    const { body } = chat({
      messages: [
        { role: 'user', content: 'hi' },
        { role: 'assistant', content: null, tool_calls: [CALL, { ...CALL, id: 'c2', function: { name: 'time' } }] },
        { role: 'tool', tool_call_id: 'c1', content: '7' },
        { role: 'tool', tool_call_id: 'c2', content: '[1]' },
      ],
    })
    expect(body['contents']).toEqual([
      HI,
      {
        role: 'model',
        parts: [
          {
            functionCall: { name: 'weather', args: { city: 'Ulm' } },
            thoughtSignature: 'skip_thought_signature_validator',
          },
          { functionCall: { name: 'time', args: {} } },
        ],
      },
      {
        role: 'user',
        parts: [
          { functionResponse: { name: 'weather', response: { result: '7' } } },
          { functionResponse: { name: 'time', response: { result: '[1]' } } },
        ],
      },
    ])
  })

  it('tells a failed tool apart, and puts the pictures of results behind all of them', () => {
    const image = { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'AAAA' } }
    const { body } = messages({
      messages: [
        { role: 'user', content: 'hi' },
        { role: 'assistant', content: [{ type: 'tool_use', id: 'a', name: 'look', input: {} }] },
        {
          role: 'user',
          content: [
            { type: 'text', text: 'so?' },
            { type: 'tool_result', tool_use_id: 'a', is_error: true, content: [{ type: 'text', text: 'no' }, image] },
          ],
        },
      ],
    })
    expect((body['contents'] as unknown[])[2]).toEqual({
      role: 'user',
      parts: [
        { functionResponse: { name: 'look', response: { error: 'no\n[attached below]' } } },
        { inlineData: { mimeType: 'image/png', data: 'AAAA' } },
        { text: 'so?' },
      ],
    })
  })

  it('has media as bytes or as addresses', () => {
    const { body, dropped } = chat({
      messages: [
        {
          role: 'user',
          content: [
            { type: 'image_url', image_url: { url: 'data:image/jpg;base64,AAAA', detail: 'low' } },
            { type: 'image_url', image_url: { url: 'https://x.test/a.webp?b=c.png' } },
            { type: 'file', file: { file_data: 'data:application/pdf;base64,BBBB', filename: 'a.pdf' } },
            { type: 'input_audio', input_audio: { data: 'CCCC', format: 'mp3' } },
          ],
        },
      ],
    })
    expect(body['contents']).toEqual([
      {
        role: 'user',
        parts: [
          { inlineData: { mimeType: 'image/jpeg', data: 'AAAA' } },
          { fileData: { mimeType: 'image/webp', fileUri: 'https://x.test/a.webp?b=c.png' } },
          { text: 'a.pdf' },
          { inlineData: { mimeType: 'application/pdf', data: 'BBBB' } },
          { inlineData: { mimeType: 'audio/mp3', data: 'CCCC' } },
        ],
      },
    ])
    expect(dropped).toEqual(['content.image_url.detail'])
  })

  it('has the settings of the answer, five stop sequences at most', () => {
    const { body, dropped } = chat({
      temperature: 1.5,
      top_p: 0.5,
      top_k: 3,
      seed: 4,
      presence_penalty: 0.1,
      frequency_penalty: 0.2,
      max_completion_tokens: 99,
      stop: ['a', 'b', 'c', 'd', 'e', 'f'],
      parallel_tool_calls: false,
      logit_bias: { 1: 1 },
      user: 'u',
    })
    expect(body['generationConfig']).toEqual({
      temperature: 1.5,
      topP: 0.5,
      topK: 3,
      seed: 4,
      presencePenalty: 0.1,
      frequencyPenalty: 0.2,
      maxOutputTokens: 99,
      stopSequences: ['a', 'b', 'c', 'd', 'e'],
    })
    expect([...dropped].sort()).toEqual(['logit_bias', 'parallel_tool_calls', 'stop', 'user'])
  })

  it.each([
    [{ reasoning_effort: 'none' }, {}, { thinkingLevel: 'MINIMAL' }],
    [{ reasoning_effort: 'low' }, {}, { thinkingLevel: 'LOW', includeThoughts: true }],
    [{ reasoning_effort: 'xhigh' }, {}, { thinkingLevel: 'HIGH', includeThoughts: true }],
    [{ reasoning_effort: 'none' }, OLDER, { thinkingBudget: 0 }],
    [{ reasoning_effort: 'minimal' }, OLDER, { thinkingBudget: 512, includeThoughts: true }],
    [{ reasoning_effort: 'medium' }, OLDER, { thinkingBudget: 8192, includeThoughts: true }],
    [{ reasoning_effort: 'max' }, OLDER, { thinkingBudget: 24_576, includeThoughts: true }],
    [
      { reasoning_effort: 'max' },
      { reasoning: 'budget', efforts: ['low', 'max'] },
      { thinkingBudget: 32_768, includeThoughts: true },
    ],
  ] as const)(
    'tells a model how to think by a level or by a budget, as it wants it: %j %j',
    (request, target, config) => {
      expect(chat(request, target).body['generationConfig']).toEqual({ thinkingConfig: config })
    },
  )

  it('takes a budget of the client within what models take', () => {
    const thinking = { type: 'enabled', budget_tokens: 31_999 }
    const conversation = parseMessages({ max_tokens: 50_000, thinking, messages: [{ role: 'user', content: 'hi' }] })
    const { body } = geminiCodec.buildRequest(conversation, { ...geminiCodec.defaultTarget, ...OLDER })
    expect(body['generationConfig']).toEqual({
      maxOutputTokens: 50_000,
      thinkingConfig: { thinkingBudget: 24_576, includeThoughts: true },
    })
  })

  it.each([
    ['auto', { mode: 'AUTO' }],
    ['none', { mode: 'NONE' }],
    ['required', { mode: 'ANY' }],
    [
      { type: 'function', function: { name: 'b' } },
      { mode: 'ANY', allowedFunctionNames: ['b'] },
    ],
    [
      {
        type: 'allowed_tools',
        allowed_tools: { mode: 'auto', tools: [{ type: 'function', function: { name: 'a' } }] },
      },
      { mode: 'VALIDATED', allowedFunctionNames: ['a'] },
    ],
  ])('says which tool is to be called: %j', (choice, config) => {
    const tools = ['a', 'b'].map((name) => ({ type: 'function', function: { name } }))
    const { body } = chat({ tools, tool_choice: choice })
    expect(body['toolConfig']).toEqual({ functionCallingConfig: config })
    expect(body['tools']).toEqual([{ functionDeclarations: [{ name: 'a' }, { name: 'b' }] }])
  })

  it('asks for a shape of the answer by its field, and in words where tools forbid that', () => {
    const format = {
      type: 'json_schema',
      json_schema: { schema: { type: 'object', properties: { a: { type: 'integer' } } } },
    }
    expect(chat({ response_format: format }).body['generationConfig']).toEqual({
      responseMimeType: 'application/json',
      responseSchema: { type: 'OBJECT', properties: { a: { type: 'INTEGER' } } },
    })
    const tools = [{ type: 'function', function: { name: 'a' } }]
    const { body } = chat({ response_format: format, tools }, OLDER)
    expect(body['generationConfig']).toBeUndefined()
    expect(JSON.stringify(body['systemInstruction'])).toContain('JSON Schema')
  })

  it('gives tools names that the service takes, and the client its own back', () => {
    const tools = ['2fast', '-x', 'a b'].map((name) => ({ type: 'function', function: { name } }))
    const { body, restoration } = chat({ tools, tool_choice: { type: 'function', function: { name: '2fast' } } })
    expectAcceptable(body, 'names')
    const names = (body['tools'] as [{ functionDeclarations: { name: string }[] }])[0].functionDeclarations
    expect(names.map(({ name }) => restoration?.tools[name]?.name)).toEqual(['2fast', '-x', 'a b'])
  })

  it('refuses several answers at once and files that are stored elsewhere', () => {
    expect(() => chat({ n: 2 })).toThrow(GatewayError)
    const file = { type: 'file', file: { file_id: 'file-1' } }
    expect(() => chat({ messages: [{ role: 'user', content: [file] }] })).toThrow(GatewayError)
  })
})
