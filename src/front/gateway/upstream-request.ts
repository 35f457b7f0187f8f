import type { Deployment } from '../../shared/core/deployment.ts'
import type { Endpoint } from '../../shared/core/endpoint.ts'
import type { IncomingRequest } from '../../shared/core/exchange.ts'
import { traceparentOf } from '../../shared/core/trace-context.ts'
import type { TraceContext } from '../../shared/core/trace-context.ts'
import type { AuthStyle, Provider, UpstreamTimeouts } from '../../shared/core/snapshot.ts'
import { readBetas } from '../../dialects/anthropic-messages/cloud-betas.ts'
import { BEDROCK_SERVICE } from '../../dialects/bedrock-converse/address.ts'
import { upstreamCodec } from '../../dialects/codecs.ts'
import { serviceCodec } from '../../dialects/services/codecs.ts'
import { signAwsRequest } from '../upstream/aws-signature.ts'
import type { AwsRequest } from '../upstream/aws-signature.ts'
import type { UpstreamRequest } from '../upstream/upstream-client.ts'
import { addressOf, credentialHeader, isSigned } from './upstream-address.ts'

/** The beta flags that a client of the messages protocol has set. */
export function betasOf(endpoint: Endpoint, request: IncomingRequest, vendor: string): readonly string[] {
  return endpoint.dialect === 'anthropic-messages' ? readBetas(request.headers[`${vendor}-beta`]) : []
}

export interface UpstreamRequestParts {
  readonly deployment: Deployment
  /** The credential to send: the key's own, or the current access token for it. */
  readonly credential: string
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
  const { deployment, request, body } = parts
  const { provider, key, service } = deployment
  const auth = service?.auth ?? provider.auth
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
  if (isSigned(auth, key.credential)) sign(headers, { origin, path, body }, key.credential, parts.nowMs)
  return {
    origin,
    path,
    method: 'POST',
    headers,
    common: commonHeaders(parts, auth),
    body,
    timeouts: parts.timeouts ?? provider.timeouts,
    ...(provider.publicOnly === true ? { publicOnly: true } : {}),
    ...(parts.endpoint.beginsJob ? { once: true } : {}),
  }
}

interface CommonHeaders {
  readonly credential: string
  readonly whole: readonly string[]
  readonly stream: readonly string[]
}

const common = new WeakMap<Deployment, CommonHeaders>()

/** The headers that all calls of a deployment share. One list is used as long as the credential does not change. */
function commonHeaders({ deployment, credential, stream }: UpstreamRequestParts, auth: AuthStyle): readonly string[] {
  let known = common.get(deployment)
  if (known?.credential !== credential) {
    const headers = (accept: string): string[] => {
      // Compression holds events back, and the gateway would have to inflate the stream.
      const list = ['content-type', 'application/json', 'accept', accept, 'accept-encoding', 'identity']
      attachCredential(list, deployment.provider, credential, auth)
      return list
    }
    known = { credential, whole: headers('application/json'), stream: headers('text/event-stream') }
    common.set(deployment, known)
  }
  return stream ? known.stream : known.whole
}

/**
 * Builds a GET request for something that a provider stores.
 * @param credential see `UpstreamRequestParts`
 * @param address `auth` is null for a host other than the provider's, which must not get the credential or the provider's headers
 */
export function buildUpstreamLook(
  provider: Provider,
  credential: string,
  address: { readonly origin: string; readonly path: string; readonly auth: AuthStyle | null },
  headers: readonly string[],
): UpstreamRequest {
  const { origin, path, auth } = address
  const all = [...headers, 'accept-encoding', 'identity']
  if (auth !== null) attachCredential(all, provider, credential, auth)
  // The provider, not the operator, chose an address with `auth` null.
  const publicOnly = auth === null || provider.publicOnly === true
  return { origin, path, method: 'GET', headers: all, body: null, timeouts: provider.timeouts, publicOnly }
}

function attachCredential(headers: string[], provider: Provider, credential: string, auth: AuthStyle): void {
  for (const name in provider.headers) headers.push(name, provider.headers[name] ?? '')
  const header = credentialHeader(auth, credential)
  if (header !== null) headers.push(...header)
}

/** Hosts of private endpoints have a prefix before `bedrock-runtime`. */
const BEDROCK_HOST = /(?:^|\.)bedrock-runtime(?:-fips)?\.([a-z0-9-]+)\./
const DEFAULT_REGION = 'us-east-1'

/** Signs the request. @param credential `access key:secret` or `access key:secret:session token` */
function sign(
  headers: string[],
  { origin, path, body }: Pick<UpstreamRequest, 'origin' | 'path'> & { readonly body: Buffer },
  credential: string,
  nowMs: number,
): void {
  const [accessKeyId = '', secretAccessKey = '', ...token] = credential.split(':')
  const host = origin.slice(origin.indexOf('//') + 2)
  const request: AwsRequest = {
    method: 'POST',
    host,
    path,
    region: BEDROCK_HOST.exec(host)?.[1] ?? DEFAULT_REGION,
    service: BEDROCK_SERVICE,
    headers: { 'content-type': 'application/json' },
    body,
  }
  const sessionToken = token.length === 0 ? null : token.join(':')
  const signed = signAwsRequest(request, { accessKeyId, secretAccessKey, sessionToken }, nowMs)
  for (const [name, value] of Object.entries(signed)) headers.push(name, value)
}
