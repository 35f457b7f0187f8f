import type { ErrorContext } from './wire.ts'

interface ErrorRow {
  readonly status: string
  readonly message: (context: ErrorContext) => string
}

const ROWS: Readonly<Record<number, ErrorRow>> = {
  400: { status: 'INVALID_ARGUMENT', message: () => 'Request contains an invalid argument.' },
  401: {
    status: 'UNAUTHENTICATED',
    message: () => 'Request had invalid authentication credentials. Expected OAuth 2 access token or API key.',
  },
  403: { status: 'PERMISSION_DENIED', message: () => 'The caller does not have permission' },
  404: {
    status: 'NOT_FOUND',
    message: ({ model }) =>
      `models/${model} is not found for API version v1beta, or is not supported for generateContent.`,
  },
  429: {
    status: 'RESOURCE_EXHAUSTED',
    message: () => 'You exceeded your current quota, please check your plan and billing details.',
  },
  499: { status: 'CANCELLED', message: () => 'The operation was cancelled.' },
  500: { status: 'INTERNAL', message: () => 'An internal error has occurred. Please retry.' },
  503: { status: 'UNAVAILABLE', message: () => 'The model is overloaded. Please try again later.' },
  504: { status: 'DEADLINE_EXCEEDED', message: () => 'The request timed out. Please try again.' },
}
const OTHER_CLIENT_ERROR: ErrorRow = { status: 'FAILED_PRECONDITION', message: () => 'Precondition check failed.' }
const OTHER_SERVER_ERROR: ErrorRow = { status: 'UNKNOWN', message: () => 'An unknown error has occurred.' }

/** The body carries the retry delay. */
export function geminiErrorBody(status: number, context: ErrorContext): string {
  return JSON.stringify(errorOf(status, context), null, 2)
}

/** The same body on one line, for an event. */
export function geminiErrorLine(status: number, context: ErrorContext): string {
  return JSON.stringify(errorOf(status, context))
}

function errorOf(status: number, context: ErrorContext): object {
  const row = ROWS[status] ?? (status < 500 ? OTHER_CLIENT_ERROR : OTHER_SERVER_ERROR)
  const { retryAfter = status === 429 ? 1 : null } = context
  const details =
    typeof retryAfter === 'number'
      ? [{ '@type': 'type.googleapis.com/google.rpc.RetryInfo', retryDelay: `${retryAfter}s` }]
      : []
  return {
    error: {
      code: status,
      message: context.message ?? row.message(context),
      status: row.status,
      ...(details.length === 0 ? {} : { details }),
    },
  }
}
