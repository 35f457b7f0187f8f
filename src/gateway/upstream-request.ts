import type { Deployment } from '../core/deployment.ts'
import type { Endpoint, EndpointName, UpstreamDialectName } from '../core/endpoint.ts'
import type { IncomingRequest } from '../core/exchange.ts'
import { traceparentOf } from '../core/trace-context.ts'
import type { TraceContext } from '../core/trace-context.ts'
import type { Provider, UpstreamKey } from '../core/snapshot.ts'
import type { UpstreamRequest } from '../upstream/upstream-client.ts'

/** Where a provider takes conversations, behind its base URL. */
const CONVERSATIONS: Readonly<Record<UpstreamDialectName, string>> = {
  'openai-chat': '/chat/completions',
  'anthropic-messages': '/messages',
}

/** And what else it serves. */
const PATHS: Readonly<Partial<Record<EndpointName, string>>> = {
  'messages.count_tokens': '/messages/count_tokens',
  embeddings: '/embeddings',
  rerank: '/rerank',
  'images.generations': '/images/generations',
  'video.generations': '/videos',
}

/** Client headers that a provider may see, and what they are called there; `VENDOR` stands for the configured vendor. */
const FORWARDED: Readonly<Record<UpstreamDialectName, ReadonlyArray<readonly [from: string, to: string]>>> = {
  'openai-chat': [['openai-beta', 'openai-beta']],
  'anthropic-messages': [
    ['VENDOR-version', 'anthropic-version'],
    ['VENDOR-beta', 'anthropic-beta'],
  ],
}

/** Of the messages protocol, for clients that speak another one. */
const MESSAGES_VERSION = '2023-06-01'

export interface UpstreamRequestParts {
  readonly deployment: Deployment
  readonly endpoint: Endpoint
  readonly vendor: string
  readonly request: IncomingRequest
  readonly body: Buffer
  readonly stream: boolean
  /** Null: the provider hears of no trace. */
  readonly trace: TraceContext | null
}

/** The provider's request: the client's identity as it came, the credential attached last. */
export function buildUpstreamRequest(parts: UpstreamRequestParts): UpstreamRequest {
  const { deployment, request, body } = parts
  const { provider, key } = deployment
  const { origin, pathname } = baseOf(provider.baseUrl)
  const headers: string[] = [
    'content-type',
    'application/json',
    'accept',
    parts.stream ? 'text/event-stream' : 'application/json',
    // A compressed stream would have to be inflated to be read, and holds events back.
    'accept-encoding',
    'identity',
  ]
  const userAgent = request.headers['user-agent']
  if (userAgent !== undefined) headers.push('user-agent', userAgent)
  if (parts.endpoint.dialect === provider.dialect) {
    for (const [from, to] of FORWARDED[provider.dialect]) {
      const value = request.headers[from.replace('VENDOR', parts.vendor)]
      if (value !== undefined) headers.push(to, value)
    }
  } else if (provider.dialect === 'anthropic-messages') headers.push('anthropic-version', MESSAGES_VERSION)
  if (parts.trace !== null) {
    headers.push('traceparent', traceparentOf(parts.trace))
    if (parts.trace.state !== null) headers.push('tracestate', parts.trace.state)
  }
  attachCredential(headers, provider, key)
  return {
    origin,
    path: pathname + pathOf(parts),
    method: 'POST',
    headers,
    body,
    timeouts: provider.timeouts,
    ...(parts.endpoint.name === 'video.generations' ? { once: true } : {}),
  }
}

function pathOf({ endpoint, deployment }: UpstreamRequestParts): string {
  if (endpoint.servedBy !== 'any') return PATHS[endpoint.name] ?? ''
  return CONVERSATIONS[deployment.provider.dialect]
}

/** A look at something that a provider keeps, `path` behind its base URL. */
export function buildUpstreamLook(
  provider: Provider,
  key: UpstreamKey,
  path: string,
  headers: readonly string[],
): UpstreamRequest {
  const { origin, pathname } = baseOf(provider.baseUrl)
  const all = [...headers, 'accept-encoding', 'identity']
  attachCredential(all, provider, key)
  return { origin, path: pathname + path, method: 'GET', headers: all, body: null, timeouts: provider.timeouts }
}

function attachCredential(headers: string[], provider: Provider, key: UpstreamKey): void {
  for (const name in provider.headers) headers.push(name, provider.headers[name] ?? '')
  if (provider.auth === 'bearer') headers.push('authorization', `Bearer ${key.credential}`)
  else if (provider.auth === 'x-api-key') headers.push('x-api-key', key.credential)
}

const bases = new Map<string, { origin: string; pathname: string }>()

/** Base URLs are few and come from the configuration: each is parsed once. */
function baseOf(baseUrl: string): { origin: string; pathname: string } {
  let base = bases.get(baseUrl)
  if (base === undefined) {
    const { origin, pathname } = new URL(baseUrl)
    base = { origin, pathname: pathname.replace(/\/+$/, '') }
    bases.set(baseUrl, base)
  }
  return base
}
