import type { JsonObject } from '../../shared/core/json-object.ts'
import type { BuiltCall } from '../services/codec.ts'

export interface RerankAsk {
  /** The upstream's name. */
  readonly model: string
  readonly query: string
  /** Texts, unless the codec takes objects. */
  readonly documents: readonly unknown[]
  /** Null: all. */
  readonly topN: number | null
  /** Null: the client did not say. */
  readonly returnDocuments: boolean | null
  /** Fields that the contract does not name. */
  readonly others: JsonObject
}

/** Ranking as one kind of upstream speaks of it. Answers are read by one reader, whatever their shape. */
export interface RerankCodec {
  path(base: string, model: string): string
  /** Objects that hold more than a text. */
  readonly takesObjects: boolean
  buildRequest(ask: RerankAsk): BuiltCall
}
