import { describe, expect, it } from 'vitest'
import type { ErrorCode } from '../../../src/shared/core/errors.ts'
import { ERROR_CODES, GatewayError } from '../../../src/shared/core/errors.ts'
import { classifyFailure, classifyStatus, outcomeOf } from '../../../src/front/gateway/classify.ts'

const SECRET = 'sk-upstream-secret'
const redact = (text: string): string => text.replaceAll(SECRET, '…')
const failure = { message: `bad key ${SECRET}`, type: 'some_error' }

describe('an HTTP status of an upstream', () => {
  it.each<[number, ErrorCode]>([
    [400, 'UPSTREAM_INVALID_REQUEST'],
    [401, 'UPSTREAM_AUTH'],
    [402, 'UPSTREAM_AUTH'],
    [403, 'UPSTREAM_AUTH'],
    [404, 'UPSTREAM_NOT_FOUND'],
    [405, 'UPSTREAM_NOT_FOUND'],
    [407, 'UPSTREAM_UNREACHABLE'],
    [408, 'UPSTREAM_TIMEOUT'],
    [409, 'UPSTREAM_ERROR'],
    [413, 'UPSTREAM_BODY_TOO_LARGE'],
    [415, 'UPSTREAM_INVALID_REQUEST'],
    [418, 'UPSTREAM_INVALID_REQUEST'],
    [422, 'UPSTREAM_INVALID_REQUEST'],
    [424, 'UPSTREAM_ERROR'],
    [429, 'UPSTREAM_RATE_LIMITED'],
    [500, 'UPSTREAM_ERROR'],
    [502, 'UPSTREAM_ERROR'],
    [503, 'UPSTREAM_OVERLOADED'],
    [504, 'UPSTREAM_TIMEOUT'],
    [529, 'UPSTREAM_OVERLOADED'],
    [599, 'UPSTREAM_ERROR'],
    [301, 'UPSTREAM_ERROR'],
    [307, 'UPSTREAM_ERROR'],
    [204, 'UPSTREAM_ERROR'],
  ])('of %i is %s', (status, code) => {
    expect(classifyStatus(status, {}, failure, redact).code).toBe(code)
  })

  it('never lets a credential of ours into the message or the detail, and shows what is the request’s fault', () => {
    for (let status = 200; status < 600; status++) {
      const error = classifyStatus(status, {}, failure, redact)
      expect(`${error.message} ${error.detail}`).not.toContain(SECRET)
      const ours = ['UPSTREAM_INVALID_REQUEST', 'UPSTREAM_BODY_TOO_LARGE'].includes(error.code)
      expect(error.message === 'bad key …').toBe(ours)
      expect(error.retryable).toBe(!ours)
    }
  })

  it('has our text where the provider gave none', () => {
    const { message } = classifyStatus(400, {}, { message: '', type: '' }, redact)
    expect(message).toBe(ERROR_CODES.UPSTREAM_INVALID_REQUEST.text)
  })
})

describe('an exception frame of Bedrock', () => {
  it.each<[string, ErrorCode]>([
    ['validationException', 'UPSTREAM_INVALID_REQUEST'],
    ['throttlingException', 'UPSTREAM_RATE_LIMITED'],
    ['modelTimeoutException', 'UPSTREAM_TIMEOUT'],
    ['modelStreamErrorException', 'UPSTREAM_ERROR'],
    ['internalServerException', 'UPSTREAM_ERROR'],
    ['serviceUnavailableException', 'UPSTREAM_OVERLOADED'],
    ['madeUpException', 'UPSTREAM_ERROR'],
  ])('of the type %s is %s', (type, code) => {
    expect(classifyFailure({ message: 'x', type }, redact).code).toBe(code)
  })
})

