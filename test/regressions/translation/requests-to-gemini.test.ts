import { describe, expect, it } from 'vitest'
import type { JsonObject } from '../../../src/shared/core/json-object.ts'
import { parseRequest as parseMessages } from '../../../src/dialects/anthropic-messages/parse-request.ts'
import { geminiCodec } from '../../../src/dialects/gemini/codec.ts'
import { parseRequest as parseChat } from '../../../src/dialects/openai-chat/parse-request.ts'
import type { Json } from '../../support/plain-json.ts'
import { expectAcceptable } from '../../unit/dialects/translation/gemini-contents.ts'

// Bugs that other gateways have published, each with the reports' number in the notes on translation, as far as they
// concern requests to Gemini; and the pitfalls of its schemas.

function fromChat(request: object): Json {
  return geminiCodec.buildRequest(parseChat(request), geminiCodec.defaultTarget).body
}

function fromMessages(request: object): Json {
  return geminiCodec.buildRequest(parseMessages({ max_tokens: 9, ...request }), geminiCodec.defaultTarget).body
}

function parametersOf(parameters: JsonObject): Json {
  const { body, dropped } = geminiCodec.buildRequest(
    parseChat({
      messages: [{ role: 'user', content: 'hi' }],
      tools: [{ type: 'function', function: { name: 'f', parameters } }],
    }),
    geminiCodec.defaultTarget,
  )
  expectAcceptable(body, 'parameters')
  return { parameters: (body['tools'] as Json)[0].functionDeclarations[0].parameters, dropped }
}

function propertyOf(schema: Json, definitions: Json = {}): Json {
  return parametersOf({ type: 'object', properties: { a: schema }, $defs: definitions }).parameters.properties.a
}

const USE = { type: 'tool_use', id: 'a', name: 'f', input: {} }
const RESULT = { type: 'tool_result', tool_use_id: 'a', content: '1' }

describe('bug 17, pitfall 10: results of several tools', () => {
  it('are one turn in the order of their calls, ahead of what the user says, one for each call', () => {
    const body = fromMessages({
      messages: [
        { role: 'user', content: 'hi' },
        { role: 'assistant', content: [USE, { ...USE, id: 'b', name: 'g' }, { ...USE, id: 'c' }] },
        {
          role: 'user',
          content: [
            { type: 'text', text: 'and?' },
            { ...RESULT, tool_use_id: 'b' },
          ],
        },
        { role: 'user', content: [RESULT] },
      ],
    })
    expectAcceptable(body, 'results')
    expect(body.contents).toHaveLength(3)
    expect(body.contents[2].parts).toHaveLength(4)
    expect(body.contents[2].parts[3]).toEqual({ text: 'and?' })
  })
})

describe('bug 18: what the user says ahead of a result', () => {
  it('moves behind it', () => {
    const body = fromMessages({
      messages: [
        { role: 'user', content: 'hi' },
        { role: 'assistant', content: [USE] },
        { role: 'user', content: [{ type: 'text', text: 'first' }, RESULT] },
      ],
    })
    expect(body.contents[2].parts).toEqual([
      { functionResponse: { name: 'f', response: { result: '1' } } },
      { text: 'first' },
    ])
  })
})

describe('bug 20, pitfall 12: empty texts', () => {
  it('are not sent, nor are turns of nothing else', () => {
    const body = fromChat({
      messages: [
        { role: 'user', content: '' },
        { role: 'user', content: 'hi' },
        { role: 'assistant', content: ' ' },
        {
          role: 'user',
          content: [
            { type: 'text', text: '' },
            { type: 'text', text: 'you' },
          ],
        },
      ],
    })
    expect(body.contents).toEqual([{ role: 'user', parts: [{ text: 'hi' }, { text: 'you' }] }])
  })
})

