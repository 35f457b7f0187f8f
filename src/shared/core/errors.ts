import type { ErrorType } from '../api/error.ts'

export type { ErrorType }

interface ErrorRow {
  readonly status: number
  readonly type: ErrorType
  readonly source: 'downstream' | 'upstream' | 'internal'
  /** Another upstream key may be tried while nothing has gone downstream. */
  readonly retryable: boolean
  /** What a client reads when the place of failure had nothing more precise to say. */
  readonly text: string
}

export const ERROR_CODES = {
  INVALID_JSON: row(400, 'invalid_request', 'downstream', false, 'The body is not valid JSON.'),
  INVALID_ENCODING: row(400, 'invalid_request', 'downstream', false, 'The body is not valid UTF-8.'),
  JSON_TOO_DEEP: row(400, 'invalid_request', 'downstream', false, 'The body is nested too deeply.'),
  JSON_TOO_LARGE: row(400, 'invalid_request', 'downstream', false, 'The body holds too many values.'),
  DUPLICATE_FIELD: row(400, 'invalid_request', 'downstream', false, 'A field is given twice.'),
  FORBIDDEN_FIELD: row(400, 'invalid_request', 'downstream', false, 'A field name is not allowed.'),
  INVALID_FIELD: row(400, 'invalid_request', 'downstream', false, 'A field is missing or has a wrong value.'),
  UNSUPPORTED_FIELD: row(
    400,
    'invalid_request',
    'downstream',
    false,
    'The provider of this model cannot be given a field of the request.',
  ),
  MISSING_VERSION: row(400, 'invalid_request', 'downstream', false, 'The version header is missing.'),
  INVALID_VERSION: row(400, 'invalid_request', 'downstream', false, 'The version header is not a date (YYYY-MM-DD).'),
  INVALID_FRAMING: row(400, 'invalid_request', 'downstream', false, 'The request is not well-formed HTTP.'),
  VIDEO_REFUSED: row(400, 'invalid_request', 'upstream', false, 'The provider refused to make the video.'),
  BODY_TIMEOUT: row(408, 'invalid_request', 'downstream', false, 'The body did not arrive in time.'),
  LENGTH_REQUIRED: row(411, 'invalid_request', 'downstream', false, 'A Content-Length is required.'),
  BODY_TOO_LARGE: row(413, 'invalid_request', 'downstream', false, 'The body is too large.'),
  UNSUPPORTED_MEDIA_TYPE: row(
    415,
    'invalid_request',
    'downstream',
    false,
    'Send JSON with Content-Type: application/json.',
  ),
  ROUTE_NOT_FOUND: row(404, 'invalid_request', 'downstream', false, 'There is nothing at this path.'),
  METHOD_NOT_ALLOWED: row(405, 'invalid_request', 'downstream', false, 'This path does not take this method.'),
  NOT_FOUND: row(404, 'invalid_request', 'downstream', false, 'There is no such thing, or it is not yours.'),
  CONFLICT: row(409, 'invalid_request', 'downstream', false, 'This exists already.'),
  IDEMPOTENCY_RUNNING: row(409, 'invalid_request', 'downstream', false, 'The same request is still being worked on.'),
  IDEMPOTENCY_MISMATCH: row(
    409,
    'invalid_request',
    'downstream',
    false,
    'Something else was sent with this Idempotency-Key before.',
  ),
  PRECONDITION_FAILED: row(412, 'invalid_request', 'downstream', false, 'It is not any more what If-Match names.'),
  INVALID_HEADER: row(400, 'invalid_request', 'downstream', false, 'A header has a wrong value.'),
  MODEL_NOT_FOUND: row(404, 'invalid_request', 'downstream', false, 'The model does not exist.'),
  VIDEO_NOT_FOUND: row(
    404,
    'invalid_request',
    'downstream',
    false,
    'There is no such video job, or its link has expired.',
  ),
  VIDEO_BEING_CREATED: row(
    409,
    'invalid_request',
    'downstream',
    false,
    'The same request is just beginning its video.',
  ),
  KEY_MISSING: row(401, 'auth_error', 'downstream', false, 'Send an API key as Authorization: Bearer or X-API-Key.'),
  KEY_UNKNOWN: row(401, 'auth_error', 'downstream', false, 'The API key is not valid.'),
  KEY_DISABLED: row(401, 'auth_error', 'downstream', false, 'The API key is disabled.'),
  KEY_EXPIRED: row(401, 'auth_error', 'downstream', false, 'The API key has expired.'),
  TOKEN_INVALID: row(401, 'auth_error', 'downstream', false, 'The token is not valid. Log in again.'),
  LOGIN_FAILED: row(401, 'auth_error', 'downstream', false, 'The phone number or the password is wrong.'),
  SIGNATURE_INVALID: row(401, 'auth_error', 'downstream', false, 'The signature is not valid, or its time is not now.'),
  MODEL_UNPRICED: row(
    403,
    'access_denied',
    'downstream',
    false,
    'This model has no price, and the enterprise of this API key pays in advance.',
  ),
  MODEL_DENIED: row(403, 'access_denied', 'downstream', false, 'This API key may not use this model.'),
  ADDRESS_DENIED: row(403, 'access_denied', 'downstream', false, 'This API key may not be used from this address.'),
  CLIENT_DENIED: row(403, 'access_denied', 'downstream', false, 'This API key may not be used by this client.'),
  REGISTRATION_CLOSED: row(403, 'access_denied', 'downstream', false, 'Accounts are made by invitation here.'),
  ENTERPRISE_DISABLED: row(403, 'access_denied', 'downstream', false, 'The enterprise is disabled.'),
  ROLE_DENIED: row(403, 'access_denied', 'downstream', false, 'Your role does not allow this.'),
  RPM_EXCEEDED: row(429, 'rate_limit', 'downstream', false, 'Too many requests per minute.'),
  TPM_EXCEEDED: row(429, 'rate_limit', 'downstream', false, 'Too many tokens per minute.'),
  CONCURRENCY_EXCEEDED: row(429, 'rate_limit', 'downstream', false, 'Too many requests at the same time.'),
  LOGIN_THROTTLED: row(429, 'rate_limit', 'downstream', false, 'Too many attempts to log in.'),
  BUDGET_EXHAUSTED: row(429, 'quota_exhausted', 'downstream', false, 'The budget is used up.'),
  BUDGET_UNKNOWN: row(503, 'service_unavailable', 'internal', false, 'Budgets cannot be looked up at the moment.'),
  CLIENT_CLOSED: row(499, 'invalid_request', 'downstream', false, 'The client closed the connection.'),
  INTERNAL: row(500, 'server_error', 'internal', false, 'Internal error.'),
  GATEWAY_OVERLOADED: row(503, 'service_unavailable', 'internal', false, 'Too many requests are under way.'),
  STARTING: row(503, 'service_unavailable', 'internal', false, 'The gateway is starting.'),
  DRAINING: row(503, 'service_unavailable', 'internal', false, 'The gateway is shutting down.'),
  JOURNAL_UNAVAILABLE: row(503, 'service_unavailable', 'internal', false, 'Requests cannot be recorded at the moment.'),
  CONTROL_UNAVAILABLE: row(503, 'service_unavailable', 'internal', false, 'The management plane is not available.'),
  WORKERS_BUSY: row(503, 'service_unavailable', 'internal', false, 'Too many large requests at the same time.'),
  NO_UPSTREAM_CAPACITY: row(503, 'service_unavailable', 'internal', false, 'No upstream has room for this model.'),
  UPSTREAM_INVALID_REQUEST: row(400, 'invalid_request', 'upstream', false, 'The provider refused the request.'),
  CONTEXT_LENGTH_EXCEEDED: row(
    400,
    'invalid_request',
    'upstream',
    false,
    'The prompt, or the prompt and the answer asked for, is longer than the context of the model.',
  ),
  UPSTREAM_BODY_TOO_LARGE: row(
    413,
    'invalid_request',
    'upstream',
    false,
    'The provider refused the request as too large.',
  ),
  UPSTREAM_AUTH: row(503, 'service_unavailable', 'upstream', true, 'The upstream service is unavailable.'),
  UPSTREAM_NOT_FOUND: row(503, 'service_unavailable', 'upstream', true, 'The upstream service is unavailable.'),
  UPSTREAM_RATE_LIMITED: row(503, 'service_unavailable', 'upstream', true, 'The upstream service is rate limiting.'),
  UPSTREAM_ERROR: row(503, 'service_unavailable', 'upstream', true, 'The upstream service failed.'),
  UPSTREAM_OVERLOADED: row(503, 'service_unavailable', 'upstream', true, 'The upstream service is overloaded.'),
  UPSTREAM_UNREACHABLE: row(503, 'service_unavailable', 'upstream', true, 'The upstream service cannot be reached.'),
  UPSTREAM_TIMEOUT: row(503, 'service_unavailable', 'upstream', true, 'The upstream service did not answer in time.'),
  UPSTREAM_INVALID_ANSWER: row(
    503,
    'service_unavailable',
    'upstream',
    true,
    'The upstream service gave a broken answer.',
  ),
  UPSTREAM_TRUNCATED: row(503, 'service_unavailable', 'upstream', true, 'The upstream service broke off its answer.'),
  VIDEO_CREATION_UNKNOWN: row(
    503,
    'service_unavailable',
    'upstream',
    false,
    'The answer of the provider was lost: the video may have been begun, so it is not begun a second time.',
  ),
  VIDEO_NOT_READY: row(503, 'service_unavailable', 'upstream', false, 'The video is not ready yet.'),
  VIDEO_FAILED: row(503, 'service_unavailable', 'upstream', false, 'The provider failed to make the video.'),
} as const satisfies Record<string, ErrorRow>

