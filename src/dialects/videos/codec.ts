import type { UpstreamFailure } from '../../shared/core/dialect.ts'
import type { JsonObject } from '../../shared/core/json-object.ts'
import type { VideoProtocol } from '../../shared/core/service.ts'
import type { Size } from '../images/codec.ts'
import type { BuiltCall } from '../services/codec.ts'
import type { VendorJob } from './job.ts'

export interface VideoAsk {
  /** The upstream's name of the model. */
  readonly model: string
  readonly prompt: string
  /** Null when the upstream decides. The same holds for `seconds`. */
  readonly size: Size | null
  readonly seconds: number | null
  /** Fields that the contract does not name. */
  readonly others: JsonObject
}

/** The protocol of one kind of upstream for videos, which are jobs. */
export interface VideoCodec {
  readonly protocol: VideoProtocol
  /** The path that starts a job. @param base path of the base URL, without a trailing slash */
  path(base: string, model: string): string
  /** Headers of the call that starts a job. */
  readonly headers?: readonly string[]
  /** Throws UNSUPPORTED_FIELD. */
  buildRequest(ask: VideoAsk): BuiltCall
  /** Reads the job's id from the answer to its creation. */
  parseCreation(answer: unknown): string | UpstreamFailure
  /** The path that reads a job. */
  lookPath(base: string, id: string): string
  /** Throws SyntaxError when the answer is not a job. */
  parseLook(answer: unknown): VendorJob
  /** The path of the video itself, at providers where it is known without reading the job. */
  contentPath?(base: string, id: string): string
}
