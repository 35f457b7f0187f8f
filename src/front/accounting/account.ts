import type { Clock } from '../../shared/runtime/clock.ts'
import type { PriceBook } from '../../shared/core/price-book.ts'
import { GatewayError } from '../../shared/core/errors.ts'
import type { RequestContext } from '../../shared/core/request-context.ts'
import type { BeginRecord, EndRecord } from '../../shared/core/request-record.ts'
import type { Usage } from '../../shared/core/usage.ts'
import type { Journal } from '../../journal/journal.ts'

const MAX_MODEL = 256
const MAX_USER_AGENT = 512
const MAX_CLIENT_REQUEST_ID = 128

/** Writes a request's records, settles its reservation, and lets its last bytes go once the record is safe. */
export class Accountant {
  readonly #journal: Journal
  readonly #clock: Clock

  readonly #prices: Pick<PriceBook, 'costOf'>
  readonly #onUsage: (usage: Usage) => void

  constructor(journal: Journal, clock: Clock, prices: Pick<PriceBook, 'costOf'>, onUsage: (usage: Usage) => void) {
    this.#journal = journal
    this.#clock = clock
    this.#prices = prices
    this.#onUsage = onUsage
  }

  /**
   * Resolves once the begin record is durable: only then may an upstream hear of the request. Rejects with
   * JOURNAL_UNAVAILABLE.
   */
  begin(ctx: RequestContext): Promise<void> {
    // What room is left is for the ends of those that have begun.
    if (!this.#journal.writable) return Promise.reject(unavailable(null))
    ctx.hasBegun = true
    return new Promise((resolve, reject) => {
      this.#journal.append(beginRecord(ctx), (failure) => {
        if (failure === null) resolve()
        else reject(unavailable(failure))
      })
    })
  }

  /** The end of every request, exactly once, whatever happened to it. @param nowUs monotonic */
  end(ctx: RequestContext, nowUs: number): void {
    this.#settle(ctx)
    // Refused because nothing can be recorded: this cannot be recorded now either, and the client is not to wait for it.
    if (ctx.error?.code === 'JOURNAL_UNAVAILABLE') {
      ctx.finish?.()
      // A begin that may still be written wants its end.
      if (ctx.hasBegun) this.#journal.append(endRecord(ctx, nowUs), ignore)
      return
    }
    this.#onUsage(ctx.usage)
    this.#journal.append(endRecord(ctx, nowUs), (failure) => {
      if (failure === null) ctx.finish?.()
      else ctx.exchange.response.destroy()
    })
  }

  #settle({ reservation, usage, providerId, servedModel }: RequestContext): void {
    if (reservation === null) return
    // What the settler will say: the same usage, the same prices.
    const costMicro = reservation.countsMoney ? this.#prices.costOf(providerId, servedModel, usage) : 0
    reservation.settle(usage.promptTokens + usage.completionTokens, this.#clock.now(), costMicro)
  }
}

// Two whole literals: V8 makes a slow object of one that another is spread into.

function beginRecord(ctx: RequestContext): BeginRecord {
  const key = ctx.principal?.key ?? ctx.refusedKey
  return {
    kind: 'begin',
    id: ctx.id,
    atMs: ctx.atMs,
    endpoint: ctx.endpoint.name,
    dialect: ctx.endpoint.dialect,
    keyId: key?.id ?? null,
    keyMasked: key?.masked ?? null,
    userId: key?.userId ?? null,
    enterpriseId: key?.enterpriseId ?? null,
    departmentId: key?.departmentId ?? null,
    memberId: key?.memberId ?? null,
    model: cut(ctx.model, MAX_MODEL),
    stream: ctx.body?.stream ?? false,
    userAgent: cut(ctx.exchange.request.headers['user-agent'], MAX_USER_AGENT) ?? '',
    clientAddress: ctx.exchange.request.address,
    clientRequestId: cut(ctx.exchange.request.headers['x-client-request-id'], MAX_CLIENT_REQUEST_ID),
    traceId: ctx.trace?.traceId ?? null,
  }
}

function endRecord(ctx: RequestContext, nowUs: number): EndRecord {
  const key = ctx.principal?.key ?? ctx.refusedKey
  return {
    kind: 'end',
    id: ctx.id,
    atMs: ctx.atMs,
    endpoint: ctx.endpoint.name,
    dialect: ctx.endpoint.dialect,
    keyId: key?.id ?? null,
    keyMasked: key?.masked ?? null,
    userId: key?.userId ?? null,
    enterpriseId: key?.enterpriseId ?? null,
    departmentId: key?.departmentId ?? null,
    memberId: key?.memberId ?? null,
    model: cut(ctx.model, MAX_MODEL),
    stream: ctx.body?.stream ?? false,
    userAgent: cut(ctx.exchange.request.headers['user-agent'], MAX_USER_AGENT) ?? '',
    clientAddress: ctx.exchange.request.address,
    clientRequestId: cut(ctx.exchange.request.headers['x-client-request-id'], MAX_CLIENT_REQUEST_ID),
    traceId: ctx.trace?.traceId ?? null,
    status: ctx.status,
    errorType: ctx.error?.type ?? null,
    errorCode: ctx.error?.code ?? null,
    providerId: ctx.providerId,
    upstreamKeyId: ctx.upstreamKeyId,
    servedModel: ctx.servedModel,
    attempts: ctx.attempts,
    usage: ctx.usage,
    settlement: ctx.settlement,
    aborted: ctx.aborted,
    queueUs: ctx.times.queueUs,
    ttftUs: ctx.ttftUs,
    totalUs: nowUs - ctx.startUs,
    overheadUs: ctx.overheadUs(nowUs),
  }
}

function cut(text: string | null | undefined, length: number): string | null {
  if (text === null || text === undefined) return null
  return text.length > length ? text.slice(0, length) : text
}

function unavailable(cause: Error | null): GatewayError {
  return new GatewayError('JOURNAL_UNAVAILABLE', { retryAfterSeconds: 1, ...(cause === null ? {} : { cause }) })
}

function ignore(): void {}
