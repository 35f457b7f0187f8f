import { ApiError, ConnectionError, RateLimitError, TimeoutError } from '../../client/index.ts'
import { wordsOf } from '../words/index.ts'
import { knownCode } from './known-codes.ts'

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

export function failureOf(cause: unknown): Failure {
  const t = wordsOf('errors')
  if (cause instanceof ApiError) {
    const { code, message, requestId, param, retryAfterMs } = cause
    const known = knownCode(code)
    return {
      title: known === null ? message : t(`codes.${known}`),
      detail: known === null || message === '' ? null : message,
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
