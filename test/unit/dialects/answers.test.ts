import { describe, expect, it } from 'vitest'
import type { AnswerRequest } from '../../../src/shared/core/dialect.ts'
import { GatewayError } from '../../../src/shared/core/errors.ts'
import { dialectOf } from '../../../src/dialects/codecs.ts'
import { loadFixtures } from '../../support/recorded-fixtures.ts'

const NO_REQUEST: AnswerRequest = { expected: null, estimatedPromptTokens: 0 }
const chat = {
  ...dialectOf('openai-chat'),
  readAnswer: (body: Buffer) => dialectOf('openai-chat').readAnswer(body, NO_REQUEST),
}
const messages = {
  ...dialectOf('anthropic-messages'),
  readAnswer: (body: Buffer) => dialectOf('anthropic-messages').readAnswer(body, NO_REQUEST),
}
const json = (value: unknown): Buffer => Buffer.from(JSON.stringify(value))

describe('buffered answers', () => {
  it('are read from every recorded 200: usage as the body says, failures only where the body is an error', () => {
    const answers = loadFixtures((fixture) => fixture.kind === 'response')
    let withUsage = 0
    let withText = 0
    for (const { id, protocol, operation, features, response } of answers) {
      const { usage, failure } = dialectOf(protocol).readAnswer(response, NO_REQUEST)
      expect(failure !== null, id).toBe(features.has('error-body'))
      if (failure !== null) {
        expect(failure.message, id).not.toBe('')
        continue
      }
      if (operation === 'count_tokens') {
        expect(usage, id).toBeNull()
        continue
      }
      const raw = (JSON.parse(response.toString()) as { usage: Record<string, number> }).usage
      const prompt =
        protocol === 'openai-chat'
          ? raw['prompt_tokens']
          : (raw['input_tokens'] ?? 0) +
            (raw['cache_read_input_tokens'] ?? 0) +
            (raw['cache_creation_input_tokens'] ?? 0)
      expect(usage?.promptTokens, id).toBe(prompt)
      expect(usage?.completionTokens, id).toBeGreaterThanOrEqual(raw['completion_tokens'] ?? raw['output_tokens'] ?? 0)
      const body = response.toString()
      const { usage: _, ...uncounted } = JSON.parse(body) as Record<string, unknown>
      const seen = dialectOf(protocol).readAnswer(Buffer.from(JSON.stringify(uncounted)), NO_REQUEST).observedTextBytes
      for (const text of body.match(/(?<="(?:content|text)":\s*)"(?:[^"\\]|\\.)+"(?=[,}\s])/g)?.slice(0, 1) ?? []) {
        expect(seen, id).toBeGreaterThan(0)
        withText += text.length > 2 ? 1 : 0
      }
      withUsage++
    }
    expect(withUsage).toBeGreaterThanOrEqual(260)
    expect(withText).toBeGreaterThanOrEqual(150)
  })

  it('count what was generated: text, reasoning, arguments', () => {
    const message = {
      role: 'assistant',
      content: 'né',
      reasoning: 'ab',
      tool_calls: [{ function: { name: 'f', arguments: '{}' } }],
    }
    expect(chat.readAnswer(json({ choices: [{ message }, { message: { content: 'x' } }] })).observedTextBytes).toBe(8)
    const content = [
      { type: 'thinking', thinking: 'abc', signature: 'zzzz' },
      { type: 'text', text: 'né' },
      { type: 'tool_use', name: 'f', input: { a: 1 } },
      { type: 'web_search_tool_result', content: [{ text: 'zzzz' }] },
    ]
    expect(messages.readAnswer(json({ content })).observedTextBytes).toBe(3 + 3 + 7)
  })

  it('report what is not an answer of the dialect', () => {
    for (const value of [{}, [], null, 'x', 5, { choices: null }, { content: [] }, { object: 'list', data: [] }]) {
      expect(chat.readAnswer(json(value)).failure?.type, JSON.stringify(value)).toBe('invalid_answer')
    }
    for (const value of [{}, [], null, { choices: [] }, { input_tokens: '5' }]) {
      expect(messages.readAnswer(json(value)).failure?.type, JSON.stringify(value)).toBe('invalid_answer')
    }
  })

  it('report an error inside a 200, with what it cost', () => {
    const body = { error: { message: 'boom', code: 502 }, choices: [], usage: { prompt_tokens: 3 } }
    expect(chat.readAnswer(json(body))).toMatchObject({
      failure: { message: 'boom', type: '502' },
      usage: { promptTokens: 3 },
    })
    expect(messages.readAnswer(json({ type: 'error', error: { type: 'api_error', message: 'boom' } })).failure).toEqual(
      {
        message: 'boom',
        type: 'api_error',
      },
    )
    expect(chat.readAnswer(json({ choices: [], error: null })).failure).toBeNull()
  })

  it('throw when they are not JSON', () => {
    for (const body of ['', '{"choices":[', '<html>']) {
      expect(() => chat.readAnswer(Buffer.from(body))).toThrow(SyntaxError)
      expect(() => messages.readAnswer(Buffer.from(body))).toThrow(SyntaxError)
    }
  })
})

