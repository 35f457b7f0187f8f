import { expect, it } from 'vitest'
import type { Answer, AttemptControl } from '../../../src/gateway/answer-receiver.ts'
import { BufferedRelay } from '../../../src/gateway/buffered-relay.ts'
import { memoryInUse } from '../../support/memory-in-use.ts'

const BYTES = 4 * 1024 * 1024

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