export type ErrorCode = keyof typeof ERROR_CODES

export interface ErrorDetails {
  /** Shown to the client instead of the table's text. Must hold no secret and no upstream host. */
  readonly message?: string
  /** JSON pointer of the bad field, or what an upstream calls it. */
  readonly param?: string
  /** The `code` that chat and responses clients read in place of ours, where programs act upon a well-known word. */
  readonly clientCode?: string
  /** Seconds until a retry makes sense; sent as `Retry-After`, rounded up. */
  readonly retryAfterSeconds?: number
  /** Methods that the path takes; sent as `Allow`. */
  readonly allow?: readonly string[]
  /** For the log alone. */
  readonly detail?: string
  readonly cause?: unknown
}

/** The one error class: what happened is set where it happens and only read afterwards. */
export class GatewayError extends Error {
  readonly code: ErrorCode
  readonly status: number
  readonly type: ErrorType
  readonly source: ErrorRow['source']
  readonly retryable: boolean
  readonly param: string | null
  /** The `code` that chat and responses clients read. */
  readonly clientCode: string
  readonly retryAfterSeconds: number | null
  readonly allow: readonly string[]
  readonly detail: string | null

  constructor(code: ErrorCode, details: ErrorDetails = {}) {
    const known: ErrorRow = ERROR_CODES[code]
    super(details.message ?? known.text, details.cause === undefined ? undefined : { cause: details.cause })
    this.name = 'GatewayError'
    this.code = code
    this.status = known.status
    this.type = known.type
    this.source = known.source
    this.retryable = known.retryable
    this.param = details.param ?? null
    this.clientCode = details.clientCode ?? code
    this.retryAfterSeconds = details.retryAfterSeconds ?? null
    this.allow = details.allow ?? []
    this.detail = details.detail ?? null
  }

  /** Anything thrown, as a GatewayError; what is not one already becomes INTERNAL without leaking its text. */
  static from(cause: unknown): GatewayError {
    return cause instanceof GatewayError ? cause : new GatewayError('INTERNAL', { cause })
  }
}

/** Header fields that HTTP wants of the error, on every plane: when to come back, how to authenticate, what the path takes. */
export function errorFields({ status, retryAfterSeconds, allow }: GatewayError): Array<readonly [string, string]> {
  const fields: Array<readonly [string, string]> = []
  if (retryAfterSeconds !== null) fields.push(['Retry-After', String(Math.max(1, Math.ceil(retryAfterSeconds)))])
  if (status === 401) fields.push(['WWW-Authenticate', 'Bearer realm="Sluice"'])
  if (allow.length > 0) fields.push(['Allow', allow.join(', ')])
  return fields
}

function row(status: number, type: ErrorType, source: ErrorRow['source'], retryable: boolean, text: string): ErrorRow {
  return { status, type, source, retryable, text }
}
