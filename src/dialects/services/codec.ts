import type { AnswerRequest, BufferedAnswer } from '../../shared/core/dialect.ts'
import type { JsonObject } from '../../shared/core/json-object.ts'
import type { ServiceProtocol, ServiceRules } from '../../shared/core/service.ts'

/** How a request is to be put to a provider's service. Plain: it goes to the pool. */
export interface ServiceTarget {
  readonly protocol: ServiceProtocol
  readonly rules: ServiceRules
  /** The upstream's name of the model. */
  readonly model: string
}

/** The calls that one request comes to. */
export interface BuiltCalls {
  readonly bodies: readonly JsonObject[]
  /** How many of the inputs, or pictures, each call is about. */
  readonly sizes: readonly number[]
  /** Names of what could not be carried, each once. */
  readonly dropped: readonly string[]
  /** Texts that results are to show where the service shows none, by index; null for what is no text. */
  readonly documents?: ReadonlyArray<string | null>
}

/** What answers are read with. Plain: it goes to the pool. */
export interface ServiceAnswerRules extends AnswerRequest {
  readonly protocol: ServiceProtocol
  /** The name of the model that the client asked for. */
  readonly model: string
  /** Unix time in seconds. */
  readonly created: number
  readonly sizes: readonly number[]
  /** Null: results are as the service has them. */
  readonly documents: ReadonlyArray<string | null> | null
}

/** A service's language, as upstreams speak it. Values in, values out: no sockets, no clock. */
export interface ServiceCodec {
  /** Path and query of a call. @param base path of the base URL, without a trailing slash */
  path(base: string, model: string): string
  /** Sent with each call: flat names and values, lower-case names. */
  readonly headers?: readonly string[]
  /** `request` has passed validation. Throws GatewayError UNSUPPORTED_FIELD for what cannot be said. */
  build(request: JsonObject, ask: ServiceTarget): BuiltCalls
  /** The answers to all calls, in their order, as the client's one. */
  read(answers: readonly unknown[], reading: ServiceAnswerRules): BufferedAnswer
}

/** The body of one call, and what of the request it leaves out. */
export interface BuiltCall {
  readonly body: JsonObject
  readonly dropped: readonly string[]
}
