import type { ErrorType } from '../shared/api/error.ts'

/**
 * Base class of the errors of calls. The exceptions: TypeError for wrong arguments, and the abort reason of the caller's
 * signal.
 */
export class SluiceError extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options)
    this.name = new.target.name
  }
}

/** The gateway cannot be reached, or the connection broke before the answer was whole. */
export class ConnectionError extends SluiceError {}

/** No answer arrived in time. */
export class TimeoutError extends SluiceError {}

export interface ApiFailure {
  readonly statusCode: number
  /** One of a closed list; null when no gateway made the answer. */
  readonly type: ErrorType | null
  readonly message: string
  /** The stable name of the error, for example KEY_UNKNOWN; null when the endpoint sends none. */
  readonly code: string | null
  /** JSON pointer of the bad field. */
  readonly param: string | null
  /** The X-Request-Id header. */
  readonly requestId: string | null
  readonly retryAfterMs: number | null
}

/** The gateway answered with an error, as the answer or within a stream. */
export class ApiError extends SluiceError implements ApiFailure {
  readonly statusCode: number
  readonly type: ErrorType | null
  readonly code: string | null
  readonly param: string | null
  readonly requestId: string | null
  readonly retryAfterMs: number | null

  constructor(failure: ApiFailure) {
    super(failure.message)
    this.statusCode = failure.statusCode
    this.type = failure.type
    this.code = failure.code
    this.param = failure.param
    this.requestId = failure.requestId
    this.retryAfterMs = failure.retryAfterMs
  }
}

/** 401: the key or the token is not valid. */
export class AuthenticationError extends ApiError {}

/** 429: a limit or a budget is used up. `retryAfterMs` says when to retry. */
export class RateLimitError extends ApiError {}

/** The status that an error within a stream would have had as an answer. */
const STATUS_OF: Readonly<Record<ErrorType, number>> = {
  invalid_request: 400,
  auth_error: 401,
  access_denied: 403,
  rate_limit: 429,
  quota_exhausted: 429,
  server_error: 500,
  service_unavailable: 503,
}

/** Reads the error from an answer with a status of 400 or above. Its body may be anything. */
export function errorOfAnswer(status: number, headers: Headers, body: string): ApiError {
  const parsed = parseObject(body)
  const told = objectIn(parsed, 'error')
  return apiError({
    statusCode: status,
    type: errorType(told?.['type']),
    message: textIn(told, 'message') ?? `The gateway answered with status ${status}.`,
    code: textIn(told, 'code'),
    param: textIn(told, 'param'),
    requestId: headers.get('x-request-id') ?? textIn(told, 'request_id') ?? textIn(parsed, 'request_id'),
    retryAfterMs: retryAfterMs(headers),
  })
}

/** Reads the error from an event of a stream. */
export function errorOfEvent(event: Readonly<Record<string, unknown>>, requestId: string | null): ApiError {
  const told = objectIn(event, 'error') ?? event
  const type = errorType(told['type'])
  return apiError({
    statusCode: type === null ? 500 : STATUS_OF[type],
    type,
    message: textIn(told, 'message') ?? 'The gateway ended the stream with an error.',
    code: textIn(told, 'code'),
    param: textIn(told, 'param'),
    requestId: textIn(told, 'request_id') ?? textIn(event, 'request_id') ?? requestId,
    retryAfterMs: null,
  })
}

function apiError(failure: ApiFailure): ApiError {
  if (failure.statusCode === 401) return new AuthenticationError(failure)
  return failure.statusCode === 429 ? new RateLimitError(failure) : new ApiError(failure)
}

/** Retry-After may be seconds or a date. */
function retryAfterMs(headers: Headers): number | null {
  const text = headers.get('retry-after')?.trim()
  if (text === undefined || text === '') return null
  const ms = /^\d+(\.\d+)?$/.test(text) ? Number(text) * 1000 : Date.parse(text) - Date.now()
  return Number.isFinite(ms) ? Math.max(0, ms) : null
}

function parseObject(text: string): Readonly<Record<string, unknown>> | null {
  try {
    return asObject(JSON.parse(text))
  } catch {
    return null
  }
}

function asObject(value: unknown): Readonly<Record<string, unknown>> | null {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : null
}

function objectIn(
  value: Readonly<Record<string, unknown>> | null,
  name: string,
): Readonly<Record<string, unknown>> | null {
  return asObject(value?.[name])
}

function textIn(value: Readonly<Record<string, unknown>> | null, name: string): string | null {
  const member = value?.[name]
  return typeof member === 'string' && member !== '' ? member : null
}

function errorType(value: unknown): ErrorType | null {
  return typeof value === 'string' && Object.hasOwn(STATUS_OF, value) ? (value as ErrorType) : null
}
