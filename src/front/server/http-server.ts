import type { DeadlineClock } from '../../shared/runtime/deadlines.ts'
import { GatewayError } from '../../shared/core/errors.ts'
import type { Exchange } from '../../shared/core/exchange.ts'
import type { ClientAddresses } from './client-address.ts'
import { createCors } from './cors.ts'
import { UwsExchange } from './exchange.ts'
import { copyRequest, hasBody } from './copy-request.ts'
import { wantsClose } from './framing-guard.ts'
import { listenWith, secureApp, stopListeningWith } from './listener.ts'
import type { Certificate, Listener } from './listener.ts'
import { UwsResponder } from './responder.ts'
import type { HttpRequest, HttpResponse, LoadedUws } from './uws.ts'

export type Method = 'GET' | 'POST' | 'PUT' | 'DELETE' | 'PATCH'

/** One public route. `:name` parameters and a final `/*` are allowed in the path. */
export interface Route {
  /** `*` takes every method. */
  readonly method: Method | '*'
  readonly path: string
  readonly handle: (exchange: Exchange) => void | Promise<void>
  /** Answers a request that was refused before the handler ran. */
  readonly refuse: (exchange: Exchange, error: GatewayError) => void
}

export interface ServerOptions {
  readonly build: LoadedUws
  readonly routes: readonly Route[]
  /** Answers every path that has no route. */
  readonly refuse: Route['refuse']
  readonly deadlines: DeadlineClock
  readonly addresses: ClientAddresses
  readonly maxBodyBytes: number
  /** The most client connections; a further one is closed at once. */
  readonly maxConnections: number
  readonly bodyTimeoutMs: number
  /** Origins that browsers may call from, or `*`; empty: none. */
  readonly corsOrigins: readonly string[]
  readonly tls: Certificate | null
  /** Called when a handler throws or rejects. */
  readonly onFault: (cause: unknown) => void
}

export interface HttpServer {
  /** Rejects when the address is taken. */
  listen(host: string, port: number): Promise<void>
  /** Loads another certificate. Rejects when it cannot be used. */
  prepareCertificate(certificate: Certificate): Promise<void>
  /** New connections get the prepared certificate. Open ones go on as they are. */
  useCertificate(): Promise<void>
  discardCertificate(): void
  /** A certificate is prepared, and not in use yet. */
  readonly hasPrepared: boolean
  /** From now on each answer closes its connection. */
  closeConnectionsAfterAnswer(): void
  /** Accepts no new connections. Resolves when `connections` includes all that were accepted. */
  stopListening(): Promise<void>
  /** Closes all remaining connections. */
  close(): void
  /** The number of answers that are not over. */
  readonly openExchanges: number
  /** The number of client connections. */
  readonly connections: number
  /** Milliseconds since the last client connection was opened. */
  readonly sinceLastConnectionMs: number
  /** The number of handlers that have not settled. A handler may outlast its answer. */
  readonly openHandlers: number
}

