/** The wire language of a client or an upstream. */
export type DialectName = 'openai-chat' | 'anthropic-messages'

/** What the bodies of an endpoint are written in: its clients' dialect, or a small language of its own under that one's errors. */
export type BodyDialectName = DialectName | 'openai-embeddings' | 'rerank' | 'openai-images' | 'openai-videos'

export type EndpointName =
  | 'chat.completions'
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
  /** Decides the shape of errors, and which providers can serve it. */
  readonly dialect: DialectName
  readonly bodies: BodyDialectName
  readonly streams: boolean
}

export const ENDPOINTS = {
  chat: { name: 'chat.completions', dialect: 'openai-chat', bodies: 'openai-chat', streams: true },
  messages: { name: 'messages', dialect: 'anthropic-messages', bodies: 'anthropic-messages', streams: true },
  countTokens: {
    name: 'messages.count_tokens',
    dialect: 'anthropic-messages',
    bodies: 'anthropic-messages',
    streams: false,
  },
  embeddings: { name: 'embeddings', dialect: 'openai-chat', bodies: 'openai-embeddings', streams: false },
  rerank: { name: 'rerank', dialect: 'openai-chat', bodies: 'rerank', streams: false },
  images: { name: 'images.generations', dialect: 'openai-chat', bodies: 'openai-images', streams: false },
  video: { name: 'video.generations', dialect: 'openai-chat', bodies: 'openai-videos', streams: false },
  videoJob: { name: 'video.get', dialect: 'openai-chat', bodies: 'openai-chat', streams: false },
  modelList: { name: 'models.list', dialect: 'openai-chat', bodies: 'openai-chat', streams: false },
  model: { name: 'models.get', dialect: 'openai-chat', bodies: 'openai-chat', streams: false },
} as const satisfies Record<string, Endpoint>
