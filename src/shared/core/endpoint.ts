import type { ServiceBodiesName, ServiceName } from './service.ts'

/** A dialect of clients. */
export type DialectName = 'openai-chat' | 'openai-responses' | 'anthropic-messages'

/** A dialect of both clients and upstreams. */
export type CommonDialectName = Exclude<DialectName, 'openai-responses'>

/** A dialect of upstreams. */
export type UpstreamDialectName =
  CommonDialectName | 'anthropic-vertex' | 'bedrock-converse' | 'bedrock-invoke' | 'cohere-chat' | 'gemini'

/** The upstreams of an endpoint: those of one dialect, those of any dialect (by translation), or those with a service. */
export type ServedBy = UpstreamDialectName | 'any' | ServiceName

/** The format of an endpoint's bodies: its clients' dialect, or the protocol of a service, with the errors of the dialect. */
export type BodyDialectName = DialectName | ServiceBodiesName

/** A public AI route, with its dialect and the way it is served. See `shared/endpoints/`. */
export interface Endpoint {
  /** Its name in logs, metrics and the request log. */
  readonly name: string
  /** Decides the shape of errors. */
  readonly dialect: DialectName
  readonly servedBy: ServedBy
  readonly bodies: BodyDialectName
  /** It answers with the size of the prompt and uses no tokens. */
  readonly countsTokens: boolean
  /** The upstream begins a job, which must not begin twice. */
  readonly beginsJob: boolean
}
