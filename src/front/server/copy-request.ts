import type { IncomingRequest } from '../../shared/core/exchange.ts'
import type { ClientAddresses } from './client-address.ts'
import { copyHeaders, isMethod, isTarget } from './framing-guard.ts'
import type { HttpRequest, HttpResponse } from './uws.ts'

/** Copies everything that is needed later: the server reuses its request object as soon as the handler returns. */
export function copyRequest(
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
  const { headers, hasTags, fault, chunked, contentLength } = copyHeaders(req)
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
    hasTags,
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

export function hasBody(method: string): boolean {
  return method === 'POST' || method === 'PUT' || method === 'PATCH'
}
