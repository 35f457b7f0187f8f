import type { Clock } from '../../shared/runtime/clock.ts'
import type { Dialect } from '../../shared/core/dialect.ts'
import { ENDPOINTS } from '../../shared/core/endpoint.ts'
import type { DialectName, Endpoint } from '../../shared/core/endpoint.ts'
import { errorFields } from '../../shared/core/errors.ts'
import type { GatewayError } from '../../shared/core/errors.ts'
import type { Exchange } from '../../shared/core/exchange.ts'
import { RequestContext } from '../../shared/core/request-context.ts'
import { traceOf } from '../../shared/core/trace-context.ts'
import { newRequestId } from '../../shared/core/request-id.ts'
import { createUnknownPath, segmentsOf } from '../../shared/core/unknown-path.ts'
import { requestIdFields } from './answer-headers.ts'
import type { Health } from './health.ts'
import { MODEL_PATH } from './models.ts'
import type { ModelDirectory } from './models.ts'
import type { Phases } from './phases.ts'
import type { RequestMetrics } from './request-metrics.ts'
import type { VideoContent } from '../videos/video-content.ts'
import { VIDEO_PATH } from '../videos/videos.ts'
import type { Videos } from '../videos/videos.ts'
import { handle, handleLocally } from './pipeline.ts'
import type { Shedding } from './shedding.ts'

/** A route as the server takes it; see `front/server/http-server.ts`. */
export interface GatewayRoute {
  readonly method: 'GET' | 'POST' | '*'
  readonly path: string
  readonly handle: (exchange: Exchange) => void | Promise<void>
  readonly refuse: (exchange: Exchange, error: GatewayError) => void
}

export interface RouteParts {
  readonly phases: Phases
  readonly models: ModelDirectory
  readonly videos: Videos
  readonly videoContent: VideoContent
  readonly health: Health
  readonly shedding: Shedding
  readonly clock: Clock
  readonly metrics: RequestMetrics
  /** Whether requests belong to W3C traces. */
  readonly traces: boolean
  readonly vendor: string
  readonly dialectOf: (name: DialectName) => Dialect
  /** Hands a request to the management plane. */
  readonly forward: (exchange: Exchange, requestId: string, refuse: (error: GatewayError) => void) => Promise<void>
}

/** Paths that the control process serves. */
const MANAGEMENT = [
  '/metrics',
  '/openapi.json',
  '/docs',
  '/docs/*',
  '/api/*',
  '/v1/admin/*',
  '/v1/enterprise/*',
] as const

