import type { UpstreamFailure } from '../../shared/core/dialect.ts'
import type { AttemptOutcome } from '../../shared/core/deployment.ts'
import { GatewayError } from '../../shared/core/errors.ts'
import type { ErrorCode, ErrorDetails } from '../../shared/core/errors.ts'
import { EXCEPTION_STATUS } from '../../dialects/bedrock-converse/errors.ts'
import type { UpstreamHeaders } from '../upstream/upstream-client.ts'
import { ruleFor } from './failure-rules.ts'

/** The error code for an upstream's status. Any other 4xx is the request's fault, any other status the upstream's. */
const BY_STATUS: Readonly<Record<number, ErrorCode>> = {
  400: 'UPSTREAM_INVALID_REQUEST',
  401: 'UPSTREAM_AUTH',
  402: 'UPSTREAM_AUTH',
  403: 'UPSTREAM_AUTH',
  404: 'UPSTREAM_NOT_FOUND',
  405: 'UPSTREAM_NOT_FOUND',
  407: 'UPSTREAM_UNREACHABLE',
  408: 'UPSTREAM_TIMEOUT',
  409: 'UPSTREAM_ERROR',
  413: 'UPSTREAM_BODY_TOO_LARGE',
  421: 'UPSTREAM_ERROR',
  424: 'UPSTREAM_ERROR',
  425: 'UPSTREAM_ERROR',
  429: 'UPSTREAM_RATE_LIMITED',
  // A server answers 501 when it was started without support for this kind of request.
  501: 'UPSTREAM_NOT_FOUND',
  503: 'UPSTREAM_OVERLOADED',
  504: 'UPSTREAM_TIMEOUT',
  529: 'UPSTREAM_OVERLOADED',
}

/** The error code for an error type or code in a 200 or in a stream. */
const BY_TYPE: ReadonlyMap<string, ErrorCode> = new Map([
  ['invalid_request_error', 'UPSTREAM_INVALID_REQUEST'],
  ['authentication_error', 'UPSTREAM_AUTH'],
  ['permission_error', 'UPSTREAM_AUTH'],
  ['billing_error', 'UPSTREAM_AUTH'],
  ['insufficient_quota', 'UPSTREAM_AUTH'],
  ['not_found_error', 'UPSTREAM_NOT_FOUND'],
  ['request_too_large', 'UPSTREAM_BODY_TOO_LARGE'],
  ['rate_limit_error', 'UPSTREAM_RATE_LIMITED'],
  ['rate_limit_exceeded', 'UPSTREAM_RATE_LIMITED'],
  ['overloaded_error', 'UPSTREAM_OVERLOADED'],
  ['insufficient_system_resource', 'UPSTREAM_OVERLOADED'],
  ['timeout_error', 'UPSTREAM_TIMEOUT'],
  ['truncated', 'UPSTREAM_TRUNCATED'],
  ['invalid_event', 'UPSTREAM_INVALID_ANSWER'],
  ['invalid_answer', 'UPSTREAM_INVALID_ANSWER'],
])

/** Faults of the request: the client sees the provider's message. */
const CLIENTS_FAULTS: ReadonlySet<ErrorCode> = new Set([
  'UPSTREAM_INVALID_REQUEST',
  'UPSTREAM_BODY_TOO_LARGE',
  'CONTEXT_LENGTH_EXCEEDED',
])
/** The forms of a provider's code and field name that are safe to show. */
const CODE = /^[a-z][a-z0-9_]{1,63}$/
const FIELD = /^[A-Za-z_][\w.[\]-]{0,99}$/

/** Removes credentials, hosts and accounts from a provider's text. For the log it also removes URLs of the client's request. */
export type Redact = (text: string, reader: 'client' | 'log') => string

