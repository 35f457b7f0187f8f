import type { StreamInspector } from '../../shared/core/dialect.ts'
import { GatewayError } from '../../shared/core/errors.ts'
import { INVALID_EVENT } from '../../dialects/common/event.ts'
import { SseSplitter } from '../../shared/wire/sse.ts'
import type { BodySink } from '../upstream/upstream-client.ts'
import type { Answer, AnswerReceiver, AttemptControl } from './answer-receiver.ts'
import { classifyFailure } from './classify.ts'
import { ClientStream } from './client-stream.ts'
import { settleUsage } from './settle-usage.ts'

/** Up to this many bytes of comments before the first event are held back, so that a failure can still go to another key. */
const MAX_HELD_BYTES = 65_536
const COLON = 0x3a
const LINE_FEED = 0x0a
const CARRIAGE_RETURN = 0x0d
const NO_LINE_END = Buffer.alloc(0)
const ONE_LINE_END = Buffer.from('\n')
const TWO_LINE_ENDS = Buffer.from('\n\n')

/**
 * Relays a stream event by event, as it arrives. Holds the terminal event until the request's record is durable. After the client
 * has left, reads on without sending.
 */
export class StreamRelay implements AnswerReceiver, BodySink {
  readonly #answer: Answer
  readonly #control: AttemptControl
  readonly #client: ClientStream
  readonly #splitter = new SseSplitter()
  readonly #inspector: StreamInspector
  /** Adjacent events of the current chunk, which go downstream in one write. */
  #run: Buffer | null = null
  #runStart = 0
  #runEnd = 0
  /** The upstream has sent its last byte. Its last event, or a part of it, may still be unread. */
  #ending = false
  #hasProgressed = false
  #wasFinished = false
  #over = false

  constructor(answer: Answer, control: AttemptControl) {
    this.#answer = answer
    this.#control = control
    this.#client = new ClientStream(answer, control)
    this.#inspector = answer.dialect.inspectStream(answer.body.wantsUsage)
  }

  data(chunk: Buffer): void {
    this.take(chunk, 0, chunk.length)
  }