describe('bug 26, pitfall 18: keywords of schemas that the service does not know', () => {
  it('are left out, and those that restrict values are reported', () => {
    const { parameters, dropped } = parametersOf({
      $schema: 'https://json-schema.org/draft/2020-12/schema',
      $id: 'x',
      type: 'object',
      additionalProperties: false,
      properties: {
        $schema: { type: 'string', description: 'a property of that name' },
        n: { type: 'integer', exclusiveMinimum: 0, multipleOf: 5, deprecated: true },
      },
      required: ['n', 'gone'],
      patternProperties: { '^x': {} },
    })
    expect(parameters).toEqual({
      type: 'OBJECT',
      properties: {
        $schema: { type: 'STRING', description: 'a property of that name' },
        n: { type: 'INTEGER', minimum: 1 },
      },
      required: ['n'],
    })
    expect(dropped).toEqual(['tools.parameters'])
  })

  it('are not reported where nothing is lost', () => {
    const schema = { $schema: 'x', type: 'object', properties: { a: { type: 'string' } }, additionalProperties: false }
    expect(parametersOf(schema).dropped).toEqual([])
  })

  it.each([
    [{ type: ['string', 'null'] }, { type: 'STRING', nullable: true }],
    [{ type: ['string', 'integer'] }, { anyOf: [{ type: 'STRING' }, { type: 'INTEGER' }] }],
    [{ const: 'x' }, { type: 'STRING', enum: ['x'] }],
    [{ enum: ['x', null] }, { type: 'STRING', nullable: true, enum: ['x'] }],
    [{ enum: [1, 2] }, { type: 'NUMBER', description: 'One of: 1, 2.' }],
    [{ anyOf: [{ type: 'string' }, { type: 'null' }] }, { type: 'STRING', nullable: true }],
    [{ oneOf: [{ type: 'string' }, { type: 'boolean' }] }, { anyOf: [{ type: 'STRING' }, { type: 'BOOLEAN' }] }],
    [
      { description: 'd', anyOf: [{ type: 'string' }, { type: 'number', description: 'e' }] },
      {
        anyOf: [
          { type: 'STRING', description: 'd' },
          { type: 'NUMBER', description: 'e' },
        ],
      },
    ],
    [
      { allOf: [{ properties: { x: { type: 'string' } } }, { properties: { y: {} }, required: ['y'] }] },
      { type: 'OBJECT', properties: { x: { type: 'STRING' }, y: { type: 'STRING' } }, required: ['y'] },
    ],
    [{ type: 'array' }, { type: 'ARRAY', items: { type: 'STRING' } }],
    [
      { type: 'array', prefixItems: [{ type: 'number' }] },
      { type: 'ARRAY', items: { type: 'NUMBER' } },
    ],
    [
      { type: 'string', format: 'date-time' },
      { type: 'STRING', format: 'date-time' },
    ],
    [{ type: 'string', format: 'uri' }, { type: 'STRING' }],
    [{ type: 'object', properties: {} }, { type: 'OBJECT' }],
    [true, { type: 'STRING' }],
  ])('are said in others: %j', (schema, clean) => {
    expect(propertyOf(schema)).toEqual(clean)
  })

  it('are followed where they refer to another place, as far as that goes', () => {
    const definitions = {
      City: { type: 'string', enum: ['Ulm'] },
      Tree: { type: 'object', properties: { name: { type: 'string' }, child: { $ref: '#/$defs/Tree' } } },
      Loop: { allOf: [{ $ref: '#/$defs/Loop' }] },
    }
    expect(propertyOf({ $ref: '#/$defs/City', description: 'where' }, definitions)).toEqual({
      type: 'STRING',
      enum: ['Ulm'],
      description: 'where',
    })
    expect(propertyOf({ $ref: '#/$defs/Tree' }, definitions)).toEqual({
      type: 'OBJECT',
      properties: { name: { type: 'STRING' }, child: { type: 'OBJECT' } },
    })
    expect(propertyOf({ $ref: '#/$defs/Loop' }, definitions)).toEqual({ type: 'OBJECT' })
    expect(propertyOf({ $ref: '#/$defs/Nowhere' }, definitions)).toEqual({ type: 'OBJECT' })
  })

  it('do not blow up when each refers twice to the next, nor when they are nested without end', () => {
    const definitions: Record<string, Json> = {}
    for (let i = 0; i < 40; i++) {
      const next = { $ref: `#/$defs/D${i + 1}` }
      definitions[`D${i}`] = { type: 'object', properties: { a: next, b: next } }
    }
    expect(JSON.stringify(propertyOf({ $ref: '#/$defs/D0' }, definitions)).length).toBeLessThan(2_000_000)
    let deep: Json = { type: 'string' }
    for (let i = 0; i < 2_000; i++) deep = { type: 'array', items: deep }
    expect(propertyOf(deep).type).toBe('ARRAY')
  })

  it('leave no parameters where there are none', () => {
    expect(parametersOf({ type: 'object', properties: {} }).parameters).toBeUndefined()
    expect(parametersOf({}).parameters).toBeUndefined()
  })

  it('say variants of all parameters as one object', () => {
    const variant = (name: string): Json => ({ properties: { [name]: { type: 'string' } }, required: ['kind', name] })
    const { parameters } = parametersOf({
      type: 'object',
      properties: { kind: { type: 'string' } },
      anyOf: [variant('a'), variant('b')],
    })
    expect(parameters).toEqual({
      type: 'OBJECT',
      properties: { kind: { type: 'STRING' }, a: { type: 'STRING' }, b: { type: 'STRING' } },
      required: ['kind'],
    })
  })
})

