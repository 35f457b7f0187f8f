import { GatewayError } from '../../shared/core/errors.ts'
import type { Exchange } from '../../shared/core/exchange.ts'
import { dialectOf } from '../../dialects/codecs.ts'
import type { Captures } from '../capture/captures.ts'
import type { Health } from '../gateway/health.ts'
import type { ModelDirectory } from '../gateway/models.ts'
import type { Phases } from '../gateway/phases.ts'
import { createInnerRoutes, createRoutes, createUnknownPathRefusal } from '../gateway/routes.ts'
import type { GatewayRoute, RouteParts } from '../gateway/routes.ts'
import { Shedding } from '../gateway/shedding.ts'
import type { Overload } from '../overload/overload.ts'
import { createClientAddresses } from '../server/client-address.ts'
import { createHttpServer } from '../server/http-server.ts'
import type { HttpServer } from '../server/http-server.ts'
import type { LoadedUws } from '../server/uws.ts'
import type { FrontBase } from './base.ts'
import type { FrontVideos } from './videos.ts'

export interface ServerNeeds {
  readonly build: LoadedUws
  readonly phases: Phases
  readonly models: ModelDirectory
  readonly videos: FrontVideos
  readonly health: Health
  readonly overload: Overload
  readonly captures: Captures
  readonly maxConnections: number
}

/** Serves requests of the control process by the routes of clients, those of paths without parameters. */
function createInnerDispatch(
  routes: readonly GatewayRoute[],
  onFault: (cause: unknown) => void,
): (exchange: Exchange) => void {
  const known = new Map(routes.map((route) => [`${route.method} ${route.path}`, route]))
  return (exchange) => {
    const { method, path } = exchange.request
    const route = known.get(`${method} ${path}`)
    if (route === undefined) {
      exchange.response.destroy()
      return
    }
    Promise.resolve(route.handle(exchange)).catch((cause: unknown) => {
      onFault(cause)
      if (exchange.response.started) exchange.response.destroy()
      else route.refuse(exchange, GatewayError.from(cause))
    })
  }
}

export function buildServer(base: FrontBase, needs: ServerNeeds): HttpServer {
  const { config, logger, clock, deadlines, requestMetrics: metrics, link } = base
  const { server, limits } = config
  const { vendor } = server
  const { videos, content } = needs.videos
  const parts: RouteParts = {
    phases: needs.phases,
    models: needs.models,
    videos,
    videoContent: content,
    health: needs.health,
    shedding: new Shedding({ overload: needs.overload, clock, metrics, dialectOf }),
    captures: needs.captures,
    clock,
    metrics,
    traces: config.telemetry.traceContext,
    vendor,
    dialectOf,
    forward: (exchange, requestId, refuse) => link.tunnel.forward(exchange, requestId, refuse),
  }
  const routes = createRoutes(parts)
  const onFault = (cause: unknown): void => {
    logger.error({ err: cause }, 'a handler failed')
  }
  link.aiRequests.serve = createInnerDispatch([...routes, ...createInnerRoutes(parts)], onFault)
  return createHttpServer({
    build: needs.build,
    routes,
    refuse: createUnknownPathRefusal({ clock, dialectOf, metrics, vendor }, routes),
    deadlines,
    addresses: createClientAddresses(server.trustedProxies),
    maxBodyBytes: limits.maxBodyBytes,
    maxConnections: needs.maxConnections,
    bodyTimeoutMs: server.bodyTimeoutMs,
    corsOrigins: server.corsOrigins,
    tls: server.tls,
    onFault,
  })
}
