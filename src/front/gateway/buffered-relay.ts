import type { BufferedAnswer } from '../../shared/core/dialect.ts'
import { GatewayError } from '../../shared/core/errors.ts'
import { GrowingBody } from '../../shared/runtime/growing-body.ts'
import { ERROR_TYPE_HEADER, readFailure as readAwsFailure } from '../../dialects/bedrock-converse/errors.ts'
import { eventSplitter } from '../../dialects/common/framing.ts'
import type { EventSplitter } from '../../dialects/common/framing.ts'
import type { UpstreamHeaders } from '../upstream/upstream-client.ts'
import { bufferedHeaders, streamHeaders } from './answer-headers.ts'
import type { Answer, AnswerReceiver, AttemptControl } from './answer-receiver.ts'
import { classifyFailure, classifyStatus } from './classify.ts'
import { settleUsage } from './settle-usage.ts'

/** Reads a whole 200. Throws SyntaxError when it is not JSON. The worker pool reads large ones. */
export type AnswerReader = (answer: Answer, body: Buffer) => BufferedAnswer | Promise<BufferedAnswer>

const MAX_FAILURE_BYTES = 65_536
const NOTHING = Buffer.alloc(0)

/** Whether the answer is compressed. The gateway did not ask for compression and cannot read it. */
export function isEncoded(headers: UpstreamHeaders): boolean {
  const coding = headers['content-encoding']
  return coding !== undefined && coding !== '' && String(coding).toLowerCase() !== 'identity'
}

/** Collects a whole answer, and sends it once it is complete and readable. */
export class BufferedRelay implements AnswerReceiver {
  readonly #answer: Answer
  readonly #control: AttemptControl
  readonly #read: AnswerReader
  readonly #maxBytes: number
  readonly #body = new GrowingBody()
  /** Splits an answer that comes as events although none were requested: each event shows that the upstream is not idle. */
  #events: EventSplitter | null
  #over = false

  constructor(answer: Answer, control: AttemptControl, read: AnswerReader, maxBytes: number) {
    this.#answer = answer
    this.#control = control
    this.#read = read
    this.#maxBytes = maxBytes
    const { translation } = answer
    this.#events = translation?.unasked?.form === 'events' ? eventSplitter(translation.upstream) : null
  }

  data(chunk: Buffer): void {
    if (this.#over) return
    const { ctx, clock } = this.#answer
    ctx.ttftUs ??= clock.monotonicUs() - ctx.startUs
    if (this.#body.length + chunk.length > this.#maxBytes) {
      this.#body.clear()
      this.lost(
        new GatewayError('UPSTREAM_INVALID_ANSWER', { detail: `the answer is larger than ${this.#maxBytes} bytes` }),
      )
      return
    }
    this.#body.append(chunk)
    if (this.#events !== null) this.#lookForEvents(this.#events, chunk)
  }

  #lookForEvents(events: EventSplitter, chunk: Buffer): void {
    let hasProgressed = false
    try {
      events.split(chunk, () => (hasProgressed = true))
    } catch {
      // `#read` finds the same fault in the whole answer and reports it.
      this.#events = null
    }
    if (hasProgressed || events.endsInComment()) this.#control.progressed()
  }

  end(): void {
    if (this.#over) return
    const body = this.#body.take()
    try {
      const read = this.#read(this.#answer, body)
      if (read instanceof Promise) {
        read.then(
          (answer) => {
            this.#deliver(body, answer)
          },
          (cause: unknown) => {
            this.#unreadable(cause)
          },
        )
      } else this.#deliver(body, read)
    } catch (cause) {
      this.#unreadable(cause)
    }
  }

  lost(error: GatewayError): void {
    if (this.#over) return
    this.#over = true
    this.#control.failed(error)
  }

  clientLeft(): void {
    // Nothing has been sent, and the usage is not known before the end. The attempt decides.
  }

  #deliver(body: Buffer, read: BufferedAnswer): void {
    if (this.#over) return
    const { ctx, headers, clock } = this.#answer
    if (read.failure !== null) {
      this.lost(classifyFailure(read.failure, this.#answer.redact))
      return
    }
    const isStream = this.#answer.translation?.unasked?.form === 'whole'
    // A client that asked for a stream can read only events.
    if (this.#answer.body.stream && !isStream) {
      this.lost(new GatewayError('UPSTREAM_INVALID_ANSWER', { detail: 'a whole answer to a stream request' }))
      return
    }
    this.#over = true
    const { usage, observedTextBytes } = read
    settleUsage(ctx, { usage, observedTextBytes, complete: true, answer: read.body ?? body })
    ctx.outcome.answered()
    ctx.job = read.job ?? null
    if (read.dropped !== undefined && read.dropped.length > 0) {
      ctx.dropped = [...new Set([...ctx.dropped, ...read.dropped])]
    }
    const headersOf = isStream ? streamHeaders : bufferedHeaders
    ctx.finishWith(() => {
      ctx.exchange.response.send(200, headersOf(ctx, headers, clock.monotonicUs()), read.body ?? body)
    })
    this.#control.served()
  }

  #unreadable(cause: unknown): void {
    if (cause instanceof GatewayError) this.lost(cause)
    else this.lost(new GatewayError('UPSTREAM_INVALID_ANSWER', { cause, detail: 'the answer is not JSON' }))
  }
}

/** Reads the error in an unsuccessful answer. */
export class FailureReader implements AnswerReceiver {
  readonly #answer: Answer
  readonly #control: AttemptControl
  readonly #body = new GrowingBody()
  #over = false

  constructor(answer: Answer, control: AttemptControl) {
    this.#answer = answer
    this.#control = control
  }

  data(chunk: Buffer): void {
    if (this.#over) return
    if (this.#body.length + chunk.length > MAX_FAILURE_BYTES) this.end()
    else this.#body.append(chunk)
  }

  end(): void {
    if (this.#over) return
    this.#over = true
    const { dialect, status, headers, redact } = this.#answer
    const body = isEncoded(headers) ? NOTHING : this.#body.take()
    const errorType = headers[ERROR_TYPE_HEADER]
    // The header alone shows an AWS failure, whatever dialect the client speaks.
    const failure = typeof errorType === 'string' ? readAwsFailure(body, errorType) : dialect.readFailure(status, body)
    this.#control.failed(classifyStatus(status, headers, failure, redact))
  }

  /** The status is known, and an incomplete body does not change its meaning. */
  lost(): void {
    this.end()
  }

  clientLeft(): void {
    this.end()
  }
}
