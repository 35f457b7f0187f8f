import type { ErrorType } from '../api/error.ts'

export type { ErrorType }

interface ErrorRow {
  readonly status: number
  readonly type: ErrorType
  readonly source: 'downstream' | 'upstream' | 'internal'
  /** Another upstream key may be tried while nothing has gone downstream. */
  readonly retryable: boolean
  /** The message for the client when the place of failure gives none. */
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
    'The provider of this model does not support a field of the request.',
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
  NOT_FOUND: row(
    404,
    'invalid_request',
    'downstream',
    false,
    'The resource does not exist, or you have no access to it.',
  ),
  CONFLICT: row(409, 'invalid_request', 'downstream', false, 'The resource exists already.'),
  IDEMPOTENCY_RUNNING: row(409, 'invalid_request', 'downstream', false, 'The same request is still running.'),
  IDEMPOTENCY_MISMATCH: row(
    409,
    'invalid_request',
    'downstream',
    false,
    'This Idempotency-Key was used before with another request.',
  ),
  PRECONDITION_FAILED: row(
    412,
    'invalid_request',
    'downstream',
    false,
    'The resource has changed: If-Match does not name its present ETag.',
  ),
  INVALID_HEADER: row(400, 'invalid_request', 'downstream', false, 'A header has a wrong value.'),
  MODEL_NOT_FOUND: row(404, 'invalid_request', 'downstream', false, 'The model does not exist.'),
  VIDEO_NOT_FOUND: row(
    404,
    'invalid_request',
    'downstream',
    false,
    'There is no such video job, or its link has expired.',
  ),
  VIDEO_BEING_CREATED: row(409, 'invalid_request', 'downstream', false, 'The same request is creating its video now.'),
  KEY_MISSING: row(401, 'auth_error', 'downstream', false, 'Send an API key as Authorization: Bearer or X-API-Key.'),
  KEY_UNKNOWN: row(401, 'auth_error', 'downstream', false, 'The API key is not valid.'),
  KEY_DISABLED: row(401, 'auth_error', 'downstream', false, 'The API key is disabled.'),
  KEY_EXPIRED: row(401, 'auth_error', 'downstream', false, 'The API key has expired.'),
  TOKEN_INVALID: row(401, 'auth_error', 'downstream', false, 'The token is not valid. Log in again.'),
  LOGIN_FAILED: row(401, 'auth_error', 'downstream', false, 'The phone number or the password is wrong.'),
  MAILED_TOKEN_INVALID: row(
    400,
    'invalid_request',
    'downstream',
    false,
    'The token is unknown, used or expired: ask for another e-mail.',
  ),
  CODE_REQUIRED: row(
    401,
    'auth_error',
    'downstream',
    false,
    'This user has one-time passwords: send the code of the authenticator, or a recovery code, as code.',
  ),
  CODE_INVALID: row(401, 'auth_error', 'downstream', false, 'The code is wrong, or was used already.'),
  SIGN_IN_FAILED: row(
    401,
    'auth_error',
    'downstream',
    false,
    'The OpenID provider did not confirm the log-in, or it took too long. Begin again.',
  ),
  SIGN_IN_DENIED: row(403, 'access_denied', 'downstream', false, 'You have no account here, or it is disabled.'),
  ISSUER_UNAVAILABLE: row(
    503,
    'service_unavailable',
    'internal',
    false,
    'The OpenID provider cannot be reached at the moment. Log in with a password, or try again later.',
  ),
  MAIL_UNAVAILABLE: row(503, 'service_unavailable', 'internal', false, 'This gateway sends no such e-mails.'),
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
  REGISTRATION_CLOSED: row(
    403,
    'access_denied',
    'downstream',
    false,
    'Registration is closed: an account needs an invitation.',
  ),
  INVITATION_DENIED: row(403, 'access_denied', 'downstream', false, 'This invitation is for somebody else.'),
  ENTERPRISE_DISABLED: row(403, 'access_denied', 'downstream', false, 'The enterprise is disabled.'),
  TOOLS_DENIED: row(403, 'access_denied', 'downstream', false, 'This API key may not use tools.'),
  AUTHORIZATION_NEEDED: row(
    403,
    'access_denied',
    'downstream',
    false,
    'Connect your account with this tool server first.',
  ),
  ORIGIN_DENIED: row(403, 'access_denied', 'downstream', false, 'Pages of this origin may not call the gateway.'),
  ROLE_DENIED: row(403, 'access_denied', 'downstream', false, 'Your role does not allow this.'),
  RPM_EXCEEDED: row(429, 'rate_limit', 'downstream', false, 'Too many requests per minute.'),
  TPM_EXCEEDED: row(429, 'rate_limit', 'downstream', false, 'Too many tokens per minute.'),
  CONCURRENCY_EXCEEDED: row(429, 'rate_limit', 'downstream', false, 'Too many requests at the same time.'),
  LOGIN_THROTTLED: row(429, 'rate_limit', 'downstream', false, 'Too many attempts to log in.'),
  EMAILS_THROTTLED: row(429, 'rate_limit', 'downstream', false, 'Too many e-mails.'),
  BUDGET_EXHAUSTED: row(429, 'quota_exhausted', 'downstream', false, 'The budget is used up.'),
  BUDGET_UNKNOWN: row(503, 'service_unavailable', 'internal', false, 'Budgets cannot be looked up at the moment.'),
  CLIENT_CLOSED: row(499, 'invalid_request', 'downstream', false, 'The client closed the connection.'),
  INTERNAL: row(500, 'server_error', 'internal', false, 'Internal error.'),
  GATEWAY_OVERLOADED: row(
    503,
    'service_unavailable',
    'internal',
    false,
    'The gateway is overloaded: too many requests are under way.',
  ),
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
    'The answer of the provider was lost. The provider may have begun the video, so the gateway does not begin it again.',
  ),
  VIDEO_NOT_READY: row(503, 'service_unavailable', 'upstream', false, 'The video is not ready yet.'),
  VIDEO_FAILED: row(503, 'service_unavailable', 'upstream', false, 'The provider failed to make the video.'),
} as const satisfies Record<string, ErrorRow>

export type ErrorCode = keyof typeof ERROR_CODES

export interface ErrorDetails {
  /** Shown to the client instead of the table's text. Must hold no secret and no upstream host. */
  readonly message?: string
  /** JSON pointer of the bad field, or the name that an upstream gives it. */
  readonly param?: string
  /** The `code` for chat and responses clients instead of ours, where programs act on a well-known value. */
  readonly clientCode?: string
  /** Seconds until a retry makes sense; sent as `Retry-After`, rounded up. */
  readonly retryAfterSeconds?: number
  /** Methods that the path takes; sent as `Allow`. */
  readonly allow?: readonly string[]
  /** Only for the log. */
  readonly detail?: string
  readonly cause?: unknown
}

/** The only error class. Its members are set where the error happens and do not change. Only INTERNAL has a stack. */
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
    const { stackTraceLimit } = Error
    // A stack takes ten times as long as the rest, also while the gateway is overloaded. The other codes say what happened.
    if (code !== 'INTERNAL') Error.stackTraceLimit = 0
    super(details.message ?? known.text, details.cause === undefined ? undefined : { cause: details.cause })
    Error.stackTraceLimit = stackTraceLimit
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

  /** Anything thrown, as a GatewayError. Another error becomes INTERNAL, without leaking its text. */
  static from(cause: unknown): GatewayError {
    return cause instanceof GatewayError ? cause : new GatewayError('INTERNAL', { cause })
  }
}

/** The header fields that HTTP requires for the error, on every plane: Retry-After, WWW-Authenticate, Allow. */
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
