import { expect, it } from 'vitest'
import type { Answer, AttemptControl } from '../../../src/front/gateway/answer-receiver.ts'
import { BufferedRelay } from '../../../src/front/gateway/buffered-relay.ts'
import { memoryInUse } from '../../support/memory-in-use.ts'
import { BODY, makeContext } from './context.ts'

const BYTES = 4 * 1024 * 1024

/** How often the upstream was said not to be idle while these chunks came. */
function progressOf(unasked: 'events' | null, chunks: readonly string[]): number {
  let progress = 0
  const control = {
    progressed: () => {
      progress += 1
    },
  } as unknown as AttemptControl
  const answer = {
    ctx: makeContext().ctx,
    body: BODY,
    translation: unasked === null ? null : { upstream: 'openai-chat', unasked: { form: unasked } },
    clock: { now: () => 1_000, monotonicUs: () => 6_000 },
  } as unknown as Answer
  const relay = new BufferedRelay(answer, control, () => expect.unreachable(), 10_000)
  for (const chunk of chunks) relay.data(Buffer.from(chunk))
  return progress
}

it('counts events and comments of an answer that comes as a stream unasked', () => {
  expect(progressOf('events', [': alive\n\n', 'data: {"cho', 'ices":[]}\n', '\n', ': alive\n'])).toBe(3)
})

it('leaves it to the bytes of any other answer whether the upstream is idle', () => {
  expect(progressOf(null, ['{', '"a":', '\n\n', '1}'])).toBe(0)
})

it('holds an answer that comes byte by byte in at most twice its memory', () => {
  const ctx = { startUs: 0, ttftUs: null }
  const answer = { ctx, clock: { monotonicUs: () => 1 } } as unknown as Answer
  const read: Buffer[] = []
  const relay = new BufferedRelay(
    answer,
    { failed: () => undefined } as unknown as AttemptControl,
    (_answer, body) => {
      read.push(body)
      throw new SyntaxError('no JSON')
    },
    BYTES,
  )
  const byte = Buffer.from('x')
  const before = memoryInUse()
  for (let at = 0; at < BYTES; at++) relay.data(byte)
  expect(memoryInUse() - before).toBeLessThanOrEqual(2 * BYTES)
  relay.end()
  expect(read.map(({ length }) => length)).toEqual([BYTES])
})
