import { setImmediate as nextTurn } from 'node:timers/promises'
import type { DeadlineClock } from '../../shared/runtime/deadlines.ts'
import { GatewayError } from '../../shared/core/errors.ts'
import type { Exchange, IncomingRequest } from '../../shared/core/exchange.ts'
import type { ClientAddresses } from './client-address.ts'
import { createCors } from './cors.ts'
import { UwsExchange } from './exchange.ts'
import { copyHeaders, isMethod, isTarget, wantsClose } from './framing-guard.ts'
import { UwsResponder } from './responder.ts'
import type { HttpRequest, HttpResponse, LoadedUws, Uws, us_listen_socket } from './uws.ts'

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
  readonly tls: { readonly certFile: string; readonly keyFile: string } | null
  /** Called when a handler throws or rejects. */
  readonly onFault: (cause: unknown) => void
}

export interface HttpServer {
  /** Rejects when the address is taken. */
  listen(host: string, port: number): Promise<void>
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
  const app = options.tls === null ? uws.App() : secureApp(uws, options.tls)
  const cors = createCors(options.corsOrigins)
  let listenSocket: us_listen_socket | null = null
  let openExchanges = 0
  let openHandlers = 0
  let connections = 0
  let lastConnectionMs = -Infinity
  let closing = false

  app.filter((res, change) => {
    connections += Number(change)
    if (Number(change) <= 0) return
    lastConnectionMs = performance.now()
    // With no file descriptor left, the event loop would report waiting connections for ever, and nothing else could be opened.
    if (connections > options.maxConnections) res.close()
  })
  const handlerSettled = (): void => {
    openHandlers -= 1
  }
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
      const exchange = new UwsExchange(request, response, options.deadlines, {
        maxBytes: options.maxBodyBytes,
        timeoutMs: options.bodyTimeoutMs,
      })
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

  return {
    listen: (host, port) =>
      new Promise((resolve, reject) => {
        app.listen(host, port, (socket) => {
          if (socket === false) reject(new Error(`cannot listen on ${host}:${port}`))
          else {
            listenSocket = socket
            resolve()
          }
        })
      }),
    closeConnectionsAfterAnswer: () => {
      closing = true
    },
    stopListening: async () => {
      await quietTurn()
      if (listenSocket !== null) uws.us_listen_socket_close(listenSocket)
      listenSocket = null
    },
    close: () => {
      listenSocket = null
      app.close()
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
}

/** A turn of the event loop without work is shorter than this. */
const QUIET_TURN_MS = 0.05
const QUIET_TURN_LIMIT_MS = 250

/**
 * Resolves at the end of a turn of the event loop without work, after `QUIET_TURN_LIMIT_MS` at the latest. When a listener
 * closes, the kernel resets its connections that wait for `accept`, unless it moves them to another listener
 * (`net.ipv4.tcp_migrate_req`). A turn accepts all waiting connections, and hardly any arrives in so short a time.
 */
async function quietTurn(): Promise<void> {
  const endMs = performance.now() + QUIET_TURN_LIMIT_MS
  for (;;) {
    const beganMs = performance.now()
    await nextTurn()
    const nowMs = performance.now()
    if (nowMs - beganMs < QUIET_TURN_MS || nowMs > endMs) return
  }
}

/** Adds the reason to the error of `SSLApp`, which has none. */
function secureApp(uws: Uws, { certFile, keyFile }: NonNullable<ServerOptions['tls']>): ReturnType<Uws['SSLApp']> {
  try {
    return uws.SSLApp({ cert_file_name: certFile, key_file_name: keyFile })
  } catch (cause) {
    throw new Error(`server.tls: ${certFile} and ${keyFile} are not a certificate and its key`, { cause })
  }
}

const METHODS = { GET: 'get', POST: 'post', PUT: 'put', DELETE: 'del', PATCH: 'patch' } as const

/** Copies everything that is needed later: the server reuses its request object as soon as the handler returns. */
function copyRequest(
  req: HttpRequest,
  res: HttpResponse,
  parameters: number,
  addresses: ClientAddresses,
): {
  request: IncomingRequest
  fault: string | null
  chunked: boolean
  contentLength: number | null
} {
  const { headers, fault, chunked, contentLength } = copyHeaders(req)
  // Only getHeader returns the raw bytes (one character each); forEach decodes them as UTF-8.
  if (headers['user-agent'] !== undefined) headers['user-agent'] = req.getHeader('user-agent')
  // ASCII of 45 characters at most: a decoder costs five times as much.
  const peer = Buffer.from(res.getRemoteAddressAsText()).toString('latin1')
  const params: string[] = []
  for (let i = 0; i < parameters; i++) params.push(req.getParameter(i) ?? '')
  const method = req.getCaseSensitiveMethod()
  const request: IncomingRequest = {
    method,
    path: req.getUrl(),
    query: req.getQuery(),
    headers,
    address: addresses.of(peer, headers['x-forwarded-for']),
    params,
  }
  const lineFault = !isMethod(method)
    ? 'the method is not a token'
    : isTarget(request.path) && isTarget(request.query)
      ? null
      : 'the target contains a # or a byte that must be percent-encoded'
  return { request, fault: fault ?? lineFault, chunked, contentLength }
}

function hasBody(method: string): boolean {
  return method === 'POST' || method === 'PUT' || method === 'PATCH'
}
