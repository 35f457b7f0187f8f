import { SSEClientTransport, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import type { AuthProvider, Transport } from '@modelcontextprotocol/client'
import { getDefaultEnvironment, StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import { GatewayError } from '../../../shared/core/errors.ts'
import type { ToolServer } from '../../../shared/core/tool-server.ts'
import type { UpstreamReach } from '../../../shared/core/upstream-reach.ts'
import type { UserToken } from './user-token.ts'
import { TOO_LARGE } from './server-errors.ts'

/** One message of a server: a result, or a page of a list. */
export const MAX_MESSAGE_BYTES = 4 * 1024 * 1024
const CONNECT_MS = 5_000
const RECONNECTS = {
  maxRetries: 2,
  initialReconnectionDelay: 1_000,
  maxReconnectionDelay: 10_000,
  reconnectionDelayGrowFactor: 2,
}

export type Fetch = (url: string | URL, init?: RequestInit) => Promise<Response>

/** The part of bounds that depends on the reader of the answers; see `WebFetchOptions`. */
export interface AnswerBounds {
  readonly mayStream: (method: string, sent: string | null) => boolean
  readonly onTooLarge: (sent: string | null) => string | null
}

export interface TransportParts {
  readonly reach: UpstreamReach
  /** A `fetch` that keeps to the addresses that may be called, and to bounds. */
  readonly fetchWithin: (
    options: AnswerBounds & {
      readonly publicOnly: boolean
      readonly connectMs: number
      readonly firstByteMs: number
      readonly maxBytes: number
    },
  ) => Fetch
}

/**
 * A new transport to the server. A result that is too large ends its own call; `onTooLarge` is called for any other message. Throws UPSTREAM_UNREACHABLE when its address must not be called.
 */
export function transportTo(
  server: ToolServer,
  parts: TransportParts,
  onTooLarge: () => void,
  user: UserToken | null,
): Transport {
  const { place, headers } = server
  if ('command' in place) {
    const { command, args, env, cwd } = place
    return new StdioClientTransport({
      command,
      args: [...args],
      env: { ...getDefaultEnvironment(), ...env },
      stderr: 'ignore',
      maxBufferSize: MAX_MESSAGE_BYTES,
      ...(cwd === null ? {} : { cwd }),
    })
  }
  const plain = fetchTo(server, place.url, parts, {
    // The SDK reads all other answers whole.
    mayStream: (method, sent) => method === 'GET' || (place.transport === 'http' && idOf(sent) !== null),
    onTooLarge: (sent) => {
      const id = idOf(sent)
      if (id !== null) return tooLargeEvent(id)
      onTooLarge()
      return null
    },
  })
  const url = new URL(place.url)
  const requestInit = { headers: { ...headers }, redirect: 'error' as const }
  const options = { requestInit, ...(user === null ? { fetch: plain } : withTokens(plain, user)) }
  return place.transport === 'sse'
    ? new SSEClientTransport(url, options)
    : new StreamableHTTPClientTransport(url, { ...options, reconnectionOptions: RECONNECTS })
}

/** Calls the address of a server within bounds. Throws UPSTREAM_UNREACHABLE when it must not be called. */
export function fetchTo(
  { headers, source, timeoutMs }: ToolServer,
  url: string,
  parts: TransportParts,
  bounds: AnswerBounds,
): Fetch {
  if (headers === null) {
    throw new GatewayError('UPSTREAM_UNREACHABLE', {
      message: 'The headers of the tool server cannot be read: set them again.',
    })
  }
  const publicOnly = source === 'stored'
  const refusal = publicOnly ? parts.reach.refusalOf(new URL(url)) : null
  if (refusal !== null) {
    throw new GatewayError('UPSTREAM_UNREACHABLE', { message: `The address of the tool server ${refusal}.` })
  }
  return parts.fetchWithin({
    publicOnly,
    connectMs: CONNECT_MS,
    firstByteMs: timeoutMs,
    maxBytes: MAX_MESSAGE_BYTES,
    ...bounds,
  })
}

/** Sends the tokens of a user. Several calls may be refused with one token, also after another one is here. */
function withTokens(fetch: Fetch, user: UserToken): { readonly fetch: Fetch; readonly authProvider: AuthProvider } {
  const refused = new WeakMap<Response, string>()
  return {
    fetch: async (url, init) => {
      const response = await fetch(url, init)
      const [, token] = /^Bearer (.+)$/.exec(new Headers(init?.headers).get('authorization') ?? '') ?? []
      if (response.status === 401 && token !== undefined) refused.set(response, token)
      return response
    },
    authProvider: {
      token: () => user.token(),
      onUnauthorized: async ({ response }) => {
        const token = refused.get(response)
        if (token !== undefined) await user.refused(token)
      },
    },
  }
}

/** The id of a message that is a request; null: it is none. Our answers to a server have an id, and no method. */
function idOf(sent: string | null): string | number | null {
  const { id, method } = JSON.parse(sent ?? '{}') as { readonly id?: string | number; readonly method?: string }
  return method === undefined ? null : (id ?? null)
}

function tooLargeEvent(id: string | number): string {
  const error = { code: TOO_LARGE, message: 'the result is too large' }
  return `event: message\ndata: ${JSON.stringify({ jsonrpc: '2.0', id, error })}\n\n`
}
