import type { Deployment } from '../../shared/core/deployment.ts'
import type { Endpoint } from '../../shared/core/endpoint.ts'
import type { IncomingRequest } from '../../shared/core/exchange.ts'
import { traceparentOf } from '../../shared/core/trace-context.ts'
import type { TraceContext } from '../../shared/core/trace-context.ts'
import type { Provider, UpstreamKey, UpstreamTimeouts } from '../../shared/core/snapshot.ts'
import { readBetas } from '../../dialects/anthropic-messages/cloud-betas.ts'
import { awsScope } from '../../dialects/bedrock-converse/address.ts'
import { upstreamCodec } from '../../dialects/codecs.ts'
import { serviceCodec } from '../../dialects/services/codecs.ts'
import { callCredential } from '../upstream/credentials.ts'
import type { CallCredential } from '../upstream/credentials.ts'
import type { UpstreamRequest } from '../upstream/upstream-client.ts'
import { addressOf } from './upstream-address.ts'

/** The beta flags that a client of the messages protocol has set. */
export function betasOf(endpoint: Endpoint, request: IncomingRequest, vendor: string): readonly string[] {
  return endpoint.dialect === 'anthropic-messages' ? readBetas(request.headers[`${vendor}-beta`]) : []
}

export interface UpstreamRequestParts {
  readonly deployment: Deployment
  readonly credential: CallCredential
  readonly endpoint: Endpoint
  readonly vendor: string
  readonly request: IncomingRequest
  /** Default: the timeouts of the provider. */
  readonly timeouts?: UpstreamTimeouts
  readonly body: Buffer
  readonly stream: boolean
  /** Null: the provider gets no trace headers. */
  readonly trace: TraceContext | null
  /** Unix milliseconds, for signatures. */
  readonly nowMs: number
}

/** Builds the provider's request. It has the client's user agent unchanged, and the credential last. */
export function buildUpstreamRequest(parts: UpstreamRequestParts): UpstreamRequest {
  const { credential, deployment, request, body } = parts
  const { provider, service } = deployment
  const { origin, path } = addressOf(parts.endpoint, deployment, parts.stream)
  const headers: string[] = []
  const userAgent = request.headers['user-agent']
  if (userAgent !== undefined) headers.push('user-agent', userAgent)
  const { dialect } = parts.endpoint
  upstreamCodec(provider.dialect).addHeaders?.(headers, { dialect, headers: request.headers, vendor: parts.vendor })
  if (parts.trace !== null) {
    headers.push('traceparent', traceparentOf(parts.trace))
    if (parts.trace.state !== null) headers.push('tracestate', parts.trace.state)
  }
  if (service !== undefined) headers.push(...(serviceCodec(service.protocol).headers ?? []))
  if (credential.sign !== null) {
    const host = origin.slice(origin.indexOf('//') + 2)
    const signed = { method: 'POST', host, path, ...awsScope(host), headers: SIGNED_HEADERS, body } as const
    headers.push(...credential.sign(signed, parts.nowMs))
  }
  return {
    origin,
    path,
    method: 'POST',
    headers,
    common: commonHeaders(parts),
    body,
    timeouts: parts.timeouts ?? provider.timeouts,
    ...(provider.publicOnly === true ? { publicOnly: true } : {}),
    ...(parts.endpoint.beginsJob ? { once: true } : {}),
  }
}

const SIGNED_HEADERS = { 'content-type': 'application/json' }

interface CommonHeaders {
  readonly credential: CallCredential
  readonly whole: readonly string[]
  readonly stream: readonly string[]
}

const common = new WeakMap<Deployment, CommonHeaders>()

/** The headers that all calls of a deployment share. One list is used as long as the credential does not change. */
function commonHeaders({ deployment, credential, stream }: UpstreamRequestParts): readonly string[] {
  let known = common.get(deployment)
  if (known?.credential !== credential) {
    const headers = (accept: string): string[] => {
      // Compression holds events back, and the gateway would have to inflate the stream.
      const list = ['content-type', 'application/json', 'accept', accept, 'accept-encoding', 'identity']
      attachCredential(list, deployment.provider, credential)
      return list
    }
    known = { credential, whole: headers('application/json'), stream: headers('text/event-stream') }
    common.set(deployment, known)
  }
  return stream ? known.stream : known.whole
}

/**
 * Builds a GET request for something that a provider stores.
 * @param credential null for a host other than the provider's, which must not get the credential or the provider's headers
 */
export function buildUpstreamLook(
  provider: Provider,
  credential: CallCredential | null,
  address: { readonly origin: string; readonly path: string },
  headers: readonly string[],
): UpstreamRequest {
  const { origin, path } = address
  const all = [...headers, 'accept-encoding', 'identity']
  if (credential !== null) attachCredential(all, provider, credential)
  // The provider, not the operator, chose the address of another host.
  const publicOnly = credential === null || provider.publicOnly === true
  return { origin, path, method: 'GET', headers: all, body: null, timeouts: provider.timeouts, publicOnly }
}

/** Builds a GET request that checks a key. The key of a service account is not checked: its access token would have to be fetched. */
export function buildKeyCheck(
  provider: Provider,
  key: UpstreamKey,
  address: { readonly origin: string; readonly path: string },
  headers: readonly string[],
): UpstreamRequest {
  return buildUpstreamLook(provider, callCredential(provider.auth, key.credential), address, headers)
}

function attachCredential(headers: string[], provider: Provider, credential: CallCredential): void {
  for (const name in provider.headers) headers.push(name, provider.headers[name] ?? '')
  headers.push(...credential.headers)
}
