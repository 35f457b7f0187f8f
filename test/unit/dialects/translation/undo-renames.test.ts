import { describe, expect, it } from 'vitest'
import type { StreamEvent } from '../../../../src/shared/core/stream-event.ts'
import { StreamRenameUndoer, undoRenames } from '../../../../src/dialects/common/undo-renames.ts'
import { replayAnswer } from '../../../../src/dialects/common/replay-answer.ts'
import type { Json } from '../../../support/plain-json.ts'
import { answerOf, collect, encodeStream, readBody, translateRequest } from '../../../support/translation.ts'

const ASK = { role: 'user', content: 'go' }

/** A messages upstream's answer that uses the first tool it was given, brought back; whole and streamed. */
function answerTo(request: Json, input: Json, target = {}): { whole: Json; streamed: string } {
  const { body, restoration } = translateRequest('openai-chat', 'anthropic-messages', request, target)
  if (restoration === null) throw new Error('There is nothing to restore.')
  const answer = readBody('anthropic-messages', {
    id: 'msg_1',
    content: [{ type: 'tool_use', id: 't', name: body.tools[0].name, input }],
    stop_reason: 'tool_use',
    usage: { input_tokens: 1, output_tokens: 1 },
  })
  const restorer = new StreamRenameUndoer(restoration)
  const events: StreamEvent[] = []
  for (const event of replayAnswer(answer)) restorer.restore(event, events)
  const whole = undoRenames(answer, restoration)
  const { content, stop } = answerOf(collect(events))
  expect({ content: content.map(({ type }) => type), stop: stop.reason }).toEqual({
    content: whole.content.map(({ type }) => type),
    stop: whole.stop.reason,
  })
  return { whole, streamed: encodeStream('openai-chat', events) }
}

describe('a request that could not be said as it was is undone in its answer', () => {
  it('gives tools their names back', () => {
    const name = 'mcp server.find/files'
    const tools = [{ type: 'function', function: { name } }]
    const { whole, streamed } = answerTo({ messages: [ASK], tools }, { x: 1 })
    expect(whole.content[0]).toMatchObject({ name, kind: 'function', input: { x: 1 } })
    expect(streamed).toContain(`"name":"${name}"`)
  })

  it('uses one name for a tool in its declaration, the choice and the history', () => {
    const name = 'find files'
    const call = { id: 'a', type: 'function', function: { name, arguments: '{}' } }
    const { body } = translateRequest('openai-chat', 'anthropic-messages', {
      messages: [ASK, { role: 'assistant', tool_calls: [call] }, { role: 'tool', tool_call_id: 'a', content: 'x' }],
      tools: [{ type: 'function', function: { name } }],
      tool_choice: { type: 'function', function: { name } },
    })
    const upstream: string = body.tools[0].name
    expect(upstream).toMatch(/^[A-Za-z0-9_-]{1,64}$/)
    expect([body.tool_choice.name, body.messages[1].content[0].name]).toEqual([upstream, upstream])
  })

  it('gives a tool of free text its text', () => {
    const tools = [{ type: 'custom', custom: { name: 'shell' } }]
    const { whole, streamed } = answerTo({ messages: [ASK], tools }, { input: 'ls "x"' })
    expect(whole.content[0]).toMatchObject({ kind: 'custom', name: 'shell', input: 'ls "x"' })
    expect(streamed).toContain('"type":"custom","custom":{"name":"shell","input":""}')
    expect(streamed).toContain('"custom":{"input":"ls \\"x\\""}')
  })

  it('makes an answer of the tool that was forced for its schema', () => {
    const schema = { type: 'object', properties: { a: { type: 'number' } } }
    const request = { messages: [ASK], response_format: { type: 'json_schema', json_schema: { name: 'o', schema } } }
    const { whole, streamed } = answerTo(request, { a: 1 }, { schemaOutput: 'tool' })
    expect(whole).toMatchObject({ content: [{ type: 'text', text: '{"a":1}' }], stop: { reason: 'end' } })
    expect(streamed).toContain('"content":"{\\"a\\":1}"')
    expect(streamed).toContain('"finish_reason":"stop"')
  })

  it('calls functions of the older kind in their own way', () => {
    const { streamed } = answerTo(
      { messages: [ASK], functions: [{ name: 'f', parameters: { type: 'object' } }] },
      { x: 1 },
    )
    expect(streamed).toContain('"function_call":{"name":"f","arguments":""}')
    expect(streamed).toContain('"finish_reason":"function_call"')
  })
})
