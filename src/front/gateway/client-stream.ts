import type { GatewayError } from '../../shared/core/errors.ts'
import { GrowingBody } from '../../shared/runtime/growing-body.ts'
import { streamHeaders } from './answer-headers.ts'
import type { Answer, AttemptControl } from './answer-receiver.ts'

/**
 * The client's side of a streamed answer: the failover line, and the last bytes, which wait for the request's record. A client
 * that has left gets nothing more.
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

  /** Something has gone downstream: from here on the answer is this upstream's, for better or worse. */
  get committed(): boolean {
    return this.#committed
  }

  get heldBytes(): number {
    return this.#held.length
  }

  /** Keeps a copy of bytes back until there is something to commit to. */
  hold(bytes: Buffer): void {
    this.#held.append(bytes)
  }

  send(bytes: Buffer): void {
    if (this.#clientGone) return
    const { response } = this.#answer.ctx.exchange
    const accepted = response.write(this.#committed ? bytes : this.#commit(bytes))
    if (!accepted && !response.aborted) this.#control.pause()
  }

  /** The answer is whole; usage must have been settled. */
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
   * `settle` is called when the failure is the client's to see, else another key may be tried.
   * @param lastText what ends this stream; null: the dialect's error event
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
    ctx.status = 200
    ctx.exchange.response.start(200, streamHeaders(ctx, headers, clock.monotonicUs()))
    if (this.#held.length === 0) return bytes
    this.#held.append(bytes)
    return this.#held.take()
  }
}
