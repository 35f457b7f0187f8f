import { createHash } from 'node:crypto'
import type { Video } from '../../shared/endpoints/video.ts'
import type { Clock } from '../../shared/runtime/clock.ts'
import type { DeadlineClock } from '../../shared/runtime/deadlines.ts'
import { Deadline } from '../../shared/runtime/deadlines.ts'
import { GatewayError } from '../../shared/core/errors.ts'
import type { ClaimRequest } from '../../shared/core/job-claim.ts'
import type { RequestContext } from '../../shared/core/request-context.ts'
import { answerHeaders, errorHeaders } from '../gateway/answer-headers.ts'
import { mayHaveBegun } from './creation-error.ts'
import type { JobBook } from './job-book.ts'
import type { JobReader, JobState } from './job-reader.ts'
import type { JobSeal, VideoJob } from './job-seal.ts'
import { mayRead } from './job-seal.ts'
import type { Ending, JobWatch } from './job-watch.ts'
import { WaitingClient } from './waiting-client.ts'

export interface VideoOptions {
  /** The longest time that a request waits for its video. */
  readonly maxWaitMs: number
  readonly paddingAfterMs: number
  readonly paddingEveryMs: number
  /** The validity of a link to a video. */
  readonly linkMs: number
  /** For this long the same body of the same key means the same job; for `idempotencyMs`, the same Idempotency-Key. */
  readonly repeatMs: number
  readonly idempotencyMs: number
  readonly maxJobs: number
}

export interface VideoParts {
  readonly clock: Clock
  readonly deadlines: DeadlineClock
  readonly seal: JobSeal
  readonly reader: JobReader
  readonly watch: JobWatch
  readonly book: JobBook
  readonly options: VideoOptions
  /** The base URL at which clients reach the gateway, without a trailing slash. */
  readonly baseUrlOf: (ctx: RequestContext) => string
  readonly renderError: (error: GatewayError, requestId: string) => string
}

export const VIDEO_PATH = '/v1/video/generations/'
const MAX_IDEMPOTENCY_KEY = 256

/** Serves videos: creates a job at a provider, and answers when it is over, or at once. */
export class Videos {
  readonly #parts: VideoParts

  constructor(parts: VideoParts) {
    this.#parts = parts
  }

  /**
   * Creates the job with `serve`, unless the same request has created it before. The answer begins once the request's record is
   * durable. The outcome of the job does not change the record.
   */
  async create(ctx: RequestContext, serve: () => Promise<void>): Promise<void> {
    const { watch, options } = this.#parts
    if (watch.count >= options.maxJobs) throw new GatewayError('GATEWAY_OVERLOADED', { retryAfterSeconds: 10 })
    const request = this.#claimOf(ctx)
    const claim = await this.#parts.book.claim(request)
    switch (claim.kind) {
      case 'new':
        await this.#begin(ctx, request, serve)
        return
      case 'job':
        ctx.outcome.answered()
        this.#answerWith(ctx, claim.id)
        return
      case 'busy':
        throw new GatewayError('VIDEO_BEING_CREATED', { retryAfterSeconds: 1 })
      case 'unknown':
        throw new GatewayError('VIDEO_CREATION_UNKNOWN')
    }
  }

  /** Answers with the state of a job. Throws VIDEO_NOT_FOUND when the caller may not read the job. */
  readonly get = async (ctx: RequestContext): Promise<void> => {
    const { path } = ctx.exchange.request
    const id = path.slice(path.indexOf(VIDEO_PATH) + VIDEO_PATH.length)
    const job = this.#parts.seal.open(id)
    if (job === null || ctx.principal === null || !mayRead(ctx.principal, job))
      throw new GatewayError('VIDEO_NOT_FOUND')
    ctx.model = job.model
    const look = await this.#parts.reader.look(job)
    if (look.kind === 'unseen') throw look.error.status === 400 ? new GatewayError('VIDEO_NOT_FOUND') : look.error
    ctx.outcome.answered()
    const body = this.#describe(ctx, id, job, look.state)
    ctx.finishWith(() => {
      ctx.exchange.response.send(200, this.#headers(ctx), JSON.stringify(body))
    })
  }

  async #begin(ctx: RequestContext, request: ClaimRequest, serve: () => Promise<void>): Promise<void> {
    const { book, seal, clock } = this.#parts
    try {
      await serve()
    } catch (cause) {
      if (cause instanceof GatewayError && cause.code === 'VIDEO_CREATION_UNKNOWN') book.doubt(request)
      else book.release(request)
      throw cause
    }
    const { job, principal } = ctx
    const { providerId, upstreamKeyId } = ctx.served
    if (job === null || providerId === null || upstreamKeyId === null || principal === null) {
      // The client left before the job was created.
      if (mayHaveBegun(ctx)) book.doubt(request)
      else book.release(request)
      return
    }
    const { id: keyId, userId, enterpriseId } = principal.key
    const id = seal.seal({
      providerId,
      upstreamKeyId,
      vendorId: job.id,
      protocol: job.protocol,
      model: ctx.model ?? '',
      created: Math.floor(clock.now() / 1000),
      keyId,
      userId,
      enterpriseId,
    })
    await book.begun(request, id)
    this.#answerWith(ctx, id)
  }

