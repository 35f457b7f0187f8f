import type { Clock } from '../../shared/runtime/clock.ts'
import type { Dialect } from '../../shared/core/dialect.ts'
import type { GatewayError } from '../../shared/core/errors.ts'
import type { RequestBody } from '../../shared/core/request-body.ts'
import type { RequestContext } from '../../shared/core/request-context.ts'
import type { ServiceAnswerRules } from '../../dialects/services/codec.ts'
import type { AnswerTranslation } from '../../dialects/translate.ts'
import type { UpstreamHeaders } from '../upstream/upstream-client.ts'
import type { Redact } from './classify.ts'

/** What takes the body of an upstream's answer: one kind for streams, one for whole answers, one for refusals. */
export interface AnswerReceiver {
  data(chunk: Buffer): void
  end(): void
  /** The upstream broke off. */
  lost(error: GatewayError): void
  /** The client is gone: nothing more is to be sent, but what has been generated is to be known. */
  clientLeft(): void
  /** Books what passed so far of a stream that is given up. */
  settle?(complete: boolean): void
}

/** What a receiver may do to the attempt it works for. Exactly one of `served` and `failed` is called, once. */
export interface AttemptControl {
  pause(): void
  /** The upstream has sent a whole event: it is not idle. */
  progressed(): void
  /** The answer is settled; `ctx.finish` sends what is left of it. */
  served(): void
  /** Nothing has gone downstream. */
  failed(error: GatewayError): void
  /** Something has: the answer ends here, with an error the client can read. */
  broken(error: GatewayError): void
}

export interface Answer {
  readonly ctx: RequestContext
  readonly body: RequestBody
  readonly dialect: Dialect
  /** How the answer becomes one of the client's dialect; null: it is one. */
  readonly translation: AnswerTranslation | null
  /** The same of an answer that is no conversation. */
  readonly reading: ServiceAnswerRules | null
  readonly status: number
  readonly headers: UpstreamHeaders
  readonly clock: Clock
  readonly redact: Redact
}
