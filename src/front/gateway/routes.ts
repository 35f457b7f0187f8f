import type { Clock } from '../../shared/runtime/clock.ts'
import type { Dialect } from '../../shared/core/dialect.ts'
import type { DialectName, Endpoint } from '../../shared/core/endpoint.ts'
import { errorFields } from '../../shared/core/errors.ts'
import type { GatewayError } from '../../shared/core/errors.ts'
import type { Exchange, HeaderList } from '../../shared/core/exchange.ts'
import { RequestContext } from '../../shared/core/request-context.ts'
import { traceOf } from '../../shared/core/trace-context.ts'
import { newRequestId } from '../../shared/core/request-id.ts'
import { createUnknownPath, segmentsOf } from '../../shared/core/unknown-path.ts'
import { ALL_ENDPOINTS } from '../../shared/endpoints/index.ts'
import type { DeclaredEndpoint } from '../../shared/endpoints/index.ts'
import type { Captures } from '../capture/captures.ts'
import { TOOL_CALL_PATH } from '../../shared/core/tool-call.ts'
import { requestIdFields } from './answer-headers.ts'
import type { Health } from './health.ts'
import type { ModelDirectory } from './models.ts'
import type { Phases } from './phases.ts'
import type { RequestMetrics } from './request-metrics.ts'
import type { VideoContent } from '../videos/video-content.ts'
import type { Videos } from '../videos/videos.ts'
import { handle, handleLocally } from './pipeline.ts'
import type { Shedding } from './shedding.ts'
import { handleToolCall, TOOL_CALL } from './tool-calls.ts'

/** A route in the form of the server; see `front/server/http-server.ts`. */
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
  readonly captures: Captures
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
  '/console',
  '/console/*',
  '/api/*',
  '/v1/admin/*',
  '/v1/enterprise/*',
  '/mcp',
  '/mcp/*',
  '/.well-known/oauth-protected-resource',
  '/.well-known/oauth-protected-resource/*',
] as const

const TO_CONSOLE: HeaderList = [
  ['Location', '/console'],
  ['Cache-Control', 'no-store'],
  ['Vary', 'Accept'],
]

/** Browsers ask for HTML by name; programs accept anything. */
function wantsPage({ request }: Exchange): boolean {
  return request.headers['accept']?.includes('text/html') === true
}

type OperationOf<Kind extends DeclaredEndpoint['kind']> = Extract<DeclaredEndpoint, { kind: Kind }>['operation']

/** The handlers of endpoints that a front answers without an upstream. */
type LocalAnswers = Readonly<Record<OperationOf<'local'>, (ctx: RequestContext) => void | Promise<void>>>

type Probes = Readonly<Record<OperationOf<'open'>, (exchange: Exchange) => void>>

/** The path in the syntax of the server's router. */
function patternOf(endpoint: DeclaredEndpoint): string {
  const last =
    endpoint.kind === 'local' && endpoint.takesSlashes ? endpoint.path.replace(/\{\w+\}$/, '*') : endpoint.path
  return last.replace(/\{(\w+)\}/g, ':$1')
}

/** Makes the context of a request, and records requests that the pipeline does not see. */
function createRecords(parts: Pick<RouteParts, 'phases' | 'clock' | 'traces' | 'metrics'>) {
  const { phases, clock } = parts
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
  /** Records a refusal by the server, before the pipeline, like any other refusal. */
  const refuseAs = (endpoint: Endpoint) => (exchange: Exchange, error: GatewayError) => {
    parts.metrics.refused(error)
    record(context(endpoint, exchange), error)
  }
  return { context, record, refuseAs }
}

/** The routes for requests of the control process alone. */
export function createInnerRoutes(parts: RouteParts): readonly GatewayRoute[] {
  const { phases, shedding } = parts
  const { context, record, refuseAs } = createRecords(parts)
  const toolCall: GatewayRoute = {
    method: 'POST',
    path: TOOL_CALL_PATH,
    handle: (exchange) =>
      shedding.run(
        TOOL_CALL,
        exchange,
        (startUs) => handleToolCall(context(TOOL_CALL, exchange, startUs), phases, parts),
        (error) => {
          record(context(TOOL_CALL, exchange), error)
        },
      ),
    refuse: refuseAs(TOOL_CALL),
  }
  return [toolCall]
}

/** Every public route of a front. */
export function createRoutes(parts: RouteParts): readonly GatewayRoute[] {
  const { phases, models, health, shedding, clock, vendor } = parts
  const { context, record, refuseAs } = createRecords(parts)
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

  const answers: LocalAnswers = { video: parts.videos.get, models: models.list, model: models.get }
  const probes: Probes = {
    videoContent: (exchange) => {
      const refuseIt = (error: GatewayError): void => {
        refuse(exchange, error)
      }
      parts.videoContent.serve(exchange, refuseIt)
    },
    health: health.overall,
    liveness: health.live,
    readiness: health.ready,
  }
  const declared = (endpoint: DeclaredEndpoint): readonly GatewayRoute[] => {
    if (endpoint.kind === 'open') return [probe(patternOf(endpoint), probes[endpoint.operation])]
    const path = patternOf(endpoint)
    return (endpoint.isAliased ? [path, `/${vendor}${path}`] : [path]).map((one) =>
      endpoint.kind === 'local' ? local(one, endpoint, answers[endpoint.operation]) : ai(one, endpoint),
    )
  }

  return [
    ...ALL_ENDPOINTS.flatMap(declared),
    // Coding agents check these paths to see whether the gateway is up; people open the first one in a browser.
    probe('/', (exchange) => {
      if (wantsPage(exchange)) exchange.response.send(303, TO_CONSOLE, '')
      else health.live(exchange)
    }),
    probe('/api/hello', health.live),
    ...MANAGEMENT.map(managed),
  ]
}

/** Answers a request for an unknown path: in the dialect that the path resembles, with a hint at the right path. */
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

/** Answers a request that belongs to no AI route with an error in the form of `dialect`. */
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
