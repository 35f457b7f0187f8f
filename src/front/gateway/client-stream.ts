import type { GatewayError } from '../../shared/core/errors.ts'
import { GrowingBody } from '../../shared/runtime/growing-body.ts'
import { streamHeaders } from './answer-headers.ts'
import type { Answer, AttemptControl } from './answer-receiver.ts'

/**
 * The client's side of a streamed answer. It knows whether the answer is committed, and holds the last bytes until the request's
 * record is durable. A client that has left gets nothing more.
 */
export class ClientStream {
  readonly #answer: Answer
  readonly #control: AttemptControl
  readonly #held = new GrowingBody()
  #committed = false
  #clientGone = false

  constructor(answer: Answer, control: AttemptControl) {
    this.#answer = answer
    this.#control = control
  }

  /** Whether bytes have gone downstream: from then on no other upstream can answer. */
  get committed(): boolean {
    return this.#committed
  }

  get heldBytes(): number {
    return this.#held.length
  }

  /** Holds a copy of bytes back until the answer is committed. */
  hold(bytes: Buffer): void {
    this.#held.append(bytes)
  }

  send(bytes: Buffer): void {
    if (this.#clientGone) return
    const { response } = this.#answer.ctx.exchange
    const accepted = response.write(this.#committed ? bytes : this.#commit(bytes))
    if (!accepted && !response.aborted) this.#control.pause()
  }

  /** Completes the answer. The caller has settled usage. */
  complete(lastBytes: Buffer): void {
    const { ctx } = this.#answer
    if (!this.#clientGone) {
      const last = this.#committed ? lastBytes : this.#commit(lastBytes)
      ctx.finishWith(() => {
        ctx.exchange.response.end(last)
      })
    }
    this.#control.served()
  }

  /**
   * Ends the answer with an error and calls `settle`, once it is committed. Before, the attempt fails and another key may be tried.
   * @param lastText returns the end of this stream; null: the dialect's error event
   */
  fail(error: GatewayError, settle: () => void, lastText?: (requestId: string) => string | null): void {
    if (!this.#committed && !this.#clientGone) {
      this.#control.failed(error)
      return
    }
    settle()
    const { ctx, dialect } = this.#answer
    const text = lastText?.(ctx.id) ?? null
    ctx.finishWith(() => {
      ctx.exchange.response.end(text === null ? dialect.renderErrorEvent(error, ctx.id) : Buffer.from(text))
    })
    this.#control.broken(error)
  }

  clientLeft(): void {
    this.#clientGone = true
    this.#held.clear()
  }

  #commit(bytes: Buffer): Buffer {
    const { ctx, headers, clock } = this.#answer
    this.#committed = true
    ctx.outcome.answered()
    ctx.exchange.response.start(200, streamHeaders(ctx, headers, clock.monotonicUs()))
    // The stream may last for minutes, and needs neither headers any more.
    this.#answer.headers = {}
    ctx.exchange.request.headers = {}
    if (this.#held.length === 0) return bytes
    this.#held.append(bytes)
    return this.#held.take()
  }
}
