import type { UpstreamFailure } from '../../shared/core/dialect.ts'
import type { JsonObject } from '../../shared/core/json-object.ts'
import type { BuiltCall } from '../services/codec.ts'

/** What one call is asked for. */
export interface EmbeddingsAsk {
  /** The upstream's name. */
  readonly model: string
  readonly inputs: readonly unknown[]
  readonly dimensions: number | null
  /** `as-is`: numbers of a kind that the gateway does not know. */
  readonly encoding: 'float' | 'base64' | 'as-is'
  /** Fields that the contract does not name, and `encoding_format`. */
  readonly others: JsonObject
}

export interface ParsedEmbeddings {
  /** In the order of the inputs: numbers, or base64 of float32. */
  readonly vectors: readonly unknown[]
  /** Null: not told. */
  readonly promptTokens: number | null
}

/** Embeddings as one kind of upstream speaks of them. */
export interface EmbeddingsCodec {
  path(base: string, model: string): string
  /** Inputs of one call. */
  readonly maxInputs: number
  /** Tokens are those of its own tokenizer. */
  readonly takesTokens: boolean
  /** Objects that hold more than a text. */
  readonly takesObjects: boolean
  /** Throws UNSUPPORTED_FIELD. */
  buildRequest(ask: EmbeddingsAsk): BuiltCall
  /** The body of a status 200. */
  parseAnswer(answer: unknown): ParsedEmbeddings | UpstreamFailure
}
