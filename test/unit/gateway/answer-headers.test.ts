import { expect, it } from 'vitest'
import { ENDPOINTS } from '../../../src/shared/endpoints/index.ts'
import { GatewayError } from '../../../src/shared/core/errors.ts'
import type { HeaderList } from '../../../src/shared/core/exchange.ts'
import {
  answerHeaders,
  bufferedHeaders,
  errorHeaders,
  streamHeaders,
} from '../../../src/front/gateway/answer-headers.ts'
import { makeContext } from './context.ts'

const named = (headers: HeaderList): Record<string, string> =>
  Object.fromEntries(headers.map(([name, value]) => [name, String(value)]))

it('tells what the key has left once the caller is known, and not before', () => {
  const { ctx } = makeContext()
  expect(Object.keys(named(answerHeaders(ctx, 'application/json', 6_000)))).toEqual([
    'Content-Type',
    'X-Request-Id',
    'Server-Timing',
  ])
  ctx.rateLimits = () => ({
    limitRequests: 60,
    remainingRequests: 59.9,
    resetRequestsSeconds: 0.1,
    limitTokens: 1_000,
    remainingTokens: 0,
    resetTokensSeconds: 59.2,
  })
  expect(named(answerHeaders(ctx, 'application/json', 6_000))).toMatchObject({
    'X-RateLimit-Limit-Requests': '60',
    'X-RateLimit-Remaining-Requests': '59',
    'X-RateLimit-Reset-Requests': '1',
    'X-RateLimit-Limit-Tokens': '1000',
    'X-RateLimit-Remaining-Tokens': '0',
    'X-RateLimit-Reset-Tokens': '60',
  })
})

it('names the request twice in the messages protocol', () => {
  expect(named(answerHeaders(makeContext(ENDPOINTS.messages).ctx, 'a', 0))).toMatchObject({
    'X-Request-Id': 'req_1',
    'request-id': 'req_1',
  })
  expect(named(answerHeaders(makeContext().ctx, 'a', 0))['request-id']).toBeUndefined()
})

it('counts as overhead what was not waiting for an upstream, never less than nothing', () => {
  const { ctx } = makeContext()
  ctx.waitedUs = 2_000
  const timing = (nowUs: number): string => named(answerHeaders(ctx, 'a', nowUs))['Server-Timing'] ?? ''
  expect(timing(10_000)).toContain('overhead;dur=3.00')
  expect(timing(6_000)).toContain('overhead;dur=0.00')
  for (const phase of ['auth', 'limit', 'queue', 'translate', 'upstream']) expect(timing(0)).toContain(`${phase};dur=`)
})

it('forwards two headers of the upstream and no other', () => {
  const upstream = {
    'openai-version': '1',
    'openai-processing-ms': '5',
    'set-cookie': 'a=b',
    server: 'x',
    'x-request-id': 'theirs',
    'openai-organization': 'our-account',
    'content-length': '7',
    'transfer-encoding': 'chunked',
    'retry-after': '3',
  }
  for (const headers of [
    streamHeaders(makeContext().ctx, upstream, 0),
    bufferedHeaders(makeContext().ctx, upstream, 0),
  ]) {
    expect(named(headers)).toMatchObject({
      'openai-version': '1',
      'openai-processing-ms': '5',
      'X-Request-Id': 'req_1',
    })
    const names = headers.map(([name]) => name.toLowerCase())
    for (const name of [
      'set-cookie',
      'server',
      'openai-organization',
      'content-length',
      'transfer-encoding',
      'retry-after',
    ])
      expect(names).not.toContain(name)
    expect(new Set(names).size).toBe(names.length)
  }
})

it('keeps proxies from holding a stream back', () => {
  expect(named(streamHeaders(makeContext().ctx, {}, 0))).toMatchObject({
    'Content-Type': 'text/event-stream; charset=utf-8',
    'Cache-Control': 'no-cache',
    'X-Accel-Buffering': 'no',
  })
})

it('rounds the wait up, to a second at least', () => {
  const wait = (retryAfterSeconds: number): string | undefined =>
    named(errorHeaders(makeContext().ctx, new GatewayError('RPM_EXCEEDED', { retryAfterSeconds }), 0))['Retry-After']
  expect([0, 0.1, 1, 1.01, 59.5].map(wait)).toEqual(['1', '1', '1', '2', '60'])
  expect(named(errorHeaders(makeContext().ctx, new GatewayError('INVALID_JSON'), 0))['Retry-After']).toBeUndefined()
})

it('tells clients not to repeat what a used-up budget refused', () => {
  const retried = (code: 'BUDGET_EXHAUSTED' | 'RPM_EXCEEDED'): string | undefined =>
    named(errorHeaders(makeContext().ctx, new GatewayError(code), 0))['x-should-retry']
  expect([retried('BUDGET_EXHAUSTED'), retried('RPM_EXCEEDED')]).toEqual(['false', undefined])
})
