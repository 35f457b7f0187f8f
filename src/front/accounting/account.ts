import type { Clock } from '../../shared/runtime/clock.ts'
import type { PriceBook } from '../../shared/core/price-book.ts'
import { GatewayError } from '../../shared/core/errors.ts'
import type { ClientNote, RequestContext } from '../../shared/core/request-context.ts'
import type { BeginRecord, EndRecord } from '../../shared/core/request-record.ts'
import { tagsOfRequest } from '../../shared/core/tags.ts'
import type { Usage } from '../../shared/core/usage.ts'
import type { Journal } from '../../journal/journal.ts'

const MAX_MODEL = 256
const MAX_USER_AGENT = 512
const MAX_CLIENT_REQUEST_ID = 128

/** Writes a request's records, settles its reservation, and releases its last bytes once the end record is durable. */
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
   * Resolves once the begin record is durable: no upstream may be called before. Rejects with JOURNAL_UNAVAILABLE.
   */
  begin(ctx: RequestContext): Promise<void> {
    // The journal keeps its remaining room for the end records of requests that have begun.
    if (!this.#journal.writable) return Promise.reject(unavailable(null))
    ctx.hasBegun = true
    return new Promise((resolve, reject) => {
      this.#journal.append(beginRecord(ctx), (failure) => {
        if (failure === null) resolve()
        else reject(unavailable(failure))
      })
    })
  }

  /** Ends a request. Called exactly once for every request, whatever its outcome. @param nowUs monotonic */
  end(ctx: RequestContext, nowUs: number): void {
    this.#settle(ctx)
    // The journal is unavailable and cannot take this record now either, so the client does not wait for it.
    if (ctx.outcome.error?.code === 'JOURNAL_UNAVAILABLE') {
      ctx.finish?.()
      // The begin record may still be written, and then needs its end record.
      if (ctx.hasBegun) this.#journal.append(endRecord(ctx, nowUs), ignore)
      return
    }
    this.#onUsage(ctx.tokens.usage)
    this.#journal.append(endRecord(ctx, nowUs), (failure) => {
      if (failure === null) ctx.finish?.()
      else ctx.exchange.response.destroy()
    })
  }

  #settle({ reservation, toolCall, tokens: { usage }, served: { providerId, model } }: RequestContext): void {
    if (reservation === null) return
    // The settler computes the same cost later: it uses the same usage and prices.
    const costOf = (): number => toolCall?.costMicro ?? this.#prices.costOf(providerId, model, usage)
    const costMicro = reservation.countsMoney ? costOf() : 0
    reservation.settle(usage.promptTokens + usage.completionTokens, this.#clock.now(), costMicro)
  }
}

// Two full literals: V8 makes a slow object when one literal is spread into another.

function beginRecord(ctx: RequestContext): BeginRecord {
  const key = ctx.principal?.key ?? ctx.refusedKey
  const client = clientOf(ctx)
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
    userAgent: client.userAgent,
    clientAddress: ctx.exchange.request.address,
    clientRequestId: client.clientRequestId,
    traceId: ctx.trace?.traceId ?? null,
    tags: client.tags,
  }
}

function endRecord(ctx: RequestContext, nowUs: number): EndRecord {
  const key = ctx.principal?.key ?? ctx.refusedKey
  const client = clientOf(ctx)
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
    userAgent: client.userAgent,
    clientAddress: ctx.exchange.request.address,
    clientRequestId: client.clientRequestId,
    traceId: ctx.trace?.traceId ?? null,
    tags: client.tags,
    status: ctx.outcome.status,
    errorType: ctx.outcome.error?.type ?? null,
    errorCode: ctx.outcome.error?.code ?? null,
    providerId: ctx.served.providerId,
    upstreamKeyId: ctx.served.upstreamKeyId,
    servedModel: ctx.served.model,
    attempts: ctx.attempts,
    usage: ctx.tokens.usage,
    settlement: ctx.tokens.settlement,
    aborted: ctx.outcome.aborted,
    queueUs: ctx.times.queueUs,
    ttftUs: ctx.ttftUs,
    totalUs: nowUs - ctx.startUs,
    overheadUs: ctx.overheadUs(nowUs),
    callCostMicro: ctx.toolCall?.costMicro ?? null,
    argumentBytes: ctx.toolCall?.argumentBytes ?? null,
    resultBytes: ctx.toolCall?.resultBytes ?? null,
  }
}

function clientOf(ctx: RequestContext): ClientNote {
  const { headers, hasTags } = ctx.exchange.request
  const ofBody = ctx.body?.tags ?? null
  ctx.client ??= {
    userAgent: cut(headers['user-agent'], MAX_USER_AGENT) ?? '',
    clientRequestId: cut(headers['x-client-request-id'], MAX_CLIENT_REQUEST_ID),
    // Most requests have no tags, and then no header is looked at.
    tags: hasTags ? tagsOfRequest(headers, ofBody) : ofBody,
  }
  return ctx.client
}

function cut(text: string | null | undefined, length: number): string | null {
  if (text === null || text === undefined) return null
  return text.length > length ? text.slice(0, length) : text
}

function unavailable(cause: Error | null): GatewayError {
  return new GatewayError('JOURNAL_UNAVAILABLE', { retryAfterSeconds: 1, ...(cause === null ? {} : { cause }) })
}

function ignore(): void {}