  #answerWith(ctx: RequestContext, id: string): void {
    const job = this.#parts.seal.open(id)
    if (job === null) throw new GatewayError('INTERNAL', { detail: 'the id of the job cannot be decrypted' })
    const waits = ctx.body?.expected?.kind !== 'video' || ctx.body.expected.waits
    ctx.finishWith(() => {
      if (waits) this.#wait(ctx, id, job)
      else {
        const body = this.#describe(ctx, id, job, { status: 'queued', progress: null, error: null })
        ctx.exchange.response.send(200, this.#headers(ctx), JSON.stringify(body))
      }
    })
  }

  #wait(ctx: RequestContext, id: string, job: VideoJob): void {
    const { deadlines, options, watch, clock, renderError } = this.#parts
    const client = new WaitingClient(ctx.exchange.response, () => this.#headers(ctx), {
      deadlines,
      afterMs: options.paddingAfterMs,
      everyMs: options.paddingEveryMs,
    })
    const fail = (error: GatewayError): void => {
      client.answer(error.status, errorHeaders(ctx, error, clock.monotonicUs()), renderError(error, ctx.id))
    }
    const deadline = new Deadline(() => {
      deadlines.forget(deadline)
      stop()
      fail(notReady(id))
    })
    const stop = watch.watch(id, job, ({ state }: Ending) => {
      deadlines.forget(deadline)
      if (state === null) fail(notReady(id))
      else if (state.error !== null) fail(state.error)
      else client.answer(200, this.#headers(ctx), JSON.stringify(this.#describe(ctx, id, job, state)))
    })
    deadline.atMs = deadlines.nowMs + options.maxWaitMs
    deadlines.watch(deadline)
  }

  #describe(ctx: RequestContext, id: string, job: VideoJob, { status, progress, error }: JobState): Video {
    return {
      id,
      object: 'video.generation',
      status,
      model: job.model,
      created: job.created,
      ...(progress === null ? {} : { progress }),
      ...(status === 'completed' ? { data: [{ url: this.#link(ctx, id) }] } : {}),
      ...(error === null ? {} : { error: { type: error.type, message: error.message, code: error.code } }),
    }
  }

  #link(ctx: RequestContext, id: string): string {
    const { clock, options, seal, baseUrlOf } = this.#parts
    const expires = Math.floor((clock.now() + options.linkMs) / 1000)
    return `${baseUrlOf(ctx)}${VIDEO_PATH}${id}/content?expires=${expires}&signature=${seal.sign(id, expires)}`
  }

  #headers(ctx: RequestContext): ReturnType<typeof answerHeaders> {
    return answerHeaders(ctx, 'application/json', this.#parts.clock.monotonicUs())
  }

  /** Identifies the request by its Idempotency-Key, else by its body. */
  #claimOf(ctx: RequestContext): ClaimRequest {
    const { clock, options } = this.#parts
    const given = ctx.exchange.request.headers['idempotency-key']
    const isNamed = given !== undefined && given !== '' && given.length <= MAX_IDEMPOTENCY_KEY
    const hash = createHash('sha256')
    if (isNamed) hash.update(`key ${given}`)
    else hash.update('body ').update(ctx.body?.bytes ?? '')
    return {
      owner: ctx.principal?.key.id ?? '',
      fingerprint: hash.digest('base64url'),
      untilMs: clock.now() + (isNamed ? options.idempotencyMs : options.repeatMs),
    }
  }
}

function notReady(id: string): GatewayError {
  const message = `The video is not ready yet. GET ${VIDEO_PATH}${id} shows its state.`
  return new GatewayError('VIDEO_NOT_READY', { message, retryAfterSeconds: 10 })
}
