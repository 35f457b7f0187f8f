import type { HeaderList, IncomingRequest } from '../../shared/core/exchange.ts'

const PREFLIGHT_SECONDS = '600'
const METHODS = 'GET, POST, PUT, PATCH, DELETE'
/** The headers of an answer that a script may read. */
const EXPOSED = [
  'X-Request-Id',
  'request-id',
  'Retry-After',
  'X-RateLimit-Limit-Requests',
  'X-RateLimit-Remaining-Requests',
  'X-RateLimit-Reset-Requests',
  'X-RateLimit-Limit-Tokens',
  'X-RateLimit-Remaining-Tokens',
  'X-RateLimit-Reset-Tokens',
  'X-Sluice-Dropped',
  'Server-Timing',
  'ETag',
  'Idempotent-Replayed',
  'Mcp-Session-Id',
  'WWW-Authenticate',
].join(', ')

const NONE: HeaderList = []
const VARY: HeaderList[number] = ['Vary', 'Origin']

/** Decides which pages may call from a browser. Keys travel in headers, never in cookies, so credentials are not allowed. */
export interface Cors {
  /** The headers for every answer to this request. */
  headers(request: IncomingRequest): HeaderList
  /** The headers of the answer to a preflight from an allowed origin; null for all other requests. */
  preflight(request: IncomingRequest): HeaderList | null
}

/** @param origins as browsers send them, or `*` for all; empty: off */
export function createCors(origins: readonly string[]): Cors {
  const any = origins.includes('*')
  const known = new Set(origins)
  const isAllowed = (origin: string | undefined): origin is string => origin !== undefined && (any || known.has(origin))
  return {
    headers({ headers: { origin } }) {
      if (known.size === 0) return NONE
      const shared: HeaderList = any ? NONE : [VARY]
      if (!isAllowed(origin)) return shared
      return [
        ...shared,
        ['Access-Control-Allow-Origin', any ? '*' : origin],
        ['Access-Control-Expose-Headers', EXPOSED],
      ]
    },
    preflight({ method, headers }) {
      if (method !== 'OPTIONS' || headers['access-control-request-method'] === undefined) return null
      if (!isAllowed(headers['origin'])) return null
      return [
        ['Access-Control-Allow-Methods', METHODS],
        // Allows any header: a list would need the headers of every client library.
        ['Access-Control-Allow-Headers', headers['access-control-request-headers'] ?? '*'],
        ['Access-Control-Max-Age', PREFLIGHT_SECONDS],
      ]
    },
  }
}
