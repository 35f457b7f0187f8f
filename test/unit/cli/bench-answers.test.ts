import { describe, expect, it } from 'vitest'
import { AnswerReader } from '../../../src/cli/bench/answer-reader.ts'
import { Latencies } from '../../../src/cli/bench/latencies.ts'
import { shownTail } from '../../../src/cli/bench/shown.ts'
import { bestUnder } from '../../../src/cli/bench/text-report.ts'

function read(body: string, isStream: boolean, size = body.length): { reader: AnswerReader; events: number } {
  let events = 0
  const reader = new AnswerReader(isStream, () => (events += 1))
  const bytes = Buffer.from(body)
  for (let at = 0; at < bytes.length; at += size) reader.push(bytes.subarray(at, at + size))
  reader.end()
  return { reader, events }
}

const chat = (content: string): string => `data: ${JSON.stringify({ choices: [{ delta: { content } }] })}\n\n`
const CHAT = `${chat('')}${chat('1')}: ping\n\n${chat(' 2')}data: {"choices":[],"usage":{"prompt_tokens":7,"completion_tokens":2}}\n\ndata: [DONE]\n\n`
const MESSAGES = [
  { type: 'message_start', message: { usage: { input_tokens: 5, cache_read_input_tokens: 2, output_tokens: 1 } } },
  { type: 'content_block_delta', delta: { type: 'text_delta', text: '1' } },
  { type: 'content_block_delta', delta: { type: 'text_delta', text: ' 2' } },
  { type: 'message_delta', delta: {}, usage: { output_tokens: 2 } },
  { type: 'message_stop' },
]
  .map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`)
  .join('')

describe('an answer', () => {
  it.each([
    ['chat', CHAT],
    ['messages', MESSAGES],
  ])('of a %s stream is read in pieces of any size', (_, body) => {
    for (const size of [1, 7, body.length]) {
      const { reader, events } = read(body, true, size)
      expect([reader.text, events, reader.usage, reader.streamFault]).toEqual([
        '1 2',
        2,
        { prompt: 7, completion: 2 },
        null,
      ])
    }
  })

  it('that is whole is read, too', () => {
    const { reader } = read(
      '{"content":[{"type":"text","text":"1 2"}],"usage":{"input_tokens":7,"output_tokens":2}}',
      false,
    )
    expect([reader.text, reader.usage]).toEqual(['1 2', { prompt: 7, completion: 2 }])
    expect(read('{"error":{"code":"MODEL_NOT_FOUND"}}', false).reader.error).toBe('MODEL_NOT_FOUND')
  })

  it.each([
    [chat('1'), 'no terminal event'],
    [`${CHAT}data: [DONE]\n\n`, '2 terminal events'],
    [`${chat('1')}data: {"error":{"code":"UPSTREAM_TRUNCATED"}}\n\n`, 'UPSTREAM_TRUNCATED'],
    [`data: {"choices\n\ndata: [DONE]\n\n`, 'not JSON'],
  ])('that is damaged has a fault', (body, says) => {
    expect(read(body, true).reader.streamFault).toContain(says)
  })
})

it('sums up latencies with three digits, and draws no share that was not measured', () => {
  const summary = Latencies.of(Array.from({ length: 200 }, (_, index) => index + 1)).summary()
  expect(summary?.count).toBe(200)
  expect(summary?.p50).toBeCloseTo(100, -1)
  expect(summary?.p99).toBeCloseTo(198, 0)
  expect(summary?.max).toBeCloseTo(200, 0)
  expect(summary?.curve.map(([share]) => share)).toEqual([0, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99, 0.995, 1])
  expect(new Latencies().summary()).toBeNull()
})

it('shows the longest of too few values in place of a 99th percentile', () => {
  const shown = (count: number): string => shownTail(Latencies.of(Array.from({ length: count }, () => 7)).summary())
  expect([shown(100), shown(99), shown(1), shown(0)]).toEqual(['7.00 ms', '≤ 7.00 ms (99)', '≤ 7.00 ms (1)', ''])
})

it('takes the best throughput among the steps within a bound', () => {
  const steps = [
    { connections: 1, perSecond: 100, p50: 1, p99: 3 },
    { connections: 2, perSecond: 180, p50: 1, p99: 8 },
    { connections: 4, perSecond: 150, p50: 2, p99: 9 },
  ]
  expect([1, 5, 10].map((bound) => bestUnder(steps, bound))).toEqual([null, 100, 180])
})
