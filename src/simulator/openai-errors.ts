import type { ErrorContext } from './wire.ts'

interface ErrorRow {
  readonly type: string
  readonly code: string | null
  readonly param?: string
  readonly message: (context: ErrorContext) => string
}

const ROWS: Readonly<Record<number, ErrorRow>> = {
  400: {
    type: 'invalid_request_error',
    code: 'invalid_value',
    message: () => 'We could not parse the JSON body of your request.',
  },
  401: {
    type: 'invalid_request_error',
    code: 'invalid_api_key',
    message: (context) =>
      `Incorrect API key provided: ${masked(context.credential)}. You can find your API key at https://platform.openai.com/account/api-keys.`,
  },
  402: { type: 'insufficient_quota', code: 'insufficient_quota', message: () => 'Payment required.' },
  403: {
    type: 'request_forbidden',
    code: 'unsupported_country_region_territory',
    message: () => 'Country, region, or territory not supported',
  },
  404: {
    type: 'invalid_request_error',
    code: 'model_not_found',
    message: (context) => `The model \`${context.model}\` does not exist or you do not have access to it.`,
  },
  408: { type: 'server_error', code: 'request_timeout', message: () => 'The request timed out.' },
  409: {
    type: 'invalid_request_error',
    code: 'conflict',
    message: () => 'The resource was updated by another request.',
  },
  413: { type: 'invalid_request_error', code: 'request_too_large', message: () => 'Request body too large.' },
  422: { type: 'invalid_request_error', code: 'unprocessable_entity', message: () => 'Unable to process the request.' },
  429: {
    type: 'requests',
    code: 'rate_limit_exceeded',
    message: (context) =>
      `Rate limit reached for ${context.model} in organization org-simulator on requests per min (RPM): Limit 3, Used 3, Requested 1. Please try again in ${String(context.retryAfter ?? 1)}s.`,
  },
  500: {
    type: 'server_error',
    code: null,
    message: (context) =>
      `The server had an error while processing your request. Sorry about that! (request ID ${context.requestId})`,
  },
  502: { type: 'server_error', code: null, message: () => 'Bad gateway.' },
  503: {
    type: 'server_error',
    code: null,
    message: () => 'That model is currently overloaded with other requests. You can retry your request.',
  },
  504: { type: 'server_error', code: null, message: () => 'Gateway timeout.' },
  529: { type: 'server_error', code: 'overloaded', message: () => 'The engine is currently overloaded.' },
}
const OTHER_CLIENT_ERROR: ErrorRow = { type: 'invalid_request_error', code: null, message: () => 'Invalid request.' }
const OTHER_SERVER_ERROR: ErrorRow = { type: 'server_error', code: null, message: () => 'The server had an error.' }

export function openaiErrorBody(status: number, context: ErrorContext): string {
  return JSON.stringify(errorOf(status, context), null, 2)
}

/** The same body on one line, for a stream. */
export function openaiErrorLine(status: number, context: ErrorContext): string {
  return JSON.stringify(errorOf(status, context))
}

/** 429 carries `retry-after` and the exhausted limits. Other errors carry `retry-after` only when `context` has it. */
export function openaiErrorHeaders(status: number, context: ErrorContext): string {
  const { retryAfter } = context
  if (status !== 429) return retryAfter === undefined || retryAfter === null ? '' : retryLines(retryAfter)
  const seconds = typeof retryAfter === 'number' ? retryAfter : 1
  const limits =
    `x-ratelimit-limit-requests: 3\r\nx-ratelimit-limit-tokens: 40000\r\nx-ratelimit-remaining-requests: 0\r\n` +
    `x-ratelimit-remaining-tokens: 39990\r\nx-ratelimit-reset-requests: ${seconds}s\r\nx-ratelimit-reset-tokens: 15ms\r\n`
  return retryAfter === null ? limits : retryLines(retryAfter ?? 1) + limits
}

function errorOf(status: number, context: ErrorContext): object {
  const row = ROWS[status] ?? (status < 500 ? OTHER_CLIENT_ERROR : OTHER_SERVER_ERROR)
  const error = {
    message: context.message ?? row.message(context),
    type: row.type,
    param: context.param ?? row.param ?? null,
    code: context.code === undefined ? row.code : context.code,
  }
  return { error }
}

function retryLines(retryAfter: number | string): string {
  const exact = typeof retryAfter === 'number' ? `retry-after-ms: ${Math.round(retryAfter * 1000)}\r\n` : ''
  return `retry-after: ${typeof retryAfter === 'number' ? Math.ceil(retryAfter) : retryAfter}\r\n${exact}`
}

function masked(credential: string): string {
  return credential.length < 12 ? '***' : `${credential.slice(0, 4)}${'*'.repeat(8)}${credential.slice(-4)}`
}
