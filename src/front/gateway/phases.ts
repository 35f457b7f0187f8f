import type { Accountant } from '../accounting/account.ts'
import type { Journal } from '../../journal/journal.ts'
import type { Captures } from '../capture/captures.ts'
import type { Authenticator } from '../auth/authenticator.ts'
import type { Newcomers } from '../auth/newcomers.ts'
import { GatewayError } from '../../shared/core/errors.ts'
import type { Exchange } from '../../shared/core/exchange.ts'
import type { PriceBook } from '../../shared/core/price-book.ts'
import type { Principal } from '../../shared/core/principal.ts'
import type { RequestBody } from '../../shared/core/request-body.ts'
import type { RateLimitState, RequestContext } from '../../shared/core/request-context.ts'
import type { AddressFailures } from '../limits/address-failures.ts'
import type { Admission, Admissions } from '../limits/admissions.ts'
import type { Logger } from '../../shared/telemetry/logger.ts'
import { validateVersionHeader } from '../validation/version-header.ts'
import { errorHeaders } from './answer-headers.ts'
import type { RequestMetrics } from './request-metrics.ts'
import { serve } from './serve.ts'
import type { ServeParts } from './serve.ts'
import type { TokenCounts } from './token-counts.ts'
import type { Videos } from '../videos/videos.ts'
import { worstCost } from './worst-cost.ts'
import type { WorstCost } from './worst-cost.ts'

/** The steps of `pipeline.ts`. */
export interface Phases {
  /** Returns a promise only when it must ask the control process; so do `admit` and `reserve`. */
  authenticate(ctx: RequestContext): Promise<void> | undefined
  admit(ctx: RequestContext): Promise<void> | undefined
  validate(ctx: RequestContext): Promise<void>
  /** Hands the request to the control process: it ends there, and is not accounted here. */
  delegate(ctx: RequestContext): void
  reserve(ctx: RequestContext): Promise<void> | undefined
  begin(ctx: RequestContext): Promise<void>
  attempt(ctx: RequestContext): Promise<void>
  /** Counts the tokens that the upstream did not report. */
  count(ctx: RequestContext): Promise<void>
  fail(ctx: RequestContext, error: GatewayError): void
  account(ctx: RequestContext): void
}

export interface PhaseParts extends ServeParts {
  readonly authenticator: Authenticator
  readonly newcomers: Newcomers
  readonly limits: Admissions
  readonly addressFailures: AddressFailures
  readonly journal: Journal
  readonly accountant: Accountant
  /** Validates small bodies at once, large ones in the worker pool. */
  readonly checkBody: (endpoint: string, bytes: Buffer) => RequestBody | Promise<RequestBody>
  /** False until the first snapshot has arrived. */
  readonly isReady: () => boolean
  readonly defaultOutputTokens: number
  /** Prepaid enterprises may use models without a price. */
  readonly allowUnpriced: boolean
  readonly prices: PriceBook
  readonly videos: Videos
  readonly tokenCounts: TokenCounts
  /** Hands a chat with tools of servers to the control process. Calls `refuse` when that is not possible. */
  readonly converse: (exchange: Exchange, requestId: string, refuse: (error: GatewayError) => void) => Promise<void>
  readonly captures: Captures
  readonly metrics: RequestMetrics
  readonly logger: Logger
}

const JSON_TYPE = /^\s*application\/(?:[a-z0-9.+-]+\+)?json\s*(?:;|$)/i

