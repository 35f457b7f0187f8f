import { ApiError, ConnectionError, RateLimitError, TimeoutError } from '../../client/index.ts'
import { wordsOf } from '../words/index.ts'

/** A failure in words for people. */
export interface Failure {
  readonly title: string
  /** The gateway's own words, where they say more. */
  readonly detail: string | null
  readonly requestId: string | null
  /** The name of the field that is wrong: the first segment of the JSON pointer. */
  readonly field: string | null
  readonly waitMs: number | null
}

const KNOWN = [
  'CODE_INVALID',
  'BUDGET_EXHAUSTED',
  'CONCURRENCY_EXCEEDED',
  'CONFLICT',
  'CONTROL_UNAVAILABLE',
  'INTERNAL',
  'INVALID_FIELD',
  'LOGIN_FAILED',
  'LOGIN_THROTTLED',
  'NOT_FOUND',
  'PRECONDITION_FAILED',
  'ROLE_DENIED',
  'SIGN_IN_FAILED',
] as const

type KnownCode = (typeof KNOWN)[number]

export function failureOf(cause: unknown): Failure {
  const t = wordsOf('errors')
  if (cause instanceof ApiError) {
    const { code, message, requestId, param, retryAfterMs } = cause
    const known = KNOWN.find((one) => one === code)
    return {
      title: known === undefined ? message : t(`codes.${known satisfies KnownCode}`),
      detail: known === undefined || message === '' ? null : message,
      requestId,
      field: param?.split('/')[1] ?? null,
      waitMs: cause instanceof RateLimitError ? retryAfterMs : null,
    }
  }
  const base = { detail: null, requestId: null, field: null, waitMs: null }
  if (cause instanceof TimeoutError) return { ...base, title: t('timeout') }
  if (cause instanceof ConnectionError) return { ...base, title: t('unreachable') }
  return { ...base, title: t('unknown'), detail: cause instanceof Error ? cause.message : null }
}
