import type { UpstreamFailure } from '../../shared/core/dialect.ts'
import type { JsonObject } from '../../shared/core/json-object.ts'
import type { VideoProtocol } from '../../shared/core/service.ts'
import type { Size } from '../images/codec.ts'
import type { BuiltCall } from '../services/codec.ts'
import type { VendorJob } from './job.ts'

export interface VideoAsk {
  /** The upstream's name. */
  readonly model: string
  readonly prompt: string
  /** Null: the upstream's affair; so is the duration. */
  readonly size: Size | null
  readonly seconds: number | null
  /** Fields that the contract does not name. */
  readonly others: JsonObject
}

/** Videos, which are jobs, as one kind of upstream speaks of them. */
export interface VideoCodec {
  readonly protocol: VideoProtocol
  /** Where jobs are begun. @param base path of the base URL, without a trailing slash */
  path(base: string, model: string): string
  /** Sent with what begins a job. */
  readonly headers?: readonly string[]
  /** Throws UNSUPPORTED_FIELD. */
  buildRequest(ask: VideoAsk): BuiltCall
  /** The job's name, from the answer to its creation. */
  parseCreation(answer: unknown): string | UpstreamFailure
  /** Where a job is looked at. */
  lookPath(base: string, id: string): string
  /** Throws SyntaxError for what is no job. */
  parseLook(answer: unknown): VendorJob
  /** Where the video itself is, for those who need not look at the job to know. */
  contentPath?(base: string, id: string): string
}
