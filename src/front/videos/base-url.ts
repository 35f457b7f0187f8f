import type { IncomingRequest } from '../../shared/core/exchange.ts'

const HOST = /^[\w.:[\]-]{1,255}$/

/** The base URL at which this client reaches the gateway: as configured, else from `Host`, which may be wrong behind a proxy. */
export function publicBaseUrl(configured: string | null, scheme: 'http' | 'https', request: IncomingRequest): string {
  if (configured !== null) return configured.replace(/\/+$/, '').replace(/\/v1$/, '')
  const host = request.headers['host'] ?? ''
  return HOST.test(host) ? `${scheme}://${host}` : ''
}
