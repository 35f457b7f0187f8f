import type { UpstreamFailure } from '../../shared/core/dialect.ts'
import type { JsonObject } from '../../shared/core/json-object.ts'
import type { Usage } from '../../shared/core/usage.ts'
import type { BuiltCall } from '../services/codec.ts'

/** The contents of one call. */
export interface ImagesAsk {
  /** The upstream's name of the model. */
  readonly model: string
  readonly prompt: string
  readonly count: number
  /** Null when the upstream decides. */
  readonly size: Size | null
  /** As the client wrote it, even when it is no size in pixels (`auto`). */
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
  /** The type of the bytes; absent when the bytes tell it. */
  readonly mediaType?: string
}

export interface ParsedImages {
  readonly pictures: readonly Picture[]
  readonly usage: Usage | null
}

/** The protocol of one kind of upstream for images. */
export interface ImagesCodec {
  path(base: string, model: string): string
  /** Most images of one call. */
  readonly maxImages: number
  /** Throws UNSUPPORTED_FIELD. */
  buildRequest(ask: ImagesAsk): BuiltCall
  /** @param answer the body of a status 200 */
  parseAnswer(answer: unknown): ParsedImages | UpstreamFailure
}
