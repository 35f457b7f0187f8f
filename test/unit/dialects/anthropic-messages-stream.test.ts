import { describe, expect, it } from 'vitest'
import type { EventVerdict, StreamInspector } from '../../../src/shared/core/dialect.ts'
import { anthropicMessages } from '../../../src/dialects/anthropic-messages/index.ts'

function inspectAll(events: readonly string[]): { verdicts: EventVerdict[]; inspector: StreamInspector } {
  const inspector = anthropicMessages.inspectStream(true)
  const verdicts = events.map((text) => {
    const bytes = Buffer.from(text)
    return inspector.inspect(bytes, 0, bytes.length)
  })
  return { verdicts, inspector }
}

const event = (value: { type: string; [name: string]: unknown }): string =>
  `event: ${value.type}\ndata: ${JSON.stringify(value)}\n\n`
const start = (usage: unknown): string => event({ type: 'message_start', message: { id: 'm', content: [], usage } })
const blockStart = event({ type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } })
const delta = (value: unknown): string => event({ type: 'content_block_delta', index: 0, delta: value })
const messageDelta = (stopReason: string | null, usage?: unknown): string =>
  event({ type: 'message_delta', delta: { stop_reason: stopReason, stop_sequence: null }, usage })
const stop = event({ type: 'message_stop' })

describe('messages stream inspector', () => {
  it('reads a whole stream: pings forwarded, finished at the stop reason, over at message_stop', () => {
    const { verdicts, inspector } = inspectAll([
      start({ input_tokens: 10, cache_creation_input_tokens: 3, cache_read_input_tokens: 4, output_tokens: 1 }),
      blockStart,
      event({ type: 'ping' }),
      delta({ type: 'text_delta', text: 'Grüße' }),
      delta({ type: 'thinking_delta', thinking: 'hm' }),
      delta({ type: 'input_json_delta', partial_json: '{"a"' }),
      delta({ type: 'signature_delta', signature: 'not counted' }),
      event({ type: 'content_block_stop', index: 0 }),
      messageDelta('end_turn', { output_tokens: 20, output_tokens_details: { thinking_tokens: 6 } }),
      stop,
    ])
    expect(verdicts).toEqual([...Array<EventVerdict>(9).fill('forward'), 'terminal'])
    expect(inspector.finished).toBe(true)
    expect(inspector.observedTextBytes).toBe(7 + 2 + 4)
    expect(inspector.usage).toEqual({
      promptTokens: 17,
      completionTokens: 20,
      cachedTokens: 4,
      cacheWriteTokens: 3,
      reasoningTokens: 6,
    })
  })

  it('overwrites what a later usage names and keeps the rest, null included', () => {
    const { inspector } = inspectAll([
      start({ input_tokens: 10, cache_read_input_tokens: 5, output_tokens: 1 }),
      messageDelta(null, { output_tokens: 8, input_tokens: 12, cache_read_input_tokens: null }),
      messageDelta('end_turn', { output_tokens: 9 }),
    ])
    expect(inspector.usage).toMatchObject({ promptTokens: 17, completionTokens: 9, cachedTokens: 5 })
  })

  it('is not finished without a stop reason', () => {
    expect(inspectAll([start({}), messageDelta(null, {})]).inspector.finished).toBe(false)
    expect(inspectAll([start({})]).inspector.usage).toBeNull()
  })

  it('reports errors by event name or by type, and never looks finished after one', () => {
    const failures = [
      event({ type: 'error', error: { type: 'overloaded_error', message: 'Overloaded' } }),
      'event: error\ndata: {"error":{"type":"overloaded_error","message":"Overloaded"}}\n\n',
      'data: {"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}\n\n',
      'event: message_delta\ndata: {"error":{"type":"overloaded_error","message":"Overloaded"}}\n\n',
    ]
    for (const failing of failures) {
      const { verdicts, inspector } = inspectAll([messageDelta('end_turn', {}), failing, stop])
      expect(verdicts, failing).toEqual(['forward', 'error', 'error'])
      expect(inspector.failure, failing).toEqual({ type: 'overloaded_error', message: 'Overloaded' })
      expect(inspector.finished).toBe(false)
    }
  })

  it('leaves a second message_start out before content, and fails on one that splices two answers', () => {
    expect(inspectAll([start({ input_tokens: 1 }), start({ input_tokens: 2 }), blockStart]).verdicts).toEqual([
      'forward',
      'drop',
      'forward',
    ])
    expect(inspectAll([start({}), blockStart, start({})]).verdicts).toEqual(['forward', 'forward', 'error'])
  })

  it('takes broken JSON for a failure, and leaves out the other dialect’s end marker', () => {
    for (const bad of [
      'event: ping\ndata: ping\n\n',
      'data: {"type":"content_block_delta","del\n\n',
      'event: x\ndata:\n\n',
    ]) {
      const { verdicts, inspector } = inspectAll([bad])
      expect(verdicts, bad).toEqual(['error'])
      expect(inspector.failure?.type).toBe('invalid_event')
    }
    expect(inspectAll(['data: [DONE]\n\n']).verdicts).toEqual(['drop'])
  })

  it('forwards unknown events, comments and padding', () => {
    const events = [
      ': hi\n\n',
      event({ type: 'new_thing', usage: { input_tokens: 5 } }),
      'event: x\ndata: {"type":"ping"   }\n\n',
    ]
    const { verdicts, inspector } = inspectAll(events)
    expect(verdicts).toEqual(['forward', 'forward', 'forward'])
    expect(inspector.usage).toBeNull()
  })

  it('drops what comes behind message_stop', () => {
    expect(inspectAll([stop, start({ input_tokens: 5 })]).verdicts).toEqual(['terminal', 'drop'])
    expect(inspectAll([stop, start({ input_tokens: 5 })]).inspector.usage).toBeNull()
  })

  it('does not count what a server tool returned as generated text', () => {
    const { inspector } = inspectAll([
      event({
        type: 'content_block_start',
        index: 1,
        content_block: { type: 'web_search_tool_result', content: [{ type: 'x', text: 'a page', content: 'a page' }] },
      }),
    ])
    expect(inspector.observedTextBytes).toBe(0)
  })
})
