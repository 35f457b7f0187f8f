import type { ServiceBodiesName, ServiceName } from './service.ts'

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
export type BodyDialectName = DialectName | ServiceBodiesName

/** A public AI route, as a request knows it: which language its clients speak and how it is served. See `shared/endpoints/`. */
export interface Endpoint {
  /** In logs, metrics and the request log. */
  readonly name: string
  /** Decides the shape of errors. */
  readonly dialect: DialectName
  readonly servedBy: ServedBy
  readonly bodies: BodyDialectName
  /** It answers with the size of the prompt: no tokens are used. */
  readonly countsTokens: boolean
  /** The upstream begins a job, which must not be begun twice. */
  readonly beginsJob: boolean
}
