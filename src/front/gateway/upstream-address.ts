import type { Endpoint } from '../../shared/core/endpoint.ts'
import type { Deployment } from '../../shared/core/deployment.ts'
import type { Service } from '../../shared/core/service.ts'
import { azureApi, azurePath } from '../../dialects/azure-openai/address.ts'
import { upstreamCodec } from '../../dialects/codecs.ts'
import { CHAT_PATH } from '../../dialects/openai-chat/codec.ts'
import { serviceCodec } from '../../dialects/services/codecs.ts'

/** The path after the base URL of the messages protocol. */
const COUNT_PATH = '/messages/count_tokens'

/** Origin and path of a call; the path includes the query. */
export function addressOf(
  endpoint: Endpoint,
  { provider, upstreamModel, service }: Deployment,
  stream: boolean,
): { readonly origin: string; readonly path: string } {
  const { origin, pathname } = baseOf(provider.baseUrl)
  if (provider.apiVersion !== undefined) {
    const { prefix, api } = azureApi(pathname, provider.apiVersion)
    const operation = service === undefined ? CHAT_PATH : serviceCodec(service.protocol).path('', upstreamModel)
    return { origin, path: prefix + azurePath(api, upstreamModel, operation) }
  }
  if (service !== undefined) {
    return { origin, path: serviceCodec(service.protocol).path(serviceBase(service, pathname), upstreamModel) }
  }
  if (endpoint.countsTokens) return { origin, path: pathname + COUNT_PATH }
  return { origin, path: upstreamCodec(provider.dialect).path(pathname, upstreamModel, stream) }
}

/** The base path of a service, without a trailing slash. */
export function serviceBase(service: Service | undefined, pathname: string): string {
  const base = service?.base
  return base === undefined ? pathname : base.replace(/\/+$/, '')
}

const bases = new Map<string, { origin: string; pathname: string }>()

/** Parses each base URL once: they are few and come from the configuration. */
export function baseOf(baseUrl: string): { origin: string; pathname: string } {
  let base = bases.get(baseUrl)
  if (base === undefined) {
    const { origin, pathname } = new URL(baseUrl)
    base = { origin, pathname: pathname.replace(/\/+$/, '') }
    bases.set(baseUrl, base)
  }
  return base
}
