import type { UpstreamFailure } from '../../shared/core/dialect.ts'
import type { AttemptOutcome } from '../../shared/core/deployment.ts'
import { GatewayError } from '../../shared/core/errors.ts'
import type { ErrorCode, ErrorDetails } from '../../shared/core/errors.ts'
import { EXCEPTION_STATUS } from '../../dialects/bedrock-converse/errors.ts'
import type { UpstreamHeaders } from '../upstream/upstream-client.ts'
import { ruleFor } from './failure-rules.ts'

/** What an upstream's failure is to us, by status. Anything else: 4xx is the request's fault, the rest the upstream's. */
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
  // Servers that were started without the model's kind of work say so like this.
  501: 'UPSTREAM_NOT_FOUND',
  503: 'UPSTREAM_OVERLOADED',
  504: 'UPSTREAM_TIMEOUT',
  529: 'UPSTREAM_OVERLOADED',
}

/** Error types and codes that providers put into a 200, or into a stream. */
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

/** The request's own: the provider's message is shown. */
const CLIENTS_FAULTS: ReadonlySet<ErrorCode> = new Set([
  'UPSTREAM_INVALID_REQUEST',
  'UPSTREAM_BODY_TOO_LARGE',
  'CONTEXT_LENGTH_EXCEEDED',
])
/** A provider's words that can be shown: nothing else can hide in them. */
const CODE = /^[a-z][a-z0-9_]{1,63}$/
const FIELD = /^[A-Za-z_][\w.[\]-]{0,99}$/

/** Cleans a provider's text of credentials, hosts and accounts; of URLs in the client's own request, for the log alone. */
export type Redact = (text: string, reader: 'client' | 'log') => string

/** An HTTP answer that is no success. The message of what is the request's fault is shown, cleaned by `redact`. */
export function classifyStatus(
  status: number,
  headers: UpstreamHeaders,
  failure: UpstreamFailure,
  redact: Redact,
): GatewayError {
  const byStatus = BY_STATUS[status] ?? (status >= 400 && status < 500 ? 'UPSTREAM_INVALID_REQUEST' : 'UPSTREAM_ERROR')
  // An account without money answers as if it were asked too often; waiting does not help it.
  const isBroke = status === 429 && BY_TYPE.get(failure.type) === 'UPSTREAM_AUTH'
  const code = ruleFor(status, failure)?.is ?? (isBroke ? 'UPSTREAM_AUTH' : byStatus)
  return toError(code, failure, redact, `HTTP ${status}`, retryAfterSeconds(headers))
}

/** An error inside a 200. */
export function classifyFailure(failure: UpstreamFailure, redact: Redact): GatewayError {
  const byType = BY_TYPE.get(failure.type) ?? BY_STATUS[EXCEPTION_STATUS[failure.type] ?? 0] ?? 'UPSTREAM_ERROR'
  return toError(ruleFor(200, failure)?.is ?? byType, failure, redact, 'error in a 200', null)
}

/** What the scheduler may learn about the key from an attempt that failed. */
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
    // A model that does not exist there: clients may ask for what they like, the key is none the worse for it.
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
    ...(isClients ? wordsOf(code, failure) : {}),
    ...(retryAfter === null ? {} : { retryAfterSeconds: retryAfter }),
  })
}

/** The code and the field of a failure, which programs act upon. */
function wordsOf(code: ErrorCode, { code: word, param }: UpstreamFailure): Pick<ErrorDetails, 'clientCode' | 'param'> {
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
