import { GatewayError } from '../../../shared/core/errors.ts'
import type { ToolServer } from '../../../shared/core/tool-server.ts'
import type { Fetch, TransportParts } from './transports.ts'

const CONNECT_MS = 5_000
/** Of one request, its answer included. */
const DEADLINE_MS = 10_000
const MAX_ANSWER_BYTES = 262_144

/**
 * Calls the addresses that the metadata of a server names. They are held to the reach of upstreams, also for a server of the
 * configuration file: the operator gave the address of the server, and no other one. Its headers go to its own origin alone.
 */
export function oauthFetch(server: ToolServer, serverUrl: string, parts: TransportParts): Fetch {
  const { origin } = new URL(serverUrl)
  return async (address, init = {}) => {
    const url = new URL(address)
    const isOwn = url.origin === origin
    const publicOnly = server.source === 'stored' || !isOwn
    refuseOutside(url, publicOnly, parts)
    const call = parts.fetchWithin({
      publicOnly,
      connectMs: CONNECT_MS,
      firstByteMs: DEADLINE_MS,
      maxBytes: MAX_ANSWER_BYTES,
      mayStream: () => false,
      onTooLarge: () => null,
    })
    const headers = new Headers(init.headers)
    if (isOwn) for (const [name, value] of Object.entries(server.headers ?? {})) headers.set(name, value)
    const { body } = init
    // The client of upstreams sends texts alone.
    const isForm = body instanceof URLSearchParams
    if (isForm) headers.set('content-type', 'application/x-www-form-urlencoded')
    const sent = isForm ? { body: body.toString() } : {}
    return call(url, { ...init, headers, ...sent, signal: AbortSignal.timeout(DEADLINE_MS) })
  }
}

/** Throws UPSTREAM_UNREACHABLE for an address that must not be called, or shown to a browser. */
export function refuseOutside(url: URL, publicOnly: boolean, { reach }: Pick<TransportParts, 'reach'>): void {
  if (url.protocol !== 'https:' && url.protocol !== 'http:') throw outside('must begin with https://')
  const refusal = publicOnly ? reach.refusalOf(url) : null
  if (refusal !== null) throw outside(refusal)
}

function outside(refusal: string): GatewayError {
  return new GatewayError('UPSTREAM_UNREACHABLE', {
    message: `An address for the authorization at the tool server ${refusal}.`,
  })
}
