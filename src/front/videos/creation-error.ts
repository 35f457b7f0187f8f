import { GatewayError } from '../../shared/core/errors.ts'
import type { RequestContext } from '../../shared/core/request-context.ts'

/** Statuses of a proxy that stopped waiting: the server behind it may still have created the job. */
const UNCERTAIN = new Set([408, 502, 504])

/**
 * The error of a job creation, from the error of its last attempt: VIDEO_CREATION_UNKNOWN when the job may exist, so that no other
 * key is tried.
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

/** Whether a creation that ended without job and error, because its client left, may have created a job. */
export function mayHaveBegun(ctx: RequestContext): boolean {
  const outcome = ctx.attempts.at(-1)?.outcome
  // Nothing was sent: the answer to a sent creation is read to its end.
  if (outcome === undefined || outcome === 'CLIENT_CLOSED') return false
  return outcome === 'ok' || creationError(ctx, new GatewayError(outcome)).code === 'VIDEO_CREATION_UNKNOWN'
}
