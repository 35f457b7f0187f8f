import type { UpstreamFailure } from '../../shared/core/dialect.ts'
import type { JsonObject } from '../../shared/core/json-object.ts'
import type { Usage } from '../../shared/core/usage.ts'
import type { BuiltCall } from '../services/codec.ts'

/** What one call is asked for. */
export interface ImagesAsk {
  /** The upstream's name. */
  readonly model: string
  readonly prompt: string
  readonly count: number
  /** Null: the upstream's affair. */
  readonly size: Size | null
  /** As the client wrote it, also where it is no measure (`auto`). */
  readonly sizeText: string | null
  readonly format: 'url' | 'b64_json' | null
  /** Fields that the contract does not name. */
  readonly others: JsonObject
}

/** In pixels. */
export interface Size {
  readonly width: number
  readonly height: number
}

export interface Picture {
  readonly url?: string
  readonly b64_json?: string
  readonly revised_prompt?: string
  /** Of the bytes; absent: to be told from them. */
  readonly mediaType?: string
}

export interface ParsedImages {
  readonly pictures: readonly Picture[]
  readonly usage: Usage | null
}

/** Pictures as one kind of upstream speaks of them. */
export interface ImagesCodec {
  path(base: string, model: string): string
  /** Pictures of one call. */
  readonly maxImages: number
  /** Throws UNSUPPORTED_FIELD. */
  buildRequest(ask: ImagesAsk): BuiltCall
  /** The body of a status 200. */
  parseAnswer(answer: unknown): ParsedImages | UpstreamFailure
}
