import type { Clock } from '../../shared/runtime/clock.ts'
import type { DeadlineClock } from '../../shared/runtime/deadlines.ts'
import { Deadline } from '../../shared/runtime/deadlines.ts'
import type { AttemptOutcome, Slot } from '../../shared/core/deployment.ts'
import type { Dialect } from '../../shared/core/dialect.ts'
import { GatewayError } from '../../shared/core/errors.ts'
import type { RequestBody } from '../../shared/core/request-body.ts'
import type { RequestContext } from '../../shared/core/request-context.ts'
import { redactUpstreamText } from '../../dialects/common/redact.ts'
import type { ServiceAnswerRules } from '../../dialects/services/codec.ts'
import type { AnswerTranslation } from '../../dialects/translate.ts'
import { secretsOf } from '../upstream/credentials.ts'
import type { CallCredential, Credentials } from '../upstream/credentials.ts'
import type {
  BodySink,
  UpstreamCall,
  UpstreamClient,
  UpstreamHeaders,
  UpstreamListener,
} from '../upstream/upstream-client.ts'
import type { Answer, AnswerReceiver, AttemptControl } from './answer-receiver.ts'
import { BufferedRelay, FailureReader, isEncoded } from './buffered-relay.ts'
import type { AnswerReader } from './buffered-relay.ts'
import { sendInTurn } from './calls-in-turn.ts'
import { outcomeOf } from './classify.ts'
import { readHeadroom } from './headroom.ts'
import { prepareCall } from './prepared-call.ts'
import type { CallTranslators } from './prepared-call.ts'
import { settleUnseen } from './settle-usage.ts'
import { StreamRelay } from './stream-relay.ts'
import { remainingTimeouts } from './total-time.ts'
import { TranslatedStream } from './translated-stream.ts'
import { unaskedForm } from './translator.ts'
import { buildUpstreamRequest } from './upstream-request.ts'

export interface AttemptOptions extends CallTranslators {
  readonly upstream: UpstreamClient
  readonly clock: Clock
  readonly deadlines: DeadlineClock
  readonly readAnswer: AnswerReader
  readonly credentials: Credentials
  readonly maxAnswerBytes: number
  /** The most attempts for one model. */
  readonly maxAttempts: number
}

/** Served: the answer is settled, good or bad. Failed: no byte has gone downstream, so another key may be tried. */
export type AttemptResult = { readonly kind: 'served' } | { readonly kind: 'failed'; readonly error: GatewayError }

const EVENT_STREAM = /^(?:text\/event-stream|application\/vnd\.amazon\.eventstream)\b/i

/** An upstream has this long to close a complete answer; then its connection is closed. */
const TAIL_MS = 1_000
/** After a client leaves, the answer is still read for this long when the provider bills it anyway. */
const DRAIN_MS = 30_000

/**
 * One upstream call. Owns its slot and releases it in one place, when the call is over. That may be after the client has its
 * answer.
 */
export class Attempt implements UpstreamListener, AttemptControl {
  readonly #ctx: RequestContext
  readonly #body: RequestBody
  readonly #slot: Slot
  readonly #dialect: Dialect
  readonly #options: AttemptOptions
  #startUs: number
  /** Made when it is first watched: an open stream has none. */
  #deadline: Deadline | null = null
  #resolve: ((result: AttemptResult) => void) | null = null
  #call: UpstreamCall | null = null
  #receiver: AnswerReceiver | null = null
  #translation: AnswerTranslation | null = null
  #reading: ServiceAnswerRules | null = null
  #status = 0
  #slotHeld = true
  #outcome: AttemptOutcome = { kind: 'ok' }

  constructor(ctx: RequestContext, body: RequestBody, slot: Slot, dialect: Dialect, options: AttemptOptions) {
    this.#ctx = ctx
    this.#body = body
    this.#slot = slot
    this.#dialect = dialect
    this.#options = options
    this.#startUs = options.clock.monotonicUs()
  }

  run(): Promise<AttemptResult> {
    const { deployment } = this.#slot
    const { exchange } = this.#ctx
    const { provider, key, upstreamModel: model } = deployment
    this.#ctx.served = { providerId: provider.id, upstreamKeyId: key.id, model }
    this.#ctx.waitingSinceUs = this.#startUs
    return new Promise((resolve) => {
      this.#resolve = resolve
      exchange.response.onAbort(() => {
        this.#clientLeft()
      })
      if (exchange.response.aborted) return
      try {
        this.#send()
      } catch (cause) {
        // This attempt already owns the slot, and must release it when the call cannot begin.
        this.failed(GatewayError.from(cause))
      }
    })
  }