/** Every public route of a front. */
export function createRoutes(parts: RouteParts): readonly GatewayRoute[] {
  const { phases, models, health, shedding, clock, vendor } = parts

  const context = (endpoint: Endpoint, exchange: Exchange, startUs = clock.monotonicUs()): RequestContext => {
    const atMs = clock.now()
    const { traceparent, tracestate } = exchange.request.headers
    const trace = parts.traces ? traceOf(traceparent, tracestate) : null
    return new RequestContext(newRequestId(atMs), atMs, startUs, endpoint, exchange, trace)
  }
  const record = (ctx: RequestContext, error: GatewayError): void => {
    phases.fail(ctx, error)
    phases.account(ctx)
  }
  /** A refusal made by the server, before the pipeline: recorded like any other. */
  const refuseAs = (endpoint: Endpoint) => (exchange: Exchange, error: GatewayError) => {
    parts.metrics.refused(error)
    record(context(endpoint, exchange), error)
  }
  const ai = (path: string, endpoint: Endpoint): GatewayRoute => ({
    method: 'POST',
    path,
    handle: (exchange) =>
      shedding.run(
        endpoint,
        exchange,
        (startUs) => handle(context(endpoint, exchange, startUs), phases),
        (error) => {
          record(context(endpoint, exchange), error)
        },
      ),
    refuse: refuseAs(endpoint),
  })
  const local = (
    path: string,
    endpoint: Endpoint,
    answer: (ctx: RequestContext) => void | Promise<void>,
  ): GatewayRoute => ({
    method: 'GET',
    path,
    handle: (exchange) => handleLocally(context(endpoint, exchange), phases, answer),
    refuse: refuseAs(endpoint),
  })
  const refuse = createRefusal(parts)
  const probe = (path: string, answer: (exchange: Exchange) => void): GatewayRoute => ({
    method: 'GET',
    path,
    handle: answer,
    refuse,
  })
  const managed = (path: string): GatewayRoute => ({
    method: '*',
    path,
    handle: (exchange) =>
      parts.forward(exchange, newRequestId(clock.now()), (error) => {
        refuse(exchange, error)
      }),
    refuse,
  })

  return [
    ai('/v1/chat/completions', ENDPOINTS.chat),
    ai('/v1/responses', ENDPOINTS.responses),
    ai('/v1/messages', ENDPOINTS.messages),
    ai(`/${vendor}/v1/messages`, ENDPOINTS.messages),
    ai('/v1/messages/count_tokens', ENDPOINTS.countTokens),
    ai(`/${vendor}/v1/messages/count_tokens`, ENDPOINTS.countTokens),
    ai('/v1/embeddings', ENDPOINTS.embeddings),
    ai('/v1/rerank', ENDPOINTS.rerank),
    ai('/v1/images/generations', ENDPOINTS.images),
    ai('/v1/video/generations', ENDPOINTS.video),
    local(`${VIDEO_PATH}:id`, ENDPOINTS.videoJob, parts.videos.get),
    probe(`${VIDEO_PATH}:id/content`, (exchange) => {
      const refuseIt = (error: GatewayError): void => {
        refuse(exchange, error)
      }
      parts.videoContent.serve(exchange, refuseIt)
    }),
    local('/v1/models', ENDPOINTS.modelList, models.list),
    // Ids may hold slashes, which not every client encodes.
    local(`${MODEL_PATH}*`, ENDPOINTS.model, models.get),
    local(`/${vendor}/v1/models`, ENDPOINTS.modelList, models.list),
    local(`/${vendor}${MODEL_PATH}*`, ENDPOINTS.model, models.get),
    probe('/health', health.overall),
    probe('/health/live', health.live),
    probe('/health/ready', health.ready),
    // Coding agents look here whether the gateway is up.
    probe('/', health.live),
    probe('/api/hello', health.live),
    ...MANAGEMENT.map(managed),
  ]
}

/** Refuses what is at no path: in the shape of the dialect that the path belongs to, with a hint at the right one. */
export function createUnknownPathRefusal(
  parts: Pick<RouteParts, 'clock' | 'dialectOf' | 'metrics' | 'vendor'>,
  routes: readonly GatewayRoute[],
): (exchange: Exchange, error: GatewayError) => void {
  const unknownPath = createUnknownPath(routes.map(({ path }) => path))
  const refusals = {
    'openai-chat': createRefusal(parts, 'openai-chat'),
    'openai-responses': createRefusal(parts, 'openai-responses'),
    'anthropic-messages': createRefusal(parts, 'anthropic-messages'),
  }
  return (exchange, error) => {
    const { path } = exchange.request
    const refuse = refusals[dialectOfPath(path, parts.vendor)]
    refuse(exchange, error.code === 'ROUTE_NOT_FOUND' ? unknownPath(path) : error)
  }
}

function dialectOfPath(path: string, vendor: string): DialectName {
  const segments = segmentsOf(path)
  if (segments.includes(vendor) || segments.includes('messages')) return 'anthropic-messages'
  return segments.includes('responses') ? 'openai-responses' : 'openai-chat'
}

/** Refuses what no AI route is responsible for, in the shape of a dialect. */
function createRefusal(
  parts: Pick<RouteParts, 'clock' | 'dialectOf' | 'metrics'>,
  dialect: DialectName = 'openai-chat',
): (exchange: Exchange, error: GatewayError) => void {
  return (exchange, error) => {
    parts.metrics.refused(error)
    const requestId = newRequestId(parts.clock.now())
    exchange.response.send(
      error.status,
      [['Content-Type', 'application/json'], ...requestIdFields(dialect, requestId), ...errorFields(error)],
      parts.dialectOf(dialect).renderError(error, requestId),
    )
  }
}
