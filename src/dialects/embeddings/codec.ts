import type { UpstreamFailure } from '../../shared/core/dialect.ts'
import type { JsonObject } from '../../shared/core/json-object.ts'
import type { BuiltCall } from '../services/codec.ts'

/** The contents of one call. */
export interface EmbeddingsAsk {
  /** The upstream's name of the model. */
  readonly model: string
  readonly inputs: readonly unknown[]
  readonly dimensions: number | null
  /** `as-is`: a kind of numbers that the gateway does not know. */
  readonly encoding: 'float' | 'base64' | 'as-is'
  /** Fields that the contract does not name, and `encoding_format`. */
  readonly others: JsonObject
}

export interface ParsedEmbeddings {
  /** In the order of the inputs: numbers, or base64 of float32. */
  readonly vectors: readonly unknown[]
  /** Null when the upstream does not tell. */
  readonly promptTokens: number | null
}

/** The protocol of one kind of upstream for embeddings. */
export interface EmbeddingsCodec {
  path(base: string, model: string): string
  /** Most inputs of one call. */
  readonly maxInputs: number
  /** Accepts inputs as tokens, in the upstream's own tokenizer. */
  readonly takesTokens: boolean
  /** Accepts objects that hold more than a text. */
  readonly takesObjects: boolean
  /** Throws UNSUPPORTED_FIELD. */
  buildRequest(ask: EmbeddingsAsk): BuiltCall
  /** @param answer the body of a status 200 */
  parseAnswer(answer: unknown): ParsedEmbeddings | UpstreamFailure
}
