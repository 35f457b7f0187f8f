import { expect, it } from 'vitest'
import { ERROR_CODES, GatewayError } from '../../../src/shared/core/errors.ts'
import { newRequestId } from '../../../src/shared/core/request-id.ts'

it('makes what is thrown by accident an INTERNAL that tells nothing of it', () => {
  for (const cause of [new Error('password=hunter2'), 'password=hunter2', null, { a: 1 }]) {
    const error = GatewayError.from(cause)
    expect(error).toMatchObject({ code: 'INTERNAL', status: 500, type: 'server_error', retryable: false })
    expect(error.message).not.toContain('hunter2')
    expect(error.cause).toBe(cause)
  }
})

it('leaves a GatewayError as it is', () => {
  const error = new GatewayError('RPM_EXCEEDED', { retryAfterSeconds: 3 })
  expect(GatewayError.from(error)).toBe(error)
})

it('has a stack only where nobody knows what happened, and leaves those of other errors', () => {
  const frames = (error: Error): number => (error.stack ?? '').split('\n    at ').length - 1
  expect(frames(new GatewayError('KEY_UNKNOWN'))).toBe(0)
  expect(frames(new GatewayError('GATEWAY_OVERLOADED'))).toBe(0)
  expect(frames(new GatewayError('INTERNAL'))).toBeGreaterThan(1)
  expect(frames(new Error('another'))).toBeGreaterThan(1)
})

it('gives each code the type that its status has everywhere', () => {
  const types: Readonly<Record<number, readonly string[]>> = {
    401: ['auth_error'],
    403: ['access_denied'],
    429: ['rate_limit', 'quota_exhausted'],
    500: ['server_error'],
    503: ['service_unavailable'],
  }
  for (const [code, { status, type, retryable, source }] of Object.entries(ERROR_CODES)) {
    expect(types[status] ?? ['invalid_request'], code).toContain(type)
    if (retryable) expect(source, code).toBe('upstream')
  }
})

it('makes request ids that never repeat and sort by time', () => {
  const ids = Array.from({ length: 200_000 }, () => newRequestId(1_700_000_000_000))
  expect(new Set(ids).size).toBe(ids.length)
  expect(newRequestId(1_700_000_000_001) > (ids[0] ?? '')).toBe(true)
  for (const id of ids.slice(0, 10)) expect(id).toMatch(/^req_[0-9a-z]+$/)
})