export function createPhases(parts: PhaseParts): Phases {
  const { clock, accountant, limits } = parts

  /** Notes the key of the refused request. Counts a failed authentication against the address, which may itself be refused then. */
  const refused = (ctx: RequestContext, cause: unknown): GatewayError => {
    ctx.refusedKey = parts.authenticator.keyOf(ctx.exchange.request)
    const refusal = GatewayError.from(cause)
    if (refusal.type !== 'auth_error' && refusal.code !== 'CONTROL_UNAVAILABLE') return refusal
    return parts.addressFailures.record(ctx.exchange.request.address, clock.now()) ?? refusal
  }

  const authenticated = (ctx: RequestContext): Principal | Promise<Principal> => {
    const { request } = ctx.exchange
    try {
      return parts.authenticator.authenticate(request, ctx.atMs)
    } catch (cause) {
      const mayBeNew = GatewayError.from(cause).type === 'auth_error' && parts.newcomers.mayBeOne(request)
      if (!mayBeNew || parts.addressFailures.isSpent(request.address, ctx.atMs)) throw refused(ctx, cause)
      return parts.newcomers.authenticate(request).catch((refusal: unknown) => {
        throw refused(ctx, refusal)
      })
    }
  }

  const fail = (ctx: RequestContext, error: GatewayError): void => {
    const { response } = ctx.exchange
    if (error.code === 'INTERNAL')
      parts.logger.error({ err: error, requestId: ctx.id }, 'a request failed with an internal error')
    if (response.aborted || error.code === 'CLIENT_CLOSED') {
      ctx.outcome.abandoned(error)
      return
    }
    ctx.outcome.refused(error)
    const body = parts.dialectOf(ctx.endpoint.dialect).renderError(error, ctx.id)
    ctx.finishWith(() => {
      response.send(error.status, errorHeaders(ctx, error, clock.monotonicUs()), body)
    })
  }

  const record = (ctx: RequestContext): void => {
    const nowUs = clock.monotonicUs()
    accountant.end(ctx, nowUs)
    parts.metrics.ended(ctx, nowUs)
  }

  return {
    authenticate(ctx) {
      if (!parts.isReady()) throw new GatewayError('STARTING', { retryAfterSeconds: 1 })
      if (!parts.journal.writable) throw new GatewayError('JOURNAL_UNAVAILABLE', { retryAfterSeconds: 1 })
      const isKnown = (principal: Principal): void => {
        ctx.principal = principal
        const rateLimits = (): RateLimitState => limits.state(principal, clock.now())
        ctx.rateLimits = rateLimits
        ctx.times.authUs = clock.monotonicUs() - ctx.startUs
      }
      const principal = authenticated(ctx)
      if (principal instanceof Promise) return principal.then(isKnown)
      isKnown(principal)
      return undefined
    },

    admit(ctx) {
      const startUs = ctx.startUs + ctx.times.authUs
      if (ctx.principal === null) throw new GatewayError('INTERNAL')
      const admitted = (admission: Admission): void => {
        ctx.reservation = admission
        ctx.times.limitUs = clock.monotonicUs() - startUs
      }
      const admission = limits.admit(ctx.principal, clock.now())
      if (admission instanceof Promise) return admission.then(admitted)
      admitted(admission)
      return undefined
    },

    async validate(ctx) {
      const { request } = ctx.exchange
      const contentType = request.headers['content-type']
      if (contentType !== undefined && !JSON_TYPE.test(contentType)) throw new GatewayError('UNSUPPORTED_MEDIA_TYPE')
      if (ctx.endpoint.dialect === 'anthropic-messages') {
        validateVersionHeader(request.headers[`${parts.vendor}-version`])
      }
      const capture = ctx.principal?.capture ?? null
      if (capture !== null) parts.captures.begin(ctx, capture)
      const askedUs = ctx.startUs + ctx.times.authUs + ctx.times.limitUs
      const bytes = await ctx.exchange.readBody()
      const startUs = clock.monotonicUs()
      ctx.waitedUs += startUs - askedUs
      const checked = parts.checkBody(ctx.endpoint.name, bytes)
      const body = checked instanceof Promise ? await checked : checked
      ctx.body = body
      ctx.model = body.model
      ctx.times.validateUs = clock.monotonicUs() - startUs
      const models = ctx.principal?.models
      if (models !== null && models !== undefined && !models.has(body.model)) {
        throw new GatewayError('MODEL_DENIED', { param: '/model' })
      }
    },

    delegate(ctx) {
      const { request, response } = parts.captures.abandoned(ctx.exchange)
      const bytes = ctx.body?.bytes ?? Buffer.alloc(0)
      ctx.isDelegated = true
      ctx.reservation?.withdraw()
      const refuse = (error: GatewayError): void => {
        fail(ctx, error)
        record(ctx)
      }
      parts
        .converse({ request, response, readBody: () => Promise.resolve(bytes) }, ctx.id, refuse)
        .catch((cause: unknown) => {
          refuse(GatewayError.from(cause))
        })
    },

    reserve(ctx) {
      const { body, reservation } = ctx
      if (body === null || ctx.endpoint.countsTokens) return undefined
      const output = (body.maxOutputTokens ?? parts.defaultOutputTokens) * body.choices
      const worst = reservation?.countsMoney === true ? worstCost(ctx, body, parts) : null
      if (worst !== null) refuseUnpriced(ctx, worst, parts)
      return reservation?.reserve(body.estimatedPromptTokens + output, clock.now(), worst?.micro ?? 0, body.model)
    },

    begin: (ctx) => accountant.begin(ctx),

    attempt(ctx) {
      const { beginsJob, countsTokens } = ctx.endpoint
      if (beginsJob) return parts.videos.create(ctx, () => serve(ctx, parts))
      return countsTokens ? parts.tokenCounts.answer(ctx, () => serve(ctx, parts)) : serve(ctx, parts)
    },

    count: (ctx) => parts.tokenCounts.countUnreported(ctx),

    fail,

    account(ctx) {
      if (!ctx.isDelegated) record(ctx)
    },
  }
}

/** A wallet cannot pay for a model without a price: the request would cost nothing. */
function refuseUnpriced({ principal }: RequestContext, { unpriced }: WorstCost, { allowUnpriced }: PhaseParts): void {
  if (unpriced === null || allowUnpriced) return
  if (principal?.key.budgets?.some(({ owner }) => owner === 'wallet') !== true) return
  throw new GatewayError('MODEL_UNPRICED', {
    message: `The model ${unpriced} has no price, and the enterprise of this API key pays in advance: set its price, or wallet.allow_unpriced.`,
    param: '/model',
  })
}