  take(bytes: Buffer, from: number, to: number): void {
    if (this.#over) return
    const { ctx, clock } = this.#answer
    ctx.ttftUs ??= clock.monotonicUs() - ctx.startUs
    try {
      const ordinaryEnd = this.#takeOrdinary(bytes, from, to)
      if (ordinaryEnd === to) {
        this.#control.progressed()
        this.#client.send(bytes.subarray(from, to))
      } else this.#takeOthers(bytes.subarray(from, to), ordinaryEnd - from)
    } catch (cause) {
      this.#failed(new GatewayError('UPSTREAM_INVALID_ANSWER', { cause }))
    }
  }

  /** Returns the index behind the ordinary events at `from`, which need no splitting and inspecting. */
  #takeOrdinary(bytes: Buffer, from: number, to: number): number {
    // Before the answer is committed, the bytes held back have to go first.
    if (!this.#client.committed || !this.#splitter.isBetweenEvents) return from
    let at = from
    while (at < to) {
      const next = this.#inspector.takeOrdinary(bytes, at, to)
      if (next === -1) break
      at = next
    }
    return at
  }

  /** Takes the events of `chunk`, of which the first `ordinaryEnd` bytes are ordinary ones. */
  #takeOthers(chunk: Buffer, ordinaryEnd: number): void {
    this.#hasProgressed = ordinaryEnd > 0
    if (ordinaryEnd > 0) {
      this.#run = chunk
      this.#runStart = 0
      this.#runEnd = ordinaryEnd
    }
    this.#splitter.split(chunk, this.#onEvent, ordinaryEnd)
    if (this.#hasProgressed || this.#splitter.endsInComment()) this.#control.progressed()
    this.#flushRun()
  }

  end(): void {
    if (this.#over) return
    this.#wasFinished = this.#inspector.finished
    this.#ending = true
    const rest = this.#splitter.rest()
    if (rest.length > 0) this.data(missingLineEnds(rest))
    if (this.#isOver()) return
    this.#splitter.finish(this.#onEvent)
    this.#flushRun()
    if (this.#isOver()) return
    this.#brokeOff(this.#inspector.finished)
  }

  /** The stream ended without a terminal event. It is complete if it had a finish reason. */
  #brokeOff(finished: boolean): void {
    if (finished) this.#complete(this.#answer.dialect.terminalEvent)
    else this.#failed(new GatewayError('UPSTREAM_TRUNCATED', { detail: 'the stream ended without its terminal event' }))
  }

  lost(error: GatewayError): void {
    if (this.#over) return
    if (this.#inspector.finished) this.end()
    else this.#failed(error)
  }

  clientLeft(): void {
    this.#client.clientLeft()
  }

  /** Books the usage so far. */
  settle(complete: boolean): void {
    settleUsage(this.#answer.ctx, {
      usage: this.#inspector.usage,
      observedTextBytes: this.#inspector.observedTextBytes,
      complete: complete || (this.#inspector.finished && this.#inspector.usage !== null),
    })
  }

  readonly #onEvent = (bytes: Buffer, start: number, end: number): boolean => {
    if (this.#over) return false
    this.#hasProgressed = true
    switch (this.#inspector.inspect(bytes, start, end)) {
      case 'forward':
        this.#forward(bytes, start, end)
        return true
      case 'drop':
        return true
      case 'terminal':
        this.#flushRun()
        // A copy, because the bytes wait for the record and the buffer may be reused.
        this.#complete(Buffer.from(bytes.subarray(start, end)))
        return false
      case 'error':
        this.#flushRun()
        // The stream ended within an event, so the rest is not an invalid event.
        if (this.#ending && this.#inspector.failure === INVALID_EVENT) {
          this.#brokeOff(this.#wasFinished)
          return false
        }
        this.#failed(
          this.#inspector.failure === null
            ? new GatewayError('UPSTREAM_INVALID_ANSWER')
            : classifyFailure(this.#inspector.failure, this.#answer.redact),
        )
        return false
    }
  }

  #forward(bytes: Buffer, start: number, end: number): void {
    const nothingSent = !this.#client.committed && this.#run === null
    if (nothingSent && bytes[start] === COLON && this.#client.heldBytes < MAX_HELD_BYTES) {
      this.#client.hold(bytes.subarray(start, end))
      return
    }
    if (this.#run === bytes && this.#runEnd === start) {
      this.#runEnd = end
      return
    }
    this.#flushRun()
    this.#run = bytes
    this.#runStart = start
    this.#runEnd = end
  }

  #flushRun(): void {
    if (this.#run === null) return
    const bytes = this.#run.subarray(this.#runStart, this.#runEnd)
    this.#run = null
    this.#client.send(bytes)
  }

  #complete(lastBytes: Buffer): void {
    this.#over = true
    this.settle(this.#inspector.usageIsFinal)
    const usageEvent = this.#inspector.usageEvent?.(this.#answer.ctx.tokens.usage) ?? null
    this.#client.complete(usageEvent === null ? lastBytes : Buffer.concat([usageEvent, lastBytes]))
  }

  #failed(error: GatewayError): void {
    this.#over = true
    this.#run = null
    this.#client.fail(error, () => {
      this.settle(false)
    })
  }

  /** Defeats TypeScript's narrowing of `#over`, which a callback may have changed. */
  #isOver(): boolean {
    return this.#over
  }
}

/** The line ends that the last event lacks. Without its blank line, a strict reader ignores it or joins it with the next event. */
function missingLineEnds(rest: Buffer): Buffer {
  const last = rest[rest.length - 1]
  const before = rest[rest.length - 2]
  // Lines end in a lone CR here, and the blank line is present.
  if (last === CARRIAGE_RETURN && (before === CARRIAGE_RETURN || before === LINE_FEED)) return NO_LINE_END
  return last === LINE_FEED ? ONE_LINE_END : TWO_LINE_ENDS
}
