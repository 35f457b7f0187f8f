import { describe, expect, it } from 'vitest'
import { assembled, indented, preview } from '../../../src/console/pages/requests/answer-text.ts'

const stream = (...events: readonly object[]): string =>
  events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join('')

describe('a streamed answer is put together', () => {
  it('of chat completions, with thinking and calls of tools', () => {
    const delta = (given: object): object => ({ choices: [{ index: 0, delta: given }] })
    const call = (given: object): object => delta({ tool_calls: [{ index: 0, ...given }] })
    const text = `${stream(
      delta({ role: 'assistant', content: '' }),
      delta({ reasoning_content: 'Hm.' }),
      delta({ content: 'Hel' }),
      delta({ content: 'lo' }),
      call({ id: 'call_1', function: { name: 'look_up', arguments: '{"a"' } }),
      call({ function: { arguments: ':1}' } }),
    )}data: [DONE]\n\n`
    expect(assembled(text)).toEqual([
      { kind: 'thinking', name: null, text: 'Hm.' },
      { kind: 'text', name: null, text: 'Hello' },
      { kind: 'tool', name: 'look_up', text: '{"a":1}' },
    ])
  })

  it('of messages, block by block, and with an error at its end', () => {
    const start = (index: number, block: object): object => ({
      type: 'content_block_start',
      index,
      content_block: block,
    })
    const delta = (index: number, given: object): object => ({ type: 'content_block_delta', index, delta: given })
    const text = stream(
      start(0, { type: 'thinking', thinking: '' }),
      delta(0, { type: 'thinking_delta', thinking: 'Hm.' }),
      start(1, { type: 'text', text: '' }),
      delta(1, { type: 'text_delta', text: 'Hello' }),
      start(2, { type: 'tool_use', name: 'look_up', input: {} }),
      delta(2, { type: 'input_json_delta', partial_json: '{"a":1}' }),
      { type: 'error', error: { type: 'overloaded_error', message: 'Overloaded' } },
    )
    expect(assembled(text)?.map(({ kind, text }) => [kind, text])).toEqual([
      ['thinking', 'Hm.'],
      ['text', 'Hello'],
      ['tool', '{"a":1}'],
      ['error', 'Overloaded'],
    ])
  })

  it('of responses', () => {
    const text = stream(
      { type: 'response.reasoning_summary_text.delta', output_index: 0, summary_index: 0, delta: 'Hm.' },
      { type: 'response.output_text.delta', output_index: 1, content_index: 0, delta: 'Hel' },
      { type: 'response.output_text.delta', output_index: 1, content_index: 0, delta: 'lo' },
      { type: 'response.output_item.added', output_index: 2, item: { type: 'function_call', name: 'look_up' } },
      { type: 'response.function_call_arguments.delta', output_index: 2, delta: '{}' },
    )
    expect(assembled(text)?.map(({ kind, name, text }) => [kind, name, text])).toEqual([
      ['thinking', null, 'Hm.'],
      ['text', null, 'Hello'],
      ['tool', 'look_up', '{}'],
    ])
  })

  it('as far as it was kept, and never where it is no stream', () => {
    const text = stream({ choices: [{ index: 0, delta: { content: 'Hel' } }] })
    expect(assembled(`${text}data: {"choices":[{"ind`)).toEqual([{ kind: 'text', name: null, text: 'Hel' }])
    expect(assembled('{"choices":[]}')).toBeNull()
  })
})

describe('a body on a page', () => {
  it('is its first 64 KiB, without half a character', () => {
    expect(preview('short')).toEqual({ shown: 'short', isCut: false })
    // Three bytes each: the last one does not fit.
    const { shown, isCut } = preview('語'.repeat(40_000))
    expect([shown.length, isCut]).toEqual([21_845, true])
    expect(shown).not.toContain('\uFFFD')
  })

  it('is indented where it is JSON', () => {
    expect(indented('{"a":1}')).toBe('{\n  "a": 1\n}')
    expect(indented('{"a":')).toBe('{"a":')
  })
})
