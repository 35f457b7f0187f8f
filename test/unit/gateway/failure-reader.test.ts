import { expect, it } from 'vitest'
import type { GatewayError } from '../../../src/shared/core/errors.ts'
import { dialectOf } from '../../../src/dialects/codecs.ts'
import type { Answer, AttemptControl } from '../../../src/front/gateway/answer-receiver.ts'
import { FailureReader } from '../../../src/front/gateway/buffered-relay.ts'

const CHUNK = Buffer.alloc(30_000, 'x')

it.each([
  [{}, 34.07],
  [{ 'retry-after': '2' }, 2],
])('takes the wait that Google asks for from the body, unless a header tells one: %j', (headers, seconds) => {
  const details = [
    { '@type': 'type.googleapis.com/google.rpc.QuotaFailure', violations: [] },
    { '@type': 'type.googleapis.com/google.rpc.RetryInfo', retryDelay: '34.07s' },
  ]
  const error = { code: 429, message: 'You exceeded your current quota.', status: 'RESOURCE_EXHAUSTED', details }
  const errors: GatewayError[] = []
  const answer = { dialect: dialectOf('openai-chat'), status: 429, headers, redact: (text: string) => text }
  const control = { failed: (failure: GatewayError) => errors.push(failure) }
  const reader = new FailureReader(answer as unknown as Answer, control as unknown as AttemptControl)
  reader.data(Buffer.from(JSON.stringify({ error })))
  reader.end()
  expect(errors).toMatchObject([{ code: 'UPSTREAM_RATE_LIMITED', retryAfterSeconds: seconds }])
})

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
