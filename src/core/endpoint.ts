/** The wire language of a client or an upstream. */
export type DialectName = 'openai-chat' | 'anthropic-messages'

export type EndpointName = 'chat.completions' | 'messages' | 'messages.count_tokens' | 'models.list' | 'models.get'

/** A public AI route: which language its clients speak and how it is served. */
export interface Endpoint {
  readonly name: EndpointName
  /** Decides the shape of bodies and errors. */
  readonly dialect: DialectName
  readonly streams: boolean
}

export const ENDPOINTS = {
  chat: { name: 'chat.completions', dialect: 'openai-chat', streams: true },
  messages: { name: 'messages', dialect: 'anthropic-messages', streams: true },
  countTokens: { name: 'messages.count_tokens', dialect: 'anthropic-messages', streams: false },
  modelList: { name: 'models.list', dialect: 'openai-chat', streams: false },
  model: { name: 'models.get', dialect: 'openai-chat', streams: false },
} as const satisfies Record<string, Endpoint>
