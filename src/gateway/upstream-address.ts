import type { Endpoint, EndpointName } from '../core/endpoint.ts'
import type { Deployment } from '../core/deployment.ts'
import type { AuthStyle, Provider } from '../core/snapshot.ts'
import { vertexMessagesPath } from '../dialects/anthropic-vertex/address.ts'
import { azureApi, azurePath } from '../dialects/azure-openai/address.ts'
import { bedrockPath } from '../dialects/bedrock-converse/address.ts'
import { COHERE_CHAT_PATH } from '../dialects/cohere-chat/address.ts'
import { bearer } from '../dialects/credential-header.ts'
import type { CredentialHeader } from '../dialects/credential-header.ts'
import { geminiPath } from '../dialects/gemini/address.ts'
import type { VertexPlace } from '../dialects/gemini/address.ts'

/** Where providers of OpenAI's kind serve an endpoint, behind their base URL. */
const PATHS: Readonly<Partial<Record<EndpointName, string>>> = {
  'chat.completions': '/chat/completions',
  'messages.count_tokens': '/messages/count_tokens',
  embeddings: '/embeddings',
  rerank: '/rerank',
  'images.generations': '/images/generations',
  'video.generations': '/videos',
}

const VERTEX = /^\/v1\/projects\/([^/]+)\/locations\/([^/]+)/

/** Origin and path of a call; query included. */
export function addressOf(
  endpoint: Endpoint,
  { provider, upstreamModel }: Deployment,
  stream: boolean,
): { readonly origin: string; readonly path: string } {
  const { origin, pathname } = baseOf(provider.baseUrl)
  const operation = PATHS[endpoint.servedBy === 'any' ? 'chat.completions' : endpoint.name] ?? ''
  if (provider.apiVersion !== undefined) {
    const { prefix, api } = azureApi(pathname, provider.apiVersion)
    return { origin, path: prefix + azurePath(api, upstreamModel, operation) }
  }
  if (endpoint.servedBy !== 'any') return { origin, path: pathname + operation }
  switch (provider.dialect) {
    case 'openai-chat':
      return { origin, path: pathname + operation }
    case 'anthropic-messages':
      return { origin, path: `${pathname}/messages` }
    case 'gemini': {
      const place = vertexPlace(pathname)
      const path = geminiPath(upstreamModel, stream ? 'streamGenerateContent' : 'generateContent', place)
      return { origin, path: place === null ? pathname + path : path }
    }
    case 'anthropic-vertex': {
      const place = vertexPlace(pathname)
      // The configuration was checked to name a place.
      return { origin, path: place === null ? pathname : vertexMessagesPath(upstreamModel, stream, place) }
    }
    case 'bedrock-invoke':
      return {
        origin,
        path: pathname + bedrockPath(upstreamModel, stream ? 'invoke-with-response-stream' : 'invoke'),
      }
    case 'bedrock-converse':
      return { origin, path: pathname + bedrockPath(upstreamModel, stream ? 'converse-stream' : 'converse') }
    case 'cohere-chat':
      return { origin, path: pathname + COHERE_CHAT_PATH }
  }
}

/** A base URL with project and location is one of Vertex AI. */
function vertexPlace(pathname: string): VertexPlace | null {
  const [, project, location] = VERTEX.exec(pathname) ?? []
  if (project === undefined || location === undefined) return null
  return { project: decodeURIComponent(project), location: decodeURIComponent(location) }
}

/** Null where no header alone lets a call in. @param credential what is sent: of a service account, its access token */
export function credentialHeader({ auth }: Provider, credential: string): CredentialHeader | null {
  return isSigned(auth, credential) ? null : HEADERS[auth](credential)
}

/** Of `aws`, a credential with a colon is an access key and its secret; one without is an API key. */
export function isSigned(auth: AuthStyle, credential: string): boolean {
  return auth === 'aws' && credential.includes(':')
}

const HEADERS: Readonly<Record<AuthStyle, (credential: string) => CredentialHeader | null>> = {
  bearer,
  aws: bearer,
  google: bearer,
  'x-api-key': (credential) => ['x-api-key', credential],
  'api-key': (credential) => ['api-key', credential],
  'x-goog-api-key': (credential) => ['x-goog-api-key', credential],
  none: () => null,
}

const bases = new Map<string, { origin: string; pathname: string }>()

/** Base URLs are few and come from the configuration: each is parsed once. */
export function baseOf(baseUrl: string): { origin: string; pathname: string } {
  let base = bases.get(baseUrl)
  if (base === undefined) {
    const { origin, pathname } = new URL(baseUrl)
    base = { origin, pathname: pathname.replace(/\/+$/, '') }
    bases.set(baseUrl, base)
  }
  return base
}