describe('failures', () => {
  const read = (body: string): { message: string; type: string } => chat.readFailure(500, Buffer.from(body))

  it('have a message in every recorded error body', () => {
    const errors = loadFixtures((fixture) => fixture.kind === 'error')
    for (const { id, protocol, status, response } of errors) {
      const { message } = dialectOf(protocol).readFailure(status, response)
      expect(message, id).not.toMatch(/^\s*$|^[[{<]/)
    }
    expect(errors.length).toBeGreaterThanOrEqual(46)
  })

  it.each([
    ['{"error":{"message":"m","type":"t","code":"c"}}', 'm', 't'],
    ['{"error":{"message":"m","type":null,"code":"c"}}', 'm', 'c'],
    ['{"error":{"message":"m","code":429}}', 'm', '429'],
    ['{"error":"text"}', 'text', ''],
    ['{"detail":"Invalid API Key"}', 'Invalid API Key', ''],
    ['{"detail":[{"loc":["body"],"msg":"field required","type":"missing"}]}', 'field required', ''],
    ['{"object":"error","message":"m","type":"invalid_model","code":"1500"}', 'm', 'invalid_model'],
    ['[{"error":{"code":400,"message":"m","status":"INVALID_ARGUMENT"}}]', 'm', '400'],
    ['{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}', 'Overloaded', 'overloaded_error'],
    ['{"error":true,"message":"m"}', 'm', ''],
    [
      '{"error":{"message":"Provider returned error","code":429,"metadata":{"raw":"slow down"}}}',
      'Provider returned error: slow down',
      '429',
    ],
    ['"just text"', 'just text', ''],
    ['upstream connect error', 'upstream connect error', ''],
    ['', '', ''],
    ['null', '', ''],
    ['{}', '', ''],
    [
      '<html>\r\n<head><title>502 Bad Gateway</title></head>\r\n<body><h1>502 Bad Gateway</h1><hr>nginx &amp; co</body></html>',
      '502 Bad Gateway nginx & co',
      '',
    ],
    ['<!DOCTYPE html><style>a{}</style><script>x()</script><p>Sorry</p><!-- no', 'Sorry', ''],
  ])('are read from %s', (body, message, type) => {
    expect(read(body)).toMatchObject({ message, type })
  })

  it('are cut to 2000 characters without half a surrogate pair, and hold no control characters', () => {
    expect(read(JSON.stringify({ error: { message: `${'a'.repeat(1999)}😀` } })).message).toBe('a'.repeat(1999))
    expect(read('x'.repeat(100_000)).message).toHaveLength(2000)
    expect(read('{"error":"a\\u0000b\\u001b[31mc\\r\\nd"}').message).toBe('a b [31mc \nd')
  })

  it('read a large hostile page in linear time', () => {
    expect(read(`<html>${'<script'.repeat(50_000)}`).message.length).toBeLessThanOrEqual(300)
    expect(read('['.repeat(50_000)).message).toHaveLength(2000)
  })
})

describe('errors for clients', () => {
  const error = new GatewayError('INVALID_FIELD', { message: 'It must be a number.', param: '/temperature' })

  it('have the chat shape', () => {
    const body = {
      error: {
        type: 'invalid_request',
        message: 'It must be a number.',
        code: 'INVALID_FIELD',
        param: '/temperature',
        request_id: 'r-1',
      },
    }
    expect(JSON.parse(chat.renderError(error, 'r-1'))).toEqual(body)
    expect(chat.renderErrorEvent(error, 'r-1').toString()).toBe(`data: ${JSON.stringify(body)}\n\n`)
    expect(JSON.parse(chat.renderError(new GatewayError('INTERNAL'), 'r')) as unknown).toMatchObject({
      error: { param: null },
    })
  })

  it('have the messages shape, with the field named in the message', () => {
    const body = {
      type: 'error',
      error: { type: 'invalid_request', message: '/temperature: It must be a number.' },
      request_id: 'r-1',
    }
    expect(JSON.parse(messages.renderError(error, 'r-1'))).toEqual(body)
    expect(messages.renderErrorEvent(error, 'r-1').toString()).toBe(`event: error\ndata: ${JSON.stringify(body)}\n\n`)
    const named = new GatewayError('INVALID_FIELD', {
      message: '/temperature must be a number.',
      param: '/temperature',
    })
    expect(messages.renderError(named, 'r')).toContain('"message":"/temperature must be a number."')
  })

  it.each([chat, messages])('are failures to an inspector of their own dialect ($name)', (dialect) => {
    const inspector = dialect.inspectStream(false)
    const event = dialect.renderErrorEvent(error, 'r-1')
    expect(inspector.inspect(event, 0, event.length)).toBe('error')
    expect(inspector.failure?.type).toBe('invalid_request')
  })

  it.each([chat, messages])('end a stream with an event their own inspector takes for the end ($name)', (dialect) => {
    const { terminalEvent } = dialect
    expect(dialect.inspectStream(false).inspect(terminalEvent, 0, terminalEvent.length)).toBe('terminal')
  })
})
