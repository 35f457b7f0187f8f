import type { StreamDecoder } from '../../shared/core/codec.ts'
import { GatewayError } from '../../shared/core/errors.ts'
import { StreamTranslation } from '../../dialects/translate.ts'
import type { AnswerTranslation } from '../../dialects/translate.ts'
import { eventSplitter } from '../../dialects/common/framing.ts'
import type { EventSplitter } from '../../dialects/common/framing.ts'
import type { BodySink } from '../upstream/upstream-client.ts'
import type { Answer, AnswerReceiver, AttemptControl } from './answer-receiver.ts'
import { classifyFailure } from './classify.ts'
import { ClientStream } from './client-stream.ts'
import { settleUsage } from './settle-usage.ts'

/** Relays a stream of another dialect. Writes the translation of each chunk downstream at once. */
export class TranslatedStream implements AnswerReceiver, BodySink {
  readonly #answer: Answer
  readonly #control: AttemptControl
  readonly #client: ClientStream
  readonly #stream: StreamTranslation
  readonly #splitter: EventSplitter
  #text = ''
  #hasProgressed = false
  #over = false

  constructor(answer: Answer, translation: AnswerTranslation, control: AttemptControl) {
    this.#answer = answer
    this.#control = control
    this.#client = new ClientStream(answer, control)
    this.#stream = new StreamTranslation(translation, answer.body.wantsUsage)
    this.#splitter = eventSplitter(translation.upstream)
  }

  data(chunk: Buffer): void {
    this.take(chunk, 0, chunk.length)
  }

  take(bytes: Buffer, from: number, to: number): void {
    if (this.#over) return
    const { ctx, clock } = this.#answer
    ctx.ttftUs ??= clock.monotonicUs() - ctx.startUs
    const ordinaryEnd = this.#splitter.isBetweenEvents ? this.#takeOrdinary(bytes, from, to) : from
    if (ordinaryEnd < to && !this.#isOver()) this.#takeOthers(bytes.subarray(ordinaryEnd, to))
  }

  /** Sends the ordinary events at `from`, which need no splitting and parsing. Returns the index behind them. */
  #takeOrdinary(bytes: Buffer, from: number, to: number): number {
    for (let at = from; ;) {
      const end = this.#stream.pushOrdinary(bytes, at, to)
      if (end === at) return at
      at = end
      this.#control.progressed()
      this.#client.send(this.#stream.ordinaryOutput())
    }
  }

  #takeOthers(chunk: Buffer): void {
    this.#take(() => {
      this.#hasProgressed = false
      this.#splitter.split(chunk, this.#onEvent)
      if (this.#hasProgressed || this.#splitter.endsInComment()) this.#control.progressed()
    })
  }

  end(): void {
    if (this.#over) return
    this.#take(() => {
      this.#splitter.finish(this.#onEvent)
      if (!this.#stream.decoder.over) this.#text += this.#stream.finish()
    })
    if (!this.#isOver())
      this.#failed(new GatewayError('UPSTREAM_TRUNCATED', { detail: 'the stream ended before its last event' }))
  }

  lost(error: GatewayError): void {
    if (this.#over) return
    if (!this.#stream.decoder.finished) {
      this.#failed(error)
      return
    }
    // Some dialects end with their last event alone: their decoders fail here, too.
    this.#take(() => {
      this.#text += this.#stream.finish()
    }, error)
  }

  clientLeft(): void {
    this.#client.clientLeft()
  }

  /** Books the usage so far. */
  settle(complete: boolean): void {
    const { decoder, dropped, observedTextBytes } = this.#stream
    const { ctx } = this.#answer
    if (dropped.size > 0) ctx.dropped = [...new Set([...ctx.dropped, ...dropped])]
    settleUsage(ctx, {
      usage: decoder.usage,
      observedTextBytes,
      complete: complete || (decoder.finished && decoder.usage !== null),
    })
  }

  readonly #onEvent = (bytes: Buffer, start: number, end: number): boolean => {
    this.#hasProgressed = true
    this.#text += this.#stream.push(bytes, start, end)
    return !this.#stream.decoder.over
  }

  /** Runs `read`, then sends the text that it produced. @param lost the error of an upstream that broke off; null: it did not */
  #take(read: () => void, lost: GatewayError | null = null): void {
    try {
      read()
    } catch (cause) {
      this.#failed(new GatewayError('UPSTREAM_INVALID_ANSWER', { cause }))
      return
    }
    const { decoder, ended } = this.#stream
    const text = this.#text
    this.#text = ''
    if (ended) {
      this.#over = true
      this.settle(true)
      this.#client.complete(Buffer.from(text))
      return
    }
    if (text !== '') this.#client.send(Buffer.from(text))
    if (decoder.over) {
      this.#failed(lost ?? this.#failureOf(decoder))
    }
  }

  #failureOf({ failure }: StreamDecoder): GatewayError {
    return failure === null ? new GatewayError('UPSTREAM_TRUNCATED') : classifyFailure(failure, this.#answer.redact)
  }

  #failed(error: GatewayError): void {
    this.#over = true
    this.#client.fail(
      error,
      () => {
        this.settle(false)
      },
      (requestId) => this.#stream.failure(error, requestId),
    )
  }

  /** Defeats TypeScript's narrowing of `#over`, which a callback may have changed. */
  #isOver(): boolean {
    return this.#over
  }
}