/** Classifies an unsuccessful HTTP answer. For a fault of the request, the client sees the message, cleaned by `redact`. */
export function classifyStatus(
  status: number,
  headers: UpstreamHeaders,
  failure: UpstreamFailure,
  redact: Redact,
): GatewayError {
  const byStatus = BY_STATUS[status] ?? (status >= 400 && status < 500 ? 'UPSTREAM_INVALID_REQUEST' : 'UPSTREAM_ERROR')
  // Providers answer 429 for an account without money, too. Waiting does not help it.
  const isOutOfMoney = status === 429 && BY_TYPE.get(failure.type) === 'UPSTREAM_AUTH'
  const code = ruleFor(status, failure)?.is ?? (isOutOfMoney ? 'UPSTREAM_AUTH' : byStatus)
  return toError(
    code,
    failure,
    redact,
    `HTTP ${status}`,
    retryAfterSeconds(headers) ?? failure.retryAfterSeconds ?? null,
  )
}

/** Classifies an error inside a 200. */
export function classifyFailure(failure: UpstreamFailure, redact: Redact): GatewayError {
  const byType = BY_TYPE.get(failure.type) ?? BY_STATUS[EXCEPTION_STATUS[failure.type] ?? 0] ?? 'UPSTREAM_ERROR'
  return toError(ruleFor(200, failure)?.is ?? byType, failure, redact, 'error in a 200', null)
}

/** The outcome of a failed attempt, from which the scheduler learns about the key. */
export function outcomeOf(error: GatewayError): AttemptOutcome {
  switch (error.code) {
    case 'UPSTREAM_RATE_LIMITED':
    case 'UPSTREAM_OVERLOADED':
      return { kind: 'rate-limited', retryAfterSeconds: error.retryAfterSeconds }
    case 'UPSTREAM_AUTH':
      return { kind: 'unauthorised', ...(error.detail === null ? {} : { detail: error.detail }) }
    case 'UPSTREAM_INVALID_REQUEST':
    case 'UPSTREAM_BODY_TOO_LARGE':
    case 'CONTEXT_LENGTH_EXCEEDED':
    // An unknown model is the client's mistake and says nothing about the key.
    case 'UPSTREAM_NOT_FOUND':
      return { kind: 'refused' }
    case 'UPSTREAM_UNREACHABLE':
      return { kind: 'unreachable' }
    default:
      return { kind: error.source === 'upstream' ? 'failed' : 'abandoned' }
  }
}

function toError(
  code: ErrorCode,
  failure: UpstreamFailure,
  redact: Redact,
  where: string,
  retryAfter: number | null,
): GatewayError {
  const isClients = CLIENTS_FAULTS.has(code)
  return new GatewayError(code, {
    detail: `${where} ${failure.type} ${redact(failure.message, 'log')}`.trim(),
    ...(isClients && failure.message !== '' ? { message: redact(failure.message, 'client') } : {}),
    ...(isClients ? programFields(code, failure) : {}),
    ...(retryAfter === null ? {} : { retryAfterSeconds: retryAfter }),
  })
}

/** The code and the field of a failure, for client programs. */
function programFields(
  code: ErrorCode,
  { code: word, param }: UpstreamFailure,
): Pick<ErrorDetails, 'clientCode' | 'param'> {
  const clientCode = code === 'CONTEXT_LENGTH_EXCEEDED' ? 'context_length_exceeded' : word
  return {
    ...(clientCode !== undefined && CODE.test(clientCode) ? { clientCode } : {}),
    ...(param !== undefined && FIELD.test(param) ? { param } : {}),
  }
}

/** `retry-after-ms`, else `retry-after` in seconds or as an HTTP date; null when there is neither. */
function retryAfterSeconds(headers: UpstreamHeaders): number | null {
  const milliseconds = Number(first(headers['retry-after-ms']) ?? Number.NaN)
  if (milliseconds >= 0) return milliseconds / 1000
  const text = first(headers['retry-after'])
  if (text === undefined) return null
  const seconds = Number(text)
  if (seconds >= 0) return seconds
  const dateMs = Date.parse(text)
  return Number.isNaN(dateMs) ? null : Math.max(0, (dateMs - Date.now()) / 1000)
}

function first(value: string | string[] | undefined): string | undefined {
  return Array.isArray(value) ? value[0] : value
}
