import type { Clock } from '../core/clock.ts'
import type { RequestContext } from '../core/request-context.ts'
import type { BeginRecord, EndRecord, RequestIdentity } from '../core/request-record.ts'
import type { Usage } from '../core/usage.ts'
import type { Journal } from './journal.ts'

const MAX_MODEL = 256
const MAX_USER_AGENT = 512
const MAX_CLIENT_REQUEST_ID = 128

/** Writes a request's records, settles its reservation, and lets its last bytes go once the record is safe. */
export class Accountant {
  readonly #journal: Journal
  readonly #clock: Clock

  readonly #onUsage: (usage: Usage) => void

  constructor(journal: Journal, clock: Clock, onUsage: (usage: Usage) => void) {
    this.#journal = journal
    this.#clock = clock
    this.#onUsage = onUsage
  }

  /** Resolves once the begin record is durable: only then may an upstream hear of the request. */
  begin(ctx: RequestContext): Promise<void> {
    const record: BeginRecord = { kind: 'begin', ...identity(ctx) }
    return new Promise((resolve, reject) => {
      this.#journal.append(record, (failure) => {
        if (failure === null) resolve()
        else reject(failure)
      })
    })
  }

  /** The end of every request, exactly once, whatever happened to it. */
  end(ctx: RequestContext): void {
    const nowUs = this.#clock.monotonicUs()
    ctx.reservation?.settle(ctx.usage.promptTokens + ctx.usage.completionTokens, this.#clock.now())
    // Refused because nothing can be recorded: this cannot be recorded either, and the client is not to wait for it.
    if (ctx.error?.code === 'JOURNAL_UNAVAILABLE') {
      ctx.finish?.()
      return
    }
    this.#onUsage(ctx.usage)
    this.#journal.append(endRecord(ctx, nowUs), (failure) => {
      if (failure === null) ctx.finish?.()
      else ctx.exchange.response.destroy()
    })
  }
}

function endRecord(ctx: RequestContext, nowUs: number): EndRecord {
  const totalUs = nowUs - ctx.startUs
  return {
    kind: 'end',
    ...identity(ctx),
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
    totalUs,
    overheadUs: ctx.overheadUs(nowUs),
  }
}

function identity(ctx: RequestContext): RequestIdentity {
  const { headers, address } = ctx.exchange.request
  const key = ctx.principal?.key
  const clientRequestId = headers['x-client-request-id']
  return {
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
    model: ctx.model?.slice(0, MAX_MODEL) ?? null,
    stream: ctx.body?.stream ?? false,
    userAgent: (headers['user-agent'] ?? '').slice(0, MAX_USER_AGENT),
    clientAddress: address,
    clientRequestId: clientRequestId?.slice(0, MAX_CLIENT_REQUEST_ID) ?? null,
    traceId: ctx.trace?.traceId ?? null,
  }
}
