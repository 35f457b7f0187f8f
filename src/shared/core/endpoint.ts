import type { ServiceName } from './service.ts'

/** The wire language of a client. */
export type DialectName = 'openai-chat' | 'openai-responses' | 'anthropic-messages'

/** Spoken by clients and by upstreams. */
export type CommonDialectName = Exclude<DialectName, 'openai-responses'>

/** The wire language of an upstream. */
export type UpstreamDialectName =
  CommonDialectName | 'anthropic-vertex' | 'bedrock-converse' | 'bedrock-invoke' | 'cohere-chat' | 'gemini'

/** Upstreams of one dialect, or of any: conversations are translated; or those that have a service besides conversations. */
export type ServedBy = UpstreamDialectName | 'any' | ServiceName

/** What the bodies of an endpoint are written in: its clients' dialect, or a small language of its own under that one's errors. */
export type BodyDialectName = DialectName | 'openai-embeddings' | 'rerank' | 'openai-images' | 'openai-videos'

export type EndpointName =
  | 'chat.completions'
  | 'responses'
  | 'messages'
  | 'messages.count_tokens'
  | 'embeddings'
  | 'rerank'
  | 'images.generations'
  | 'video.generations'
  | 'video.get'
  | 'models.list'
  | 'models.get'

/** A public AI route: which language its clients speak and how it is served. */
export interface Endpoint {
  readonly name: EndpointName
  /** Decides the shape of errors. */
  readonly dialect: DialectName
  readonly servedBy: ServedBy
  readonly bodies: BodyDialectName
  readonly streams: boolean
}

export const ENDPOINTS = {
  chat: { name: 'chat.completions', dialect: 'openai-chat', servedBy: 'any', bodies: 'openai-chat', streams: true },
  responses: {
    name: 'responses',
    dialect: 'openai-responses',
    servedBy: 'any',
    bodies: 'openai-responses',
    streams: true,
  },
  messages: {
    name: 'messages',
    dialect: 'anthropic-messages',
    servedBy: 'any',
    bodies: 'anthropic-messages',
    streams: true,
  },
  countTokens: {
    name: 'messages.count_tokens',
    dialect: 'anthropic-messages',
    servedBy: 'anthropic-messages',
    bodies: 'anthropic-messages',
    streams: false,
  },
  embeddings: {
    name: 'embeddings',
    dialect: 'openai-chat',
    servedBy: 'embeddings',
    bodies: 'openai-embeddings',
    streams: false,
  },
  rerank: { name: 'rerank', dialect: 'openai-chat', servedBy: 'rerank', bodies: 'rerank', streams: false },
  images: {
    name: 'images.generations',
    dialect: 'openai-chat',
    servedBy: 'images',
    bodies: 'openai-images',
    streams: false,
  },
  video: {
    name: 'video.generations',
    dialect: 'openai-chat',
    servedBy: 'videos',
    bodies: 'openai-videos',
    streams: false,
  },
  videoJob: {
    name: 'video.get',
    dialect: 'openai-chat',
    servedBy: 'openai-chat',
    bodies: 'openai-chat',
    streams: false,
  },
  modelList: {
    name: 'models.list',
    dialect: 'openai-chat',
    servedBy: 'openai-chat',
    bodies: 'openai-chat',
    streams: false,
  },
  model: { name: 'models.get', dialect: 'openai-chat', servedBy: 'openai-chat', bodies: 'openai-chat', streams: false },
} as const satisfies Record<string, Endpoint>
