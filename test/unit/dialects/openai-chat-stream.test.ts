import { describe, expect, it } from 'vitest'
import type { EventVerdict, StreamInspector } from '../../../src/shared/core/dialect.ts'
import { openaiChat } from '../../../src/dialects/openai-chat/index.ts'
import fc from '../../support/fast-check.ts'

function inspectAll(
  events: readonly string[],
  wantsUsage = false,
): { verdicts: EventVerdict[]; inspector: StreamInspector } {
  const inspector = openaiChat.inspectStream(wantsUsage)
  const verdicts = events.map((event) => {
    const bytes = Buffer.from(event)
    return inspector.inspect(bytes, 0, bytes.length)
  })
  return { verdicts, inspector }
}

const event = (value: unknown): string => `data: ${JSON.stringify(value)}\n\n`
const chunk = (delta: unknown, finishReason: string | null = null, index = 0): string =>
  event({ id: 'c', choices: [{ index, delta, finish_reason: finishReason }] })
const usage = { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 }

describe('chat stream inspector', () => {
  it('forwards comments, blank lines, foreign fields and the first chunk of Azure', () => {
    const events = [
      ': PROCESSING\n\n',
      '\n',
      'id: 7\nretry: 10\n\n',
      event({ id: '', choices: [], prompt_filter_results: [] }),
    ]
    expect(inspectAll(events).verdicts).toEqual(['forward', 'forward', 'forward', 'forward'])
  })

  it('ends at [DONE], whatever the line ends, and takes nothing behind it', () => {
    for (const done of [
      'data: [DONE]\n\n',
      'data:[DONE]\r\n\r\n',
      'data: [DONE]',
      'data: [DONE]\r\r',
      'data: [DONE] \n\n',
    ]) {
      const { verdicts, inspector } = inspectAll([chunk({ content: 'a' }), done, event({ choices: [], usage })])
      expect(verdicts).toEqual(['forward', 'terminal', 'drop'])
      expect(inspector.usage).toBeNull()
    }
  })

  it('drops a usage-only chunk unless the client asked for it, and takes its usage both times', () => {
    const events = [chunk({}, 'stop'), event({ choices: [], usage })]
    expect(inspectAll(events, false).verdicts).toEqual(['forward', 'drop'])
    expect(inspectAll(events, true).verdicts).toEqual(['forward', 'forward'])
    expect(inspectAll(events, false).inspector.usage).toMatchObject({ promptTokens: 10, completionTokens: 5 })
  })

  it('forwards a chunk with choices and usage, and takes the usage', () => {
    const { verdicts, inspector } = inspectAll([
      event({ choices: [{ index: 0, delta: {}, finish_reason: 'stop' }], usage }),
    ])
    expect(verdicts).toEqual(['forward'])
    expect(inspector.usage).toMatchObject({ promptTokens: 10 })
  })

  it('lets the last usage win and never adds', () => {
    const { inspector } = inspectAll([
      event({ choices: [{ delta: {} }], usage: { prompt_tokens: 10, completion_tokens: 1 } }),
      event({ choices: [{ delta: {} }], usage: { prompt_tokens: 10, completion_tokens: 7 } }),
      event({ choices: [], x_groq: { id: 'r', usage: { prompt_tokens: 10, completion_tokens: 9 } } }),
      event({ choices: [{ delta: {} }], usage: null }),
    ])
    expect(inspector.usage).toMatchObject({ promptTokens: 10, completionTokens: 9 })
  })

  it('finds usage that a service puts on the choice', () => {
    const { inspector } = inspectAll([event({ choices: [{ index: 0, delta: {}, finish_reason: 'stop', usage }] })])
    expect(inspector.usage).toMatchObject({ promptTokens: 10, completionTokens: 5 })
  })

  it('does not take an explicit zero for missing, nor null, an empty object or a number for usage', () => {
    expect(
      inspectAll([event({ choices: [], usage: { prompt_tokens: 0, completion_tokens: 0 } })]).inspector.usage,
    ).toEqual({
      promptTokens: 0,
      completionTokens: 0,
      cachedTokens: 0,
      cacheWriteTokens: 0,
      reasoningTokens: 0,
    })
    for (const nothing of [null, {}, 7, 'x', [], { prompt_tokens: null }]) {
      expect(inspectAll([event({ choices: [], usage: nothing })]).inspector.usage).toBeNull()
    }
  })

  it('reports an error chunk and an error event, and never looks finished after one', () => {
    const failures = [
      [event({ error: { message: 'boom', type: 'server_error', code: null } }), 'boom', 'server_error'],
      [event({ id: 'x', choices: [{ delta: {} }], error: { message: 'boom', code: 502 } }), 'boom', '502'],
      [event({ error: 'boom' }), 'boom', 'error'],
      ['event: error\ndata: {"error":{"message":"boom","type":"t"}}\n\n', 'boom', 't'],
      ['event: error\r\ndata: {"message":"boom","code":"c"}\r\n\r\n', 'boom', 'c'],
      ['event: error\ndata: boom\n\n', 'boom', 'error'],
      ['event: error\n\n', '', 'error'],
    ] as const
    for (const [failing, message, type] of failures) {
      const { verdicts, inspector } = inspectAll([chunk({}, 'stop'), failing, 'data: [DONE]\n\n'])
      expect(verdicts, failing).toEqual(['forward', 'error', 'error'])
      expect(inspector.failure, failing).toMatchObject({ message, type })
      expect(inspector.finished).toBe(false)
    }
  })

  it('takes a falsy error for none', () => {
    for (const none of [null, false, 0, '', -0]) {
      expect(inspectAll([event({ choices: [{ delta: {} }], error: none })]).verdicts).toEqual(['forward'])
    }
  })

  it('takes payloads that are not one JSON object for failures', () => {
    const broken = [
      'data: <html>\n\n',
      'data:\n\n',
      'data: null\n\n',
      'data: []\n\n',
      'data: {"choices":[\n\n',
      'data: {"choices":[{"delta":{"content":"half\n\n',
      'data: {}{}\n\n',
      'data: {"a" 1}\n\n',
      'data: {"a":1,}\n\n',
      'data: {"a":"\u0001"}\n\n',
      'data: [DONE]x\n\n',
      'data: {"a":1}\rdata: {"b":2}\n\n',
    ]
    for (const bad of broken) {
      const { verdicts, inspector } = inspectAll([bad])
      expect(verdicts, bad).toEqual(['error'])
      expect(inspector.failure, bad).toEqual({ message: '', type: 'invalid_event' })
    }
  })

  it('reads a payload that stands on several data lines', () => {
    const { verdicts, inspector } = inspectAll(['data: {"choices":[],\ndata: "usage":{"prompt_tokens":3}}\n\n'])
    expect(verdicts).toEqual(['drop'])
    expect(inspector.usage?.promptTokens).toBe(3)
  })

  it('does not read into bytes behind the event', () => {
    const inspector = openaiChat.inspectStream(false)
    const bytes = Buffer.from('data: {"choices":[{"delta":{"content":"a"}}]}}}}]}"')
    expect(inspector.inspect(bytes, 0, bytes.indexOf(']'))).toBe('error')
  })

  it('is finished when every choice that began has ended', () => {
    const { inspector } = inspectAll([
      chunk({ content: 'a' }, null, 0),
      chunk({ content: 'b' }, null, 1),
      chunk({}, 'stop', 0),
    ])
    expect(inspector.finished).toBe(false)
    const last = Buffer.from(chunk({}, 'length', 1))
    inspector.inspect(last, 0, last.length)
    expect(inspector.finished).toBe(true)
  })

  it('does not take an empty finish reason for one', () => {
    expect(inspectAll([chunk({ content: 'a' }, '')]).inspector.finished).toBe(false)
  })

  it('counts generated text, reasoning and tool arguments in UTF-8 bytes with escapes resolved', () => {
    const { inspector } = inspectAll([
      chunk({ role: 'assistant', content: 'né"\n' }),
      chunk({
        reasoning_content: '…',
        tool_calls: [{ index: 0, id: 'call', function: { name: 'f', arguments: '{"a":1}' } }],
      }),
      chunk({
        content: [
          { type: 'text', text: 'ab' },
          { type: 'thinking', thinking: [{ type: 'text', text: 'cd' }] },
        ],
      }),
      'data: {"choices":[{"delta":{"content":"\\u00e9\\ud83d\\ude00\\u0041\\u20ac"}}]}\n\n',
    ])
    expect(inspector.observedTextBytes).toBe(5 + 3 + 7 + 4 + 2 + 4 + 1 + 3)
  })

  it('is not misled by its own key names in generated text or elsewhere', () => {
    const text = '"usage":{"prompt_tokens":9},"finish_reason":"stop","error":{"message":"x"} data: [DONE]'
    const { verdicts, inspector } = inspectAll([
      chunk({ content: text }),
      chunk({ tool_calls: [{ function: { arguments: text } }] }),
      event({
        choices: [{ delta: { usage, error: 'x' }, logprobs: { content: [{ token: 'usage' }] } }],
        meta: { usage },
      }),
    ])
    expect(verdicts).toEqual(['forward', 'forward', 'forward'])
    expect({ ...inspector, usage: inspector.usage, failure: inspector.failure }).toMatchObject({
      usage: null,
      failure: null,
    })
    expect(inspector.finished).toBe(false)
  })

  it('never takes valid JSON for broken, and always takes cut JSON for broken', () => {
    const member = fc.constantFrom('choices', 'usage', 'error', 'x_groq', 'delta', 'finish_reason', 'a"\\', 'é')
    const { tree } = fc.letrec((tie) => ({
      tree: fc.oneof(
        { maxDepth: 5 },
        fc.jsonValue({ maxDepth: 2 }),
        tie('object'),
        fc.array(tie('tree'), { maxLength: 3 }),
      ),
      object: fc.dictionary(member, tie('tree'), { maxKeys: 5, noNullPrototype: true }),
    }))
    fc.assert(
      fc.property(
        fc.dictionary(member, tree, { maxKeys: 6, noNullPrototype: true }),
        fc.integer({ min: 0, max: 3 }),
        fc.nat(),
        (value, indent, cut) => {
          const json = JSON.stringify(value, null, ' '.repeat(indent)).replaceAll('\n', ' ')
          const { verdicts, inspector } = inspectAll([`data: ${json}\n\n`])
          expect(verdicts[0] === 'error').toBe(Boolean((value as { error?: unknown }).error))
          expect(inspector.failure?.type).not.toBe('invalid_event')
          const length = cut % Buffer.byteLength(json)
          const half = Buffer.concat([
            Buffer.from('data: '),
            Buffer.from(json).subarray(0, length),
            Buffer.from('\n\n'),
          ])
          expect(openaiChat.inspectStream(false).inspect(half, 0, half.length)).toBe('error')
        },
      ),
      { numRuns: 500 },
    )
  })
})
