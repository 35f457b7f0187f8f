import { dialectOf } from '../../dialects/codecs.ts'
import type { Health } from '../gateway/health.ts'
import type { ModelDirectory } from '../gateway/models.ts'
import type { Phases } from '../gateway/phases.ts'
import { createRoutes, createUnknownPathRefusal } from '../gateway/routes.ts'
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
  readonly maxConnections: number
}

export function buildServer(base: FrontBase, needs: ServerNeeds): HttpServer {
  const { config, logger, clock, deadlines, requestMetrics: metrics, link } = base
  const { server, limits } = config
  const { vendor } = server
  const { videos, content } = needs.videos
  const routes = createRoutes({
    phases: needs.phases,
    models: needs.models,
    videos,
    videoContent: content,
    health: needs.health,
    shedding: new Shedding({ overload: needs.overload, clock, metrics, dialectOf }),
    clock,
    metrics,
    traces: config.telemetry.traceContext,
    vendor,
    dialectOf,
    forward: (exchange, requestId, refuse) => link.tunnel.forward(exchange, requestId, refuse),
  })
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
    onFault: (cause) => {
      logger.error({ err: cause }, 'a handler failed')
    },
  })
}