describe('bug 28, pitfall 16: the billing line of a coding agent', () => {
  it('is left out', () => {
    const system = [
      { type: 'text', text: 'x-anthropic-billing-header: cc_version=1; cch=123;' },
      { type: 'text', text: 'Be kind.' },
    ]
    const body = fromMessages({ system, messages: [{ role: 'user', content: 'hi' }] })
    expect(body.systemInstruction).toEqual({ parts: [{ text: 'Be kind.' }] })
  })
})

describe('bug 29: instructions in mid-conversation', () => {
  it('stay where they are, as text of the user', () => {
    const body = fromChat({
      messages: [
        { role: 'user', content: 'a' },
        { role: 'assistant', content: 'b' },
        { role: 'system', content: 'c' },
      ],
    })
    expect(body.systemInstruction).toBeUndefined()
    expect(body.contents[2]).toEqual({ role: 'user', parts: [{ text: '<system>\nc\n</system>' }] })
  })
})

describe('bug 35: arguments of the history', () => {
  it.each([
    ['{"a":1}', { a: 1 }],
    ['', {}],
    ['[1]', { _raw_arguments: '[1]' }],
    ['{"a":', { _raw_arguments: '{"a":' }],
  ])('are an object, whatever they were: %s', (args, expected) => {
    const call = { id: 'a', type: 'function', function: { name: 'f', arguments: args } }
    const body = fromChat({
      messages: [
        { role: 'user', content: 'hi' },
        { role: 'assistant', tool_calls: [call] },
        { role: 'tool', tool_call_id: 'a', content: '1' },
      ],
    })
    expect(body.contents[1].parts[0].functionCall.args).toEqual(expected)
  })
})

describe('bug 36: strict alternation', () => {
  it('is kept: neighbours are merged, the user begins, a call that lost its result has one', () => {
    const call = { id: 'a', type: 'function', function: { name: 'f', arguments: '{}' } }
    const body = fromChat({
      messages: [
        { role: 'assistant', content: 'hello' },
        { role: 'assistant', content: 'there' },
        { role: 'user', content: 'a' },
        { role: 'user', content: 'b' },
        { role: 'assistant', tool_calls: [call] },
        { role: 'user', content: 'never mind' },
        { role: 'tool', tool_call_id: 'gone', content: 'late' },
      ],
    })
    expectAcceptable(body, 'alternation')
    expect(body.contents.map(({ role }: Json) => role)).toEqual(['user', 'model', 'user', 'model', 'user'])
    expect(body.contents[4].parts.map((part: Json) => Object.keys(part)[0])).toEqual([
      'functionResponse',
      'text',
      'text',
    ])
  })
})
