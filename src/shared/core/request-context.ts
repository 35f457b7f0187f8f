import type { Endpoint } from './endpoint.ts'
import type { GatewayError } from './errors.ts'
import type { Exchange, HeaderList } from './exchange.ts'
import type { VendorJobName } from './dialect.ts'
import type { Principal } from './principal.ts'
import type { RequestBody } from './request-body.ts'
import type { AttemptRecord } from './request-record.ts'
import type { EntryKey } from './snapshot.ts'
import type { TraceContext } from './trace-context.ts'
import type { Settlement, Usage } from './usage.ts'
import { emptyUsage } from './usage.ts'

/** What is held for a request under the limits and budgets of its key; settled and released once, by accounting. */
export interface Reservation {
  /** Some of the limits are budgets: what the request may cost and what it did cost is to be told. */
  readonly countsMoney: boolean
  /**
   * Holds what the request may use until the truth is known: all of it, or nothing. Throws, or rejects with, TPM_EXCEEDED,
   * BUDGET_EXHAUSTED or BUDGET_UNKNOWN.
   */
  reserve(tokens: number, nowMs: number, costMicro?: number): Promise<void> | undefined
  /** Books the truth in place of what was reserved, and gives the place back. Later calls do nothing. */
  settle(actualTokens: number, nowMs: number, costMicro?: number): void
}

/** What the key has left, as the `X-RateLimit-*` headers tell it. */
export interface RateLimitState {
  readonly limitRequests: number
  readonly remainingRequests: number
  readonly resetRequestsSeconds: number
  readonly limitTokens: number
  readonly remainingTokens: number
  readonly resetTokensSeconds: number
}

/** Microseconds spent in the phases, for `Server-Timing`, the log and the metrics. */
export interface PhaseTimes {
  authUs: number
  limitUs: number
  validateUs: number
  queueUs: number
  /** Of the upstream's request, that of the last attempt. */
  translateUs: number
  /** From dispatch to the upstream's response head, of the attempt that served. */
  upstreamUs: number
}

/** One AI request on its way through the phases. Every field is set here, in one order: all requests have one shape. */
export class RequestContext {
  readonly id: string
  /** Unix milliseconds. */
  readonly atMs: number
  readonly startUs: number
  readonly endpoint: Endpoint
  readonly exchange: Exchange
  /** Null when traces are off. */
  readonly trace: TraceContext | null
  principal: Principal | null = null
  /** A key that is known and may not be used: the refusal belongs into its owner's log. */
  refusedKey: EntryKey | null = null
  body: RequestBody | null = null
  /** As asked, also when the body was refused. */
  model: string | null = null
  reservation: Reservation | null = null
  /** The record of its begin was handed to the journal. */
  hasBegun = false
  rateLimits: (() => RateLimitState) | null = null
  readonly attempts: AttemptRecord[] = []
  error: GatewayError | null = null
  /** HTTP status sent; 0 while nothing was. */
  status = 0
  aborted = false
  providerId: string | null = null
  upstreamKeyId: string | null = null
  servedModel: string | null = null
  /** What the request has begun at the provider. */
  job: VendorJobName | null = null
  usage: Usage = emptyUsage()
  settlement: Settlement = 'none'
  /** Usage is an estimate, which counting may better; the whole answer where there is one. Null: it was reported. */
  unreported: { readonly answer: Buffer | null } | null = null
  ttftUs: number | null = null
  /** Time spent waiting for upstreams or for the client's body, but for what is under way. */
  waitedUs = 0
  /** Since when an upstream has the request, on the monotonic clock; null while none has. */
  waitingSinceUs: number | null = null
  readonly times: PhaseTimes = { authUs: 0, limitUs: 0, validateUs: 0, queueUs: 0, translateUs: 0, upstreamUs: 0 }
  /** Sends the last bytes of the answer; called by accounting once the record is safe. */
  finish: (() => void) | null = null
  /** What of the request, or of its answer, the other side's dialect could not carry. */
  dropped: readonly string[] = []
  /** Headers that phases want on the answer. */
  readonly answerHeaders: Array<HeaderList[number]> = []

  constructor(
    id: string,
    atMs: number,
    startUs: number,
    endpoint: Endpoint,
    exchange: Exchange,
    trace: TraceContext | null = null,
  ) {
    this.id = id
    this.atMs = atMs
    this.startUs = startUs
    this.endpoint = endpoint
    this.exchange = exchange
    this.trace = trace
  }

  finishWith(send: () => void): void {
    this.finish = send
  }

  /** Microseconds that the gateway itself took so far: neither upstream, client nor queue. */
  overheadUs(nowUs: number): number {
    const waitingUs = this.waitingSinceUs === null ? 0 : nowUs - this.waitingSinceUs
    return Math.max(0, nowUs - this.startUs - this.waitedUs - waitingUs - this.times.queueUs)
  }
}