describe('the wait that an upstream asks for', () => {
  const wait = (headers: Record<string, string | string[]>): number | null =>
    classifyStatus(429, headers, failure, redact).retryAfterSeconds

  it.each([
    [{ 'retry-after': '7' }, 7],
    [{ 'retry-after': '0' }, 0],
    [{ 'retry-after': '1.5' }, 1.5],
    [{ 'retry-after-ms': '1500' }, 1.5],
    [{ 'retry-after-ms': '500', 'retry-after': '9' }, 0.5],
    [{ 'retry-after': ['3', '4'] }, 3],
    [{ 'retry-after': 'soon' }, null],
    [{ 'retry-after-ms': 'soon', 'retry-after': '2' }, 2],
    [{ 'retry-after': 'Wed, 21 Oct 2015 07:28:00 GMT' }, 0],
    [{}, null],
  ])('of %j is %j seconds', (headers, seconds) => {
    expect(wait(headers as Record<string, string>)).toBe(seconds)
  })

  it('may be a date', () => {
    const seconds = wait({ 'retry-after': new Date(Date.now() + 60_000).toUTCString() })
    expect(seconds).toBeGreaterThan(30)
    expect(seconds).toBeLessThanOrEqual(60)
  })
})

describe('an error inside a 200', () => {
  it.each<[string, ErrorCode]>([
    ['invalid_request_error', 'UPSTREAM_INVALID_REQUEST'],
    ['authentication_error', 'UPSTREAM_AUTH'],
    ['insufficient_quota', 'UPSTREAM_AUTH'],
    ['not_found_error', 'UPSTREAM_NOT_FOUND'],
    ['request_too_large', 'UPSTREAM_BODY_TOO_LARGE'],
    ['rate_limit_error', 'UPSTREAM_RATE_LIMITED'],
    ['overloaded_error', 'UPSTREAM_OVERLOADED'],
    ['timeout_error', 'UPSTREAM_TIMEOUT'],
    ['what_nobody_knows', 'UPSTREAM_ERROR'],
    ['', 'UPSTREAM_ERROR'],
  ])('of type %j is %s', (type, code) => {
    expect(classifyFailure({ message: 'x', type }, redact).code).toBe(code)
  })

  // A provider chooses its `type`: it must not reach into the prototype of the table.
  it.each(['constructor', '__proto__', 'toString', 'hasOwnProperty'])('of type %s is nothing special', (type) => {
    expect(classifyFailure({ message: 'x', type }, redact).code).toBe('UPSTREAM_ERROR')
  })
})

it('tells the scheduler of each code what it says about the key', () => {
  const kinds = new Map(
    (Object.keys(ERROR_CODES) as ErrorCode[])
      .filter((code) => code.startsWith('UPSTREAM_'))
      .map((code) => [code, outcomeOf(new GatewayError(code, { retryAfterSeconds: 3 })).kind]),
  )
  expect(Object.fromEntries(kinds)).toEqual({
    UPSTREAM_INVALID_REQUEST: 'refused',
    UPSTREAM_BODY_TOO_LARGE: 'refused',
    UPSTREAM_AUTH: 'unauthorised',
    UPSTREAM_RATE_LIMITED: 'rate-limited',
    UPSTREAM_OVERLOADED: 'rate-limited',
    UPSTREAM_NOT_FOUND: 'refused',
    UPSTREAM_ERROR: 'failed',
    UPSTREAM_UNREACHABLE: 'unreachable',
    UPSTREAM_TIMEOUT: 'failed',
    UPSTREAM_INVALID_ANSWER: 'failed',
    UPSTREAM_TRUNCATED: 'failed',
  })
  expect(outcomeOf(new GatewayError('UPSTREAM_RATE_LIMITED', { retryAfterSeconds: 3 }))).toEqual({
    kind: 'rate-limited',
    retryAfterSeconds: 3,
  })
})

it.each(['INTERNAL', 'WORKERS_BUSY', 'JOURNAL_UNAVAILABLE'] as const)('says nothing about the key for %s', (code) => {
  expect(outcomeOf(new GatewayError(code))).toEqual({ kind: 'abandoned' })
})

it('takes a 429 for want of money as a refused credential, not as one to be tried again soon', () => {
  const error = classifyStatus(429, {}, { message: 'You exceeded your quota', type: 'insufficient_quota' }, redact)
  expect(error.code).toBe('UPSTREAM_AUTH')
})
