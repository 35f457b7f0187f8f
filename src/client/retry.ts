import { ApiError, ConnectionError, TimeoutError } from './errors.ts'

const FIRST_WAIT_MS = 500
const LONGEST_WAIT_MS = 8_000
/** A longer Retry-After is not waited for: the call rejects at once. */
const LONGEST_RETRY_AFTER_MS = 60_000

/** When a call may be retried: `always`, or only after an answer that proves that it was not carried out. */
export type Repeats = 'always' | 'refused'

/** Milliseconds until the next attempt; null when there is none. `retries` counts from 0. */
export function waitBeforeRetry(error: unknown, retries: number, repeats: Repeats): number | null {
  if (error instanceof ConnectionError || error instanceof TimeoutError) {
    return repeats === 'always' ? backoffMs(retries) : null
  }
  if (!(error instanceof ApiError) || !isTransient(error.statusCode, repeats)) return null
  const { retryAfterMs } = error
  if (retryAfterMs === null) return error.type === 'quota_exhausted' ? null : backoffMs(retries)
  // Jitter, so that not all clients retry at the same moment.
  return retryAfterMs > LONGEST_RETRY_AFTER_MS ? null : retryAfterMs + Math.random() * FIRST_WAIT_MS
}

function isTransient(status: number, repeats: Repeats): boolean {
  if (status === 429 || status === 503) return true
  return repeats === 'always' && status >= 500 && status !== 501 && status !== 505
}

function backoffMs(retries: number): number {
  return Math.min(LONGEST_WAIT_MS, FIRST_WAIT_MS * 2 ** retries) * (0.5 + Math.random() / 2)
}

/** Resolves after `ms`; rejects with the signal's reason when it is aborted before. */
export function pause(ms: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    const aborted = (): void => {
      clearTimeout(timer)
      reject(signal?.reason as Error)
    }
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', aborted)
      resolve()
    }, ms)
    if (signal?.aborted === true) aborted()
    else signal?.addEventListener('abort', aborted, { once: true })
  })
}
