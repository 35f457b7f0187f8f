import type { ErrorContext } from './wire.ts'

interface ErrorRow {
  readonly type: string
  readonly message: (context: ErrorContext) => string
}

const ROWS: Readonly<Record<number, ErrorRow>> = {
  400: { type: 'invalid_request_error', message: () => 'The request body is not valid JSON.' },
  401: { type: 'authentication_error', message: () => 'invalid x-api-key' },
  402: { type: 'billing_error', message: () => 'Your credit balance is too low to access the API.' },
  403: {
    type: 'permission_error',
    message: () => 'Your API key does not have permission to use the specified resource.',
  },
  404: { type: 'not_found_error', message: (context) => `model: ${context.model}` },
  408: { type: 'timeout_error', message: () => 'Request timed out' },
  409: { type: 'conflict_error', message: () => 'The resource was changed by another request.' },
  413: { type: 'request_too_large', message: () => 'Request exceeds the maximum size' },
  422: { type: 'invalid_request_error', message: () => 'The request could not be processed.' },
  429: {
    type: 'rate_limit_error',
    message: () => "This request would exceed your organization's rate limit of 5 requests per minute.",
  },
  500: { type: 'api_error', message: () => 'Internal server error' },
  502: { type: 'api_error', message: () => 'Bad gateway' },
  503: { type: 'api_error', message: () => 'Service temporarily unavailable' },
  504: { type: 'timeout_error', message: () => 'Request timed out' },
  529: { type: 'overloaded_error', message: () => 'Overloaded' },
}
const OTHER_CLIENT_ERROR: ErrorRow = { type: 'invalid_request_error', message: () => 'Invalid request' }
const OTHER_SERVER_ERROR: ErrorRow = { type: 'api_error', message: () => 'Internal server error' }

export function anthropicErrorBody(status: number, context: ErrorContext): string {
  const row = ROWS[status] ?? (status < 500 ? OTHER_CLIENT_ERROR : OTHER_SERVER_ERROR)
  return JSON.stringify({
    type: 'error',
    error: { details: null, type: row.type, message: context.message ?? row.message(context) },
    request_id: context.requestId,
  })
}

/** 429 carries `retry-after` and the exhausted limits. Other errors carry `retry-after` only when `context` has it. */
export function anthropicErrorHeaders(status: number, context: ErrorContext): string {
  const { retryAfter } = context
  const advice = SHOULD_RETRY.has(status) ? 'x-should-retry: true\r\n' : 'x-should-retry: false\r\n'
  const seconds = retryAfter === undefined && status === 429 ? 1 : retryAfter
  if (seconds === undefined || seconds === null) return status === 429 ? advice + exhausted(1) : advice
  const line = `retry-after: ${typeof seconds === 'number' ? Math.ceil(seconds) : seconds}\r\n`
  return advice + line + (status === 429 ? exhausted(typeof seconds === 'number' ? seconds : 1) : '')
}

const SHOULD_RETRY = new Set([408, 409, 429, 500, 502, 503, 504, 529])

const LIMITS = [
  ['requests', 4000],
  ['tokens', 480_000],
  ['input-tokens', 400_000],
  ['output-tokens', 80_000],
] as const

let cachedSecond = 0
let cachedLines = ''

/** Rate limit header lines of an account below its limits. Their reset time changes once a second. */
export function anthropicRateLimits(): string {
  const second = Math.floor(Date.now() / 1000)
  if (second === cachedSecond) return cachedLines
  cachedSecond = second
  cachedLines = ''
  for (const [name, limit] of LIMITS) {
    cachedLines += rateLimit(name, limit, name === 'requests' ? limit - 1 : limit, second)
  }
  return cachedLines
}

function exhausted(seconds: number): string {
  return rateLimit('requests', 5, 0, Math.ceil(Date.now() / 1000 + seconds))
}

function rateLimit(name: string, limit: number, remaining: number, resetSecond: number): string {
  const reset = new Date(resetSecond * 1000).toISOString().replace('.000Z', 'Z')
  const prefix = `anthropic-ratelimit-${name}`
  return `${prefix}-limit: ${limit}\r\n${prefix}-remaining: ${remaining}\r\n${prefix}-reset: ${reset}\r\n`
}
