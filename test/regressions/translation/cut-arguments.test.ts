import { describe, expect, it } from 'vitest'
import type { Json } from '../../support/plain-json.ts'
import { OPTIONS, readBody } from '../../support/translation.ts'
import { clientCodec } from '../../../src/dialects/codecs.ts'

/** The blocks of a whole messages answer to a chat host's call with these arguments. */
function answered(args: string, finish: string): Json {
  const call = { id: 'call_1', type: 'function', function: { name: 'write', arguments: args } }
  const message = { role: 'assistant', content: null, tool_calls: [call] }
  const answer = readBody('openai-chat', {
    id: 'c',
    model: 'm',
    choices: [{ index: 0, message, finish_reason: finish }],
  })
  return clientCodec('anthropic-messages').buildAnswer(answer, OPTIONS).body
}

describe('arguments that are no JSON', () => {
  it.each([
    ['length', 'max_tokens'],
    ['model_length', 'max_tokens'],
    ['content_filter', 'refusal'],
  ])('are {} where the answer was cut (%s)', (finish, stop) => {
    const { content, stop_reason } = answered('{"path":"a.txt","text":"Once up', finish)
    expect([content[0].input, stop_reason]).toEqual([{}, stop])
  })

  it('are kept as they are where the answer ended by itself', () => {
    const { content } = answered('{"path":', 'tool_calls')
    expect(content[0].input).toEqual({ _raw_arguments: '{"path":' })
  })
})
