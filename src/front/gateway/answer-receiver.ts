import type { Clock } from '../../shared/runtime/clock.ts'
import type { Dialect } from '../../shared/core/dialect.ts'
import type { GatewayError } from '../../shared/core/errors.ts'
import type { RequestBody } from '../../shared/core/request-body.ts'
import type { RequestContext } from '../../shared/core/request-context.ts'
import type { ServiceAnswerRules } from '../../dialects/services/codec.ts'
import type { AnswerTranslation } from '../../dialects/translate.ts'
import type { UpstreamHeaders } from '../upstream/upstream-client.ts'
import type { Redact } from './classify.ts'

/** Receives the body of an upstream's answer. Streams, whole answers and failures have their own receivers. */
export interface AnswerReceiver {
  data(chunk: Buffer): void
  end(): void
  /** The upstream ended the answer before its end. */
  lost(error: GatewayError): void
  /** The client is gone: the receiver sends nothing more, but still counts the tokens generated. */
  clientLeft(): void
  /** Books the usage so far of a stream that is aborted. */
  settle?(complete: boolean): void
}

/** The attempt as its receiver sees it. The receiver calls exactly one of `served` and `failed`, once. */
export interface AttemptControl {
  pause(): void
  /** The upstream has sent a whole event, so it is not idle. */
  progressed(): void
  /** The answer is settled; `ctx.finish` sends the rest of it. */
  served(): void
  /** The attempt failed before the first byte went downstream. */
  failed(error: GatewayError): void
  /** The attempt failed after the first byte: the answer ends with an error that the client can read. */
  broken(error: GatewayError): void
}

export interface Answer {
  readonly ctx: RequestContext
  readonly body: RequestBody
  readonly dialect: Dialect
  /** Translates the answer to the client's dialect; null: it is in that dialect. */
  readonly translation: AnswerTranslation | null
  /** The same for an answer of a service other than conversations. */
  readonly reading: ServiceAnswerRules | null
  readonly status: number
  /** Emptied once a stream is committed: it may last for minutes. */
  headers: UpstreamHeaders
  readonly clock: Clock
  readonly redact: Redact
}
