import { expect, it } from 'vitest'
import type { Answer, AttemptControl } from '../../../src/front/gateway/answer-receiver.ts'
import { FailureReader } from '../../../src/front/gateway/buffered-relay.ts'

const CHUNK = Buffer.alloc(30_000, 'x')

it('reads of an error answer that is too long what came before its bound, and nothing behind it', () => {
  const bodies: Buffer[] = []
  let failed = 0
  const readFailure = (_status: number, body: Buffer): { message: string } => {
    bodies.push(body)
    return { message: 'no' }
  }
  const answer = { dialect: { readFailure }, status: 400, headers: {}, redact: (text: string) => text }
  const control = { failed: () => (failed += 1) }
  const reader = new FailureReader(answer as unknown as Answer, control as unknown as AttemptControl)
  for (let n = 0; n < 4; n++) reader.data(CHUNK)
  reader.end()
  expect(failed).toBe(1)
  expect(bodies.map((body) => body.equals(Buffer.concat([CHUNK, CHUNK])))).toEqual([true])
})
