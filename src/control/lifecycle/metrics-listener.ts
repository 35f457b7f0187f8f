import { createServer } from 'node:http'
import type { Server } from 'node:http'
import { bearerToken, isSameSecret } from '../../shared/core/bearer.ts'
import { PROMETHEUS_CONTENT_TYPE } from '../../shared/telemetry/prometheus-text.ts'
import { listening } from './listening.ts'

export interface MetricsListenerOptions {
  readonly host: string
  readonly port: number
  /** The required bearer token; null: every client that reaches the address may read. */
  readonly token: string | null
  readonly render: () => string
  readonly onFault: (cause: unknown) => void
}

const MAX_CONNECTIONS = 64
const REQUEST_TIMEOUT_MS = 10_000

/** Serves `GET /metrics` on its own address, for a Prometheus that must not reach the public port. */
export class MetricsListener {
  readonly #options: MetricsListenerOptions
  readonly #server: Server

  constructor(options: MetricsListenerOptions) {
    this.#options = options
    this.#server = createServer({ requestTimeout: REQUEST_TIMEOUT_MS, headersTimeout: REQUEST_TIMEOUT_MS })
    this.#server.maxConnections = MAX_CONNECTIONS
    this.#server.on('request', ({ method, url, headers }, response) => {
      const [path] = (url ?? '').split('?', 1)
      const { token } = options
      if (path !== '/metrics') response.writeHead(404).end()
      else if (method !== 'GET' && method !== 'HEAD') response.writeHead(405, { allow: 'GET, HEAD' }).end()
      else if (!isAllowed(headers.authorization, token)) {
        response.writeHead(401, { 'www-authenticate': 'Bearer' }).end()
      } else response.writeHead(200, { 'content-type': PROMETHEUS_CONTENT_TYPE }).end(options.render())
    })
  }

  /** Rejects when the address is taken. */
  listen(): Promise<void> {
    return listening(this.#server, 'metrics.port', this.#options)
  }

  close(): void {
    this.#server.close()
    this.#server.closeAllConnections()
  }
}

function isAllowed(authorization: string | undefined, token: string | null): boolean {
  return token === null || isSameSecret(bearerToken(authorization) ?? '', token)
}
