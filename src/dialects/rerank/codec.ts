import type { JsonObject } from '../../shared/core/json-object.ts'
import type { BuiltCall } from '../services/codec.ts'

export interface RerankAsk {
  /** The upstream's name of the model. */
  readonly model: string
  readonly query: string
  /** Texts, unless the codec takes objects. */
  readonly documents: readonly unknown[]
  /** Null for all documents. */
  readonly topN: number | null
  /** Null when the client did not say. */
  readonly returnDocuments: boolean | null
  /** Fields that the contract does not name. */
  readonly others: JsonObject
}

/** The protocol of one kind of upstream for ranking. One reader reads the answers of all kinds. */
export interface RerankCodec {
  path(base: string, model: string): string
  /** Accepts objects that hold more than a text. */
  readonly takesObjects: boolean
  buildRequest(ask: RerankAsk): BuiltCall
}
