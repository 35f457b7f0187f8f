import type { ServiceName } from '../shared/core/service.ts'
import type { RequestHead } from './http-head.ts'
import { foreignLook, foreignService } from './services/foreign.ts'
import { ownService } from './services/own.ts'
import type { ForeignLook, ForeignService } from './services/service.ts'

export type Route =
  | { readonly kind: 'chat' | 'messages' | 'count-tokens' | 'models' | 'probe' | 'unknown' | 'control' }
  | { readonly kind: 'cohere' | 'azure' }
  | { readonly kind: 'converse' | 'invoke'; readonly model: string; readonly stream: boolean }
  | { readonly kind: 'vertex-messages'; readonly model: string; readonly stream: boolean }
  | { readonly kind: 'gemini' | 'gemini-tokens'; readonly model: string; readonly stream: boolean }
  | { readonly kind: 'own'; readonly service: ServiceName }
  | { readonly kind: 'service'; readonly service: ForeignService }
  | { readonly kind: 'look'; readonly look: ForeignLook }
  | { readonly kind: 'model' | 'video' | 'video-content'; readonly id: string }

const VIDEO_CONTENT = /\/videos\/([^/]+)\/content$/
const VIDEO = /\/videos\/([^/]+)$/

const BEDROCK = /\/model\/([^/]+)\/(converse|invoke)(-stream|-with-response-stream)?$/
const AZURE = /\/(?:openai\/(?:deployments\/[^/]+|v1)|models)\/chat\/completions$/
const VERTEX_MESSAGES =
  /\/v1\/projects\/[^/]+\/locations\/[^/]+\/publishers\/anthropic\/models\/([^/:]+):(rawPredict|streamRawPredict)$/
const GEMINI = /\/models\/([^/:]+):(generateContent|streamGenerateContent|countTokens)$/

const CHAT: Route = { kind: 'chat' }
const MESSAGES: Route = { kind: 'messages' }
const COUNT_TOKENS: Route = { kind: 'count-tokens' }
const MODELS: Route = { kind: 'models' }
const PROBE: Route = { kind: 'probe' }
const UNKNOWN: Route = { kind: 'unknown' }
const CONTROL: Route = { kind: 'control' }

/** The endpoint of a request; any prefix of the path is accepted. */
export function routeOf(head: RequestHead): Route {
  const { method, path } = head
  if (path.startsWith('/__sim/')) return CONTROL
  if (method === 'POST') {
    const service = foreignService(head)
    if (service !== null) return { kind: 'service', service }
    if (AZURE.test(path)) return { kind: 'azure' }
    if (path.endsWith('/chat/completions')) return CHAT
    if (path.endsWith('/v2/chat')) return { kind: 'cohere' }
    const [, model, operation, stream] = BEDROCK.exec(path) ?? []
    if (model !== undefined) {
      return {
        kind: operation === 'invoke' ? 'invoke' : 'converse',
        model: decode(model),
        stream: stream !== undefined,
      }
    }
    const [, claude, prediction] = VERTEX_MESSAGES.exec(path) ?? []
    if (claude !== undefined) {
      return { kind: 'vertex-messages', model: decode(claude), stream: prediction === 'streamRawPredict' }
    }
    const gemini = geminiRoute(path)
    if (gemini !== null) return gemini
    if (path.endsWith('/messages')) return MESSAGES
    if (path.endsWith('/messages/count_tokens')) return COUNT_TOKENS
    const own = ownService(path)
    return own === null ? UNKNOWN : { kind: 'own', service: own }
  }
  if (method !== 'GET' && method !== 'HEAD') return UNKNOWN
  const look = foreignLook(head)
  if (look !== null) return { kind: 'look', look }
  if (path.endsWith('/models')) return MODELS
  const content = VIDEO_CONTENT.exec(path)?.[1]
  if (content !== undefined) return { kind: 'video-content', id: decode(content) }
  const video = VIDEO.exec(path)?.[1]
  if (video !== undefined) return { kind: 'video', id: decode(video) }
  const models = path.lastIndexOf('/models/')
  if (models !== -1) return { kind: 'model', id: decode(path.slice(models + '/models/'.length)) }
  return path === '/' || path === '/api/hello' ? PROBE : UNKNOWN
}

function geminiRoute(path: string): Route | null {
  const [, model, operation] = GEMINI.exec(path) ?? []
  if (model === undefined) return null
  const kind = operation === 'countTokens' ? 'gemini-tokens' : 'gemini'
  return { kind, model: decode(model), stream: operation === 'streamGenerateContent' }
}

/** The upstream key of a request (the key id of a signed one), '' when it has none. The header that the dialect prefers wins. */
export function credentialOf({ headers }: RequestHead, route: Route): string {
  const authorization = headers['authorization']
  const signer =
    authorization === undefined ? undefined : /^AWS4-HMAC-SHA256 Credential=([^/]+)\//.exec(authorization)?.[1]
  if (signer !== undefined) return signer
  const bearer = authorization === undefined ? undefined : /^bearer\s+(.*)$/i.exec(authorization)?.[1]
  const apiKey = headers['x-api-key']
  if (route.kind === 'messages' || route.kind === 'count-tokens') return apiKey ?? bearer ?? ''
  return bearer ?? headers['api-key'] ?? headers['x-goog-api-key'] ?? apiKey ?? ''
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}