  #send(): void {
    const { deployment } = this.#slot
    const prepared = prepareCall(this.#ctx, this.#body, deployment, this.#dialect, this.#options)
    this.#sendWhenReady(prepared, (call) => {
      // Replaces the dropped fields of an earlier attempt.
      this.#ctx.dropped = call.dropped
      this.#translation = call.translation
      this.#reading = call.reading
      this.#dispatch(call.bodies)
    })
  }

  #sendWhenReady<Built>(built: Built | Promise<Built>, send: (built: Built) => void): void {
    if (!(built instanceof Promise)) {
      send(built)
      return
    }
    built
      .then((call) => {
        // The client may have left meanwhile.
        if (this.#resolve !== null) send(call)
      })
      .catch((cause: unknown) => {
        this.failed(GatewayError.from(cause))
      })
  }

  #dispatch(bodies: readonly Buffer[]): void {
    this.#ctx.times.translateUs = this.#options.clock.monotonicUs() - this.#startUs
    const { provider, key, service } = this.#slot.deployment
    const credential = this.#options.credentials.of(key, service?.auth ?? provider.auth, provider)
    this.#sendWhenReady(credential, (resolved) => {
      this.#call = this.#sendAll(bodies, resolved)
    })
  }

  #sendAll(bodies: readonly Buffer[], credential: CallCredential): UpstreamCall {
    const { deployment } = this.#slot
    const { request } = this.#ctx.exchange
    const { clock, upstream, maxAnswerBytes } = this.#options
    const timeouts = remainingTimeouts(this.#ctx, deployment.provider, clock)
    const requests = bodies.map((body) =>
      buildUpstreamRequest({
        timeouts,
        deployment,
        credential,
        endpoint: this.#ctx.endpoint,
        vendor: this.#options.vendor,
        request,
        body,
        stream: this.#body.stream,
        trace: this.#ctx.trace,
        nowMs: clock.now(),
      }),
    )
    return sendInTurn({ upstream, requests, clock, maxBytes: maxAnswerBytes }, this)
  }

  onHead(status: number, headers: UpstreamHeaders): BodySink | void {
    this.#status = status
    const { clock } = this.#options
    this.#ctx.times.upstreamUs = clock.monotonicUs() - this.#startUs
    const { deployment } = this.#slot
    const isEvents = isEventStream(headers) && !isEncoded(headers)
    const { stream } = this.#body
    const translation =
      isEvents === stream
        ? this.#translation
        : unaskedForm(isEvents ? 'events' : 'whole', this.#translation, this.#ctx, this.#body, deployment.provider)
    this.#slot.answered({
      ok: status === 200,
      waitMs: this.#ctx.times.upstreamUs / 1000,
      headroom: readHeadroom(headers, clock.now()),
    })
    const answer: Answer = {
      ctx: this.#ctx,
      body: this.#body,
      dialect: this.#dialect,
      translation,
      reading: this.#reading,
      status,
      headers,
      clock,
      redact: (text, reader) =>
        redactUpstreamText(text, secretsOf(deployment.provider), reader === 'client' ? this.#body.bytes : null),
    }
    const accepted = status === 200 || (this.#ctx.endpoint.beginsJob && (status === 201 || status === 202))
    let sink: (AnswerReceiver & BodySink) | undefined
    if (!accepted) this.#receiver = new FailureReader(answer, this)
    else if (stream && isEvents) {
      this.#ctx.exchange.response.onDrain(() => {
        this.#call?.resume()
      })
      sink = translation === null ? new StreamRelay(answer, this) : new TranslatedStream(answer, translation, this)
      this.#receiver = sink
    } else this.#receiver = new BufferedRelay(answer, this, this.#options.readAnswer, this.#options.maxAnswerBytes)
    // When the provider bills after a disconnect, its answer may come after the client has left.
    if (this.#ctx.outcome.aborted) this.#receiver.clientLeft()
    return sink
  }

  onData(chunk: Buffer): void {
    this.#receiver?.data(chunk)
  }

  onEnd(): void {
    if (this.#receiver === null)
      this.failed(new GatewayError('UPSTREAM_INVALID_ANSWER', { detail: 'the call ended without an answer' }))
    else this.#receiver.end()
    this.#release()
  }

  onError(error: GatewayError): void {
    if (this.#receiver === null) this.failed(error)
    else this.#receiver.lost(error)
    this.#release()
  }

  onStale(error: GatewayError): boolean {
    if (this.#ctx.attempts.length + 1 >= this.#options.maxAttempts) return false
    this.#record(error)
    this.#startUs = this.#options.clock.monotonicUs()
    this.#ctx.waitingSinceUs = this.#startUs
    return true
  }

  pause(): void {
    this.#call?.pause()
  }

  progressed(): void {
    this.#call?.progressed()
  }

  served(): void {
    this.#settle({ kind: 'served' }, null)
    this.#awaitTail()
  }

  failed(error: GatewayError): void {
    this.#outcome = outcomeOf(error)
    if (error.code === 'UPSTREAM_AUTH') this.#options.credentials.refused(this.#slot.deployment.key)
    if (this.#ctx.outcome.aborted) this.#settle({ kind: 'served' }, error)
    else this.#settle({ kind: 'failed', error }, error)
    this.#abort()
  }

  broken(error: GatewayError): void {
    this.#outcome = outcomeOf(error)
    this.#ctx.outcome.broken(error)
    this.#settle({ kind: 'served' }, error)
    this.#abort()
  }

  #clientLeft(): void {
    if (this.#resolve === null) return
    this.#ctx.outcome.clientLeft()
    this.#receiver?.clientLeft()
    // The id of a created job must be known, or the client's next try would create the job again.
    const readsOn = this.#slot.deployment.provider.billsAfterDisconnect || this.#ctx.endpoint.beginsJob
    if (readsOn && this.#call !== null) {
      if (this.#receiver !== null) this.#call.resume()
      this.#watch(DRAIN_MS)
      return
    }
    this.#settleUnread()
    this.#outcome = { kind: 'abandoned' }
    this.#settle({ kind: 'served' }, new GatewayError('CLIENT_CLOSED'))
    this.#abort()
  }

  /** The upstream took too long to close the answer, or to complete it after the client left. */
  #expired(): void {
    if (this.#resolve !== null) this.#settleUnread()
    this.#settle({ kind: 'served' }, null)
    this.#abort()
  }

  /** Books the usage so far of an answer that is not read to its end. */
  #settleUnread(): void {
    this.#receiver?.settle?.(false)
    const mayServe = this.#status === 0 || this.#status === 200
    if (this.#call !== null && mayServe) settleUnseen(this.#ctx)
  }

  #settle(result: AttemptResult, error: GatewayError | null): void {
    const resolve = this.#resolve
    if (resolve === null) return
    this.#resolve = null
    this.#record(error)
    resolve(result)
  }

  #record(error: GatewayError | null): void {
    const nowUs = this.#options.clock.monotonicUs()
    const durationUs = nowUs - this.#startUs
    this.#ctx.waitedUs += durationUs
    this.#ctx.waitingSinceUs = null
    this.#ctx.attempts.push({
      providerId: this.#slot.deployment.provider.id,
      upstreamKeyId: this.#slot.deployment.key.id,
      status: this.#status,
      outcome: error?.code ?? 'ok',
      startUs: this.#startUs - this.#ctx.startUs,
      durationUs,
      model: this.#slot.deployment.upstreamModel,
      choice: this.#slot.choice,
      dropped: this.#ctx.dropped,
    })
  }

  /** The answer is complete, but the call may not be over: waits briefly to keep the connection. The slot is still in use. */
  #awaitTail(): void {
    this.#call?.resume()
    this.#watch(TAIL_MS)
  }

  #watch(forMs: number): void {
    if (!this.#slotHeld) return
    const { deadlines } = this.#options
    this.#deadline ??= new Deadline(() => {
      this.#expired()
    })
    this.#deadline.atMs = deadlines.nowMs + forMs
    deadlines.watch(this.#deadline)
  }

  #abort(): void {
    this.#call?.abort()
    this.#release()
  }

  #release(): void {
    if (!this.#slotHeld) return
    this.#slotHeld = false
    if (this.#deadline !== null) this.#options.deadlines.forget(this.#deadline)
    this.#slot.release(this.#outcome)
  }
}

function isEventStream(headers: UpstreamHeaders): boolean {
  const type = headers['content-type']
  return typeof type === 'string' && EVENT_STREAM.test(type)
}