/** The HTTP server on uWebSockets.js. Must run on the main thread: in a worker, an abnormal end aborts the process. */
export function createHttpServer(options: ServerOptions): HttpServer {
  const { uws } = options.build
  uws._cfg('silent')
  const cors = createCors(options.corsOrigins)
  let openExchanges = 0
  let openHandlers = 0
  let connections = 0
  let lastConnectionMs = -Infinity
  let closing = false
  const handlerSettled = (): void => {
    openHandlers -= 1
  }
  const limits = { maxBytes: options.maxBodyBytes, timeoutMs: options.bodyTimeoutMs }
  const serve = (route: Pick<Route, 'handle' | 'refuse'>, parameters: number) => {
    return (res: HttpResponse, req: HttpRequest): void => {
      const { request, fault, chunked, contentLength } = copyRequest(req, res, parameters, options.addresses)
      openExchanges += 1
      const response = new UwsResponder(res, {
        deadlines: options.deadlines,
        headOnly: request.method === 'HEAD',
        closeAfter: closing || chunked || fault !== null || wantsClose(request.headers['connection']),
        commonHeaders: cors.headers(request),
        onOver: () => {
          openExchanges -= 1
          exchange.close()
        },
      })
      const exchange = new UwsExchange(request, response, options.deadlines, limits)
      res.onAborted(() => {
        response.markAborted()
      })
      try {
        if (fault !== null) {
          route.refuse(exchange, new GatewayError('INVALID_FRAMING', { message: `Malformed HTTP request: ${fault}.` }))
          return
        }
        const preflight = cors.preflight(request)
        if (preflight !== null) {
          response.send(200, preflight, '')
          return
        }
        if (hasBody(request.method)) {
          if (!chunked && contentLength === null) {
            response.closeAfterwards()
            route.refuse(exchange, new GatewayError('LENGTH_REQUIRED'))
            return
          }
          exchange.listen(res, contentLength)
        }
        const running = route.handle(exchange)
        if (running === undefined) return
        openHandlers += 1
        running.then(handlerSettled, (cause: unknown) => {
          handlerSettled()
          failed(cause)
        })
      } catch (cause) {
        failed(cause)
      }

      function failed(cause: unknown): void {
        options.onFault(cause)
        try {
          if (response.started) response.destroy()
          else route.refuse(exchange, GatewayError.from(cause))
        } catch (refusal) {
          options.onFault(refusal)
        }
      }
    }
  }

  /** Has the connections that are opened from now on. */
  let serving: Listener = listenerOf(options.tls)
  let prepared: Listener | null = null
  /** They have the connections that were opened under an earlier certificate. */
  const retired = new Set<Listener>()
  let address: { readonly host: string; readonly port: number } | null = null

  return {
    listen: async (host, port) => {
      await listenWith(serving, host, port)
      address = { host, port }
    },
    // Async: an error of the library becomes a rejection.
    prepareCertificate: async (certificate) => {
      prepared?.app.close()
      prepared = listenerOf(certificate)
      return Promise.resolve()
    },
    useCertificate: async () => {
      const next = prepared
      prepared = null
      if (next === null || address === null) return
      // Both listen for a moment: no connection meets a closed port.
      const before = serving
      serving = next
      retired.add(before)
      try {
        await listenWith(next, address.host, address.port)
      } catch (cause) {
        serving = before
        retired.delete(before)
        next.app.close()
        throw cause
      }
      await stopListeningWith(uws, before)
      retire(before)
    },
    discardCertificate: () => {
      prepared?.app.close()
      prepared = null
    },
    get hasPrepared() {
      return prepared !== null
    },
    closeConnectionsAfterAnswer: () => {
      closing = true
    },
    stopListening: () => {
      address = null
      // One of them may be about to take the place of the other.
      return Promise.all([serving, ...retired].map((listener) => stopListeningWith(uws, listener))).then(
        () => undefined,
      )
    },
    close: () => {
      for (const listener of [serving, ...retired]) {
        listener.socket = null
        listener.app.close()
      }
    },
    get openExchanges() {
      return openExchanges
    },
    get openHandlers() {
      return openHandlers
    },
    get connections() {
      return connections
    },
    get sinceLastConnectionMs() {
      return performance.now() - lastConnectionMs
    },
  }

  /** An application of the library with all routes. */
  function listenerOf(tls: Certificate | null): Listener {
    const app = tls === null ? uws.App() : secureApp(uws, tls)
    const listener: Listener = { app, socket: null, connections: 0 }
    app.filter((res, change) => {
      connections += Number(change)
      listener.connections += Number(change)
      if (listener.connections === 0 && retired.has(listener)) setImmediate(retire, listener)
      if (Number(change) <= 0) return
      lastConnectionMs = performance.now()
      // With no file descriptor left, the event loop would report waiting connections for ever, and nothing else could be opened.
      if (connections > options.maxConnections) res.close()
    })
    const byPath = new Map<string, Route[]>()
    for (const route of options.routes) byPath.set(route.path, [...(byPath.get(route.path) ?? []), route])
    for (const [path, routes] of byPath) {
      const parameters = path.split('/').filter((segment) => segment.startsWith(':')).length
      for (const route of routes) {
        const handler = serve(route, parameters)
        if (route.method === '*') app.any(path, handler)
        else app[METHODS[route.method]](path, handler)
        if (route.method === 'GET') app.head(path, handler)
      }
      const [first] = routes
      if (first === undefined || routes.some((route) => route.method === '*')) continue
      const allow = routes.map((route) => route.method)
      const message = `This path takes ${allow.join(', ')}.`
      app.any(
        path,
        serve(
          {
            handle: (exchange) => {
              first.refuse(exchange, new GatewayError('METHOD_NOT_ALLOWED', { message, allow }))
            },
            refuse: first.refuse,
          },
          parameters,
        ),
      )
    }
    app.any(
      '/*',
      serve(
        {
          handle: (exchange) => {
            options.refuse(exchange, new GatewayError('ROUTE_NOT_FOUND'))
          },
          refuse: options.refuse,
        },
        0,
      ),
    )
    return listener
  }

  /** Frees a listener of an earlier certificate that has no connection left. */
  function retire(listener: Listener): void {
    if (listener.connections === 0 && listener.socket === null && retired.delete(listener)) listener.app.close()
  }
}

const METHODS = { GET: 'get', POST: 'post', PUT: 'put', DELETE: 'del', PATCH: 'patch' } as const
