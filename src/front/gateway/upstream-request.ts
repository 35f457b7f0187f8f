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

/** The flags that a client of messages has set. */
export function betasOf(endpoint: Endpoint, request: IncomingRequest, vendor: string): readonly string[] {
  return endpoint.dialect === 'anthropic-messages' ? readBetas(request.headers[`${vendor}-beta`]) : []
}

export interface UpstreamRequestParts {
  readonly deployment: Deployment
  /** What is sent of the key: its credential, or the access token that stands for it at the moment. */
  readonly credential: string
  readonly endpoint: Endpoint
  readonly vendor: string
  readonly request: IncomingRequest
  /** Default: those of the provider. */
  readonly timeouts?: UpstreamTimeouts
  readonly body: Buffer
  readonly stream: boolean
  /** Null: the provider hears of no trace. */
  readonly trace: TraceContext | null
  /** Unix milliseconds: signatures are of a time. */
  readonly nowMs: number
}

/** The provider's request: the client's identity as it came, the credential attached last. */
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

/** What the calls of a deployment have in common, one list for as long as its credential stays. */
function commonHeaders({ deployment, credential, stream }: UpstreamRequestParts, auth: AuthStyle): readonly string[] {
  let known = common.get(deployment)
  if (known?.credential !== credential) {
    const headers = (accept: string): string[] => {
      // A compressed stream would have to be inflated to be read, and holds events back.
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
 * A look at something that a provider keeps.
 * @param credential what is sent of the key, see `UpstreamRequestParts`
 * @param address with `auth` null: elsewhere, where nothing of the provider's is to be shown
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
  // Elsewhere is where the provider says, not the operator.
  const publicOnly = auth === null || provider.publicOnly === true
  return { origin, path, method: 'GET', headers: all, body: null, timeouts: provider.timeouts, publicOnly }
}

function attachCredential(headers: string[], provider: Provider, credential: string, auth: AuthStyle): void {
  for (const name in provider.headers) headers.push(name, provider.headers[name] ?? '')
  const header = credentialHeader(auth, credential)
  if (header !== null) headers.push(...header)
}

/** Private endpoints have a name of their own ahead of it. */
const BEDROCK_HOST = /(?:^|\.)bedrock-runtime(?:-fips)?\.([a-z0-9-]+)\./
const DEFAULT_REGION = 'us-east-1'

/** The credential is `access key:secret` or `access key:secret:session token`. */
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
