import type { DialectName } from '../../shared/core/endpoint.ts'
import { errorFields } from '../../shared/core/errors.ts'
import type { GatewayError } from '../../shared/core/errors.ts'
import type { HeaderList } from '../../shared/core/exchange.ts'
import type { RequestContext } from '../../shared/core/request-context.ts'
import type { UpstreamHeaders } from '../upstream/upstream-client.ts'

/** Upstream headers that a client may see. */
const FORWARDED = ['openai-processing-ms', 'openai-version'] as const

/** The headers that every answer to an AI request carries. */
export function answerHeaders(ctx: RequestContext, contentType: string, nowUs: number): Array<HeaderList[number]> {
  const headers: Array<HeaderList[number]> = [
    ['Content-Type', contentType],
    ...requestIdFields(ctx.endpoint.dialect, ctx.id),
  ]
  const limits = ctx.rateLimits?.()
  if (limits !== undefined) {
    headers.push(
      ['X-RateLimit-Limit-Requests', limits.limitRequests],
      ['X-RateLimit-Remaining-Requests', Math.floor(limits.remainingRequests)],
      ['X-RateLimit-Reset-Requests', Math.ceil(limits.resetRequestsSeconds)],
      ['X-RateLimit-Limit-Tokens', limits.limitTokens],
      ['X-RateLimit-Remaining-Tokens', Math.floor(limits.remainingTokens)],
      ['X-RateLimit-Reset-Tokens', Math.ceil(limits.resetTokensSeconds)],
    )
  }
  if (ctx.dropped.length > 0) headers.push(['X-Sluice-Dropped', ctx.dropped.join(', ')])
  headers.push(['Server-Timing', serverTiming(ctx, nowUs)])
  return headers
}

/** The fields with the request id. Clients of the messages protocol read `request-id`. */
export function requestIdFields(dialect: DialectName, requestId: string): Array<HeaderList[number]> {
  const field = ['X-Request-Id', requestId] as const
  return dialect === 'anthropic-messages' ? [field, ['request-id', requestId]] : [field]
}

/** `answerHeaders` of an event stream, with the upstream headers in `FORWARDED`. */
export function streamHeaders(ctx: RequestContext, upstream: UpstreamHeaders, nowUs: number): HeaderList {
  const headers = answerHeaders(ctx, 'text/event-stream; charset=utf-8', nowUs)
  headers.push(['Cache-Control', 'no-cache'], ['X-Accel-Buffering', 'no'])
  return withForwarded(headers, upstream)
}

export function bufferedHeaders(ctx: RequestContext, upstream: UpstreamHeaders, nowUs: number): HeaderList {
  return withForwarded(answerHeaders(ctx, 'application/json', nowUs), upstream)
}

export function errorHeaders(ctx: RequestContext, error: GatewayError, nowUs: number): HeaderList {
  const headers = answerHeaders(ctx, 'application/json', nowUs)
  headers.push(...errorFields(error))
  // Otherwise the official clients repeat the request twice: in vain, or starting a second job.
  if (error.type === 'quota_exhausted' || error.code.startsWith('VIDEO_')) headers.push(['x-should-retry', 'false'])
  return headers
}

function withForwarded(headers: Array<HeaderList[number]>, upstream: UpstreamHeaders): HeaderList {
  for (const name of FORWARDED) {
    const value = upstream[name]
    if (typeof value === 'string') headers.push([name, value])
  }
  return headers
}

/** The value of `Server-Timing`; `dur` is in milliseconds. */
function serverTiming(ctx: RequestContext, nowUs: number): string {
  const { authUs, limitUs, validateUs, queueUs, translateUs, upstreamUs } = ctx.times
  return (
    `auth;dur=${ms(authUs)}, limit;dur=${ms(limitUs)}, translate;dur=${ms(validateUs + translateUs)}, ` +
    `queue;dur=${ms(queueUs)}, upstream;dur=${ms(upstreamUs)}, overhead;dur=${ms(ctx.overheadUs(nowUs))}`
  )
}

/** Milliseconds with two decimals. `toFixed` takes several times as long. */
function ms(us: number): string {
  const hundredths = Math.round(us / 10)
  const rest = hundredths % 100
  return `${(hundredths - rest) / 100}.${rest < 10 ? '0' : ''}${rest}`
}
