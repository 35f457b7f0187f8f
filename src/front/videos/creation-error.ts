import { GatewayError } from '../../shared/core/errors.ts'
import type { RequestContext } from '../../shared/core/request-context.ts'

/** Answers of proxies that gave up waiting: what stands behind them may have begun all the same. */
const UNCERTAIN = new Set([408, 502, 504])

/**
 * What became of the creation of a job, given how its last attempt failed: an error of its own where the job may exist, so
 * that no other key is tried.
 */
export function creationError(ctx: RequestContext, error: GatewayError): GatewayError {
  const status = ctx.attempts.at(-1)?.status ?? 0
  const wasRefused = status >= 300 && !UNCERTAIN.has(status)
  const wasNotSent = status === 0 && (error.code === 'UPSTREAM_UNREACHABLE' || error.source !== 'upstream')
  if (wasRefused || wasNotSent) return error
  return new GatewayError('VIDEO_CREATION_UNKNOWN', {
    cause: error,
    detail: `${error.code} ${error.detail ?? ''}`.trim(),
  })
}

/** Whether a creation that ended without a job and without an error, its client gone, may have begun one. */
export function mayHaveBegun(ctx: RequestContext): boolean {
  const outcome = ctx.attempts.at(-1)?.outcome
  // Nothing had been sent: what has been is read to its end.
  if (outcome === undefined || outcome === 'CLIENT_CLOSED') return false
  return outcome === 'ok' || creationError(ctx, new GatewayError(outcome)).code === 'VIDEO_CREATION_UNKNOWN'
}
