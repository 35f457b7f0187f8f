import type { AnswerRequest, BufferedAnswer } from '../../shared/core/dialect.ts'
import type { JsonObject } from '../../shared/core/json-object.ts'
import type { ServiceProtocol, ServiceRules } from '../../shared/core/service.ts'

/** How to call a provider's service for a request. Plain data: it goes to the worker pool. */
export interface ServiceTarget {
  readonly protocol: ServiceProtocol
  readonly rules: ServiceRules
  /** The upstream's name of the model. */
  readonly model: string
}

/** The calls for one request. */
export interface BuiltCalls {
  readonly bodies: readonly JsonObject[]
  /** The number of inputs, or of images, of each call. */
  readonly sizes: readonly number[]
  /** Names of fields that could not be carried, each once. */
  readonly dropped: readonly string[]
  /** Texts to show in results when the service shows none, by index; null for a document that is no text. */
  readonly documents?: ReadonlyArray<string | null>
}

/** How to read answers. Plain data: it goes to the worker pool. */
export interface ServiceAnswerRules extends AnswerRequest {
  readonly protocol: ServiceProtocol
  /** The name of the model that the client asked for. */
  readonly model: string
  /** Unix time in seconds. */
  readonly created: number
  readonly sizes: readonly number[]
  /** Null: results show what the service sent. */
  readonly documents: ReadonlyArray<string | null> | null
}

/** The protocol of one service at upstreams. Values in, values out: no sockets, no clock. */
export interface ServiceCodec {
  /** Path and query of a call. @param base path of the base URL, without a trailing slash */
  path(base: string, model: string): string
  /** Headers of each call: flat names and values, names in lower case. */
  readonly headers?: readonly string[]
  /** `request` has passed validation. Throws GatewayError UNSUPPORTED_FIELD for a field that cannot be carried. */
  build(request: JsonObject, ask: ServiceTarget): BuiltCalls
  /** Joins the answers to all calls, in their order, into the client's answer. */
  read(answers: readonly unknown[], reading: ServiceAnswerRules): BufferedAnswer
}

/** The body of one call, and the names of the fields that it leaves out. */
export interface BuiltCall {
  readonly body: JsonObject
  readonly dropped: readonly string[]
}
