import { isSampled } from '../../shared/core/capture.ts'
import type { CaptureRule } from '../../shared/core/capture.ts'
import type { Exchange } from '../../shared/core/exchange.ts'
import type { RequestContext } from '../../shared/core/request-context.ts'
import { BodyCopies } from './body-copies.ts'
import type { CaptureQueue } from './capture-queue.ts'
import { CapturedExchange } from './captured-exchange.ts'

/** Captures the bodies of requests whose key asks for it. */
export class Captures {
  readonly #queue: CaptureQueue
  readonly #maxBytes: number

  /** @param maxBytes of one body */
  constructor(queue: CaptureQueue, maxBytes: number) {
    this.#queue = queue
    this.#maxBytes = maxBytes
  }

  /** Captures the request from here on, if it is in the sample. Call it before the body is read. */
  begin(ctx: RequestContext, rule: CaptureRule): void {
    const key = ctx.principal?.key
    if (key === undefined || !isSampled(ctx.id, rule.sample)) return
    const { id: keyId, userId, enterpriseId } = key
    const subject = { requestId: ctx.id, atMs: ctx.atMs, keyId, userId, enterpriseId }
    ctx.exchange = new CapturedExchange(ctx.exchange, new BodyCopies(subject, rule, this.#queue, this.#maxBytes))
  }

  /** The exchange without its capture, where it has one: what was copied is forgotten. */
  abandoned(exchange: Exchange): Exchange {
    return exchange instanceof CapturedExchange ? exchange.uncaptured() : exchange
  }
}
