import type { Endpoint } from './endpoint.ts'
import type { GatewayError } from './errors.ts'
import type { Exchange, HeaderList } from './exchange.ts'
import type { VendorJobName } from './dialect.ts'
import type { Principal } from './principal.ts'
import type { RequestBody } from './request-body.ts'
import type { AttemptRecord } from './request-record.ts'
import type { EntryKey } from './snapshot.ts'
import type { ToolCallUse } from './tool-call.ts'
import type { Tags } from './tags.ts'
import type { TraceContext } from './trace-context.ts'
import type { Settlement, Usage } from './usage.ts'
import { emptyUsage } from './usage.ts'

/** The share of the limits and budgets of its key that a request holds. Accounting settles and releases it once. */
export interface Reservation {
  /** Some of the limits are budgets: `reserve` and `settle` need the cost. */
  readonly countsMoney: boolean
  /**
   * Reserves the most that the request can use, until settlement: all of it, or nothing. Throws, or rejects with, TPM_EXCEEDED,
   * BUDGET_EXHAUSTED or BUDGET_UNKNOWN. @param model the model asked for: its own budgets have to cover the request as well
   */
  reserve(tokens: number, nowMs: number, costMicro?: number, model?: string): Promise<void> | undefined
  /** Replaces the reservation by the actual use, and releases the concurrency limit. Later calls do nothing. */
  settle(actualTokens: number, nowMs: number, costMicro?: number): void
  /** Gives everything back, as if the request had never been admitted. Later calls do nothing. */
  withdraw(): void
}

/** The rest of the key's rate limits, for the `X-RateLimit-*` headers. */
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
  /** Translation of the upstream's request, for the last attempt. */
  translateUs: number
  /** From dispatch to the upstream's response head, of the attempt that served. */
  upstreamUs: number
}

/** How a request ends. Only these methods change it. */
export class Outcome {
  /** The HTTP status that was sent; 0 before that. */
  status = 0
  aborted = false
  error: GatewayError | null = null

  /** The answer is sent, or begins to be sent. */
  answered(): void {
    if (!this.aborted) this.status = 200
  }

  /** An error is the answer. */
  refused(error: GatewayError): void {
    this.error = error
    this.status = error.status
  }

  /** An error ends an answer that has begun. */
  broken(error: GatewayError): void {
    this.error = error
  }

  /** The client left; the upstream may go on. */
  clientLeft(): void {
    this.aborted = true
    if (this.status === 0) this.status = 499
  }

  /** The request ends because the client left. */
  abandoned(error: GatewayError): void {
    this.error = error
    this.aborted = true
    this.status = 499
  }
}

/** The upstream that has the request, or had it last. */
export interface Served {
  readonly providerId: string | null
  readonly upstreamKeyId: string | null
  /** The name of the model there. */
  readonly model: string | null
}

const NOBODY: Served = { providerId: null, upstreamKeyId: null, model: null }

/** What the request used, and how that is known. */
export interface RequestTokens {
  readonly usage: Usage
  readonly settlement: Settlement
  /** Set when `usage` is an estimate, which counting may improve, with the whole answer if there is one. Null: it was reported. */
  readonly unreported: { readonly answer: Buffer | null } | null
}

/** The client of a request, as the records of the request name it. */
export interface ClientNote {
  readonly userAgent: string
  readonly clientRequestId: string | null
  readonly tags: Tags | null
}

/** One AI request in its phases. The class sets every field in one order, so that all requests have one shape. */
export class RequestContext {
  readonly id: string
  /** Unix milliseconds. */
  readonly atMs: number
  readonly startUs: number
  readonly endpoint: Endpoint
  /** Another one stands in for it where the request is captured. */
  exchange: Exchange
  /** Null when traces are off. */
  readonly trace: TraceContext | null
  principal: Principal | null = null
  /** A known key that may not be used: the log of its owner shows the refusal. */
  refusedKey: EntryKey | null = null
  body: RequestBody | null = null
  /** Made with the first record: the headers may be gone at the last. */
  client: ClientNote | null = null
  /** The requested model, also when the body was refused. */
  model: string | null = null
  reservation: Reservation | null = null
  /** The journal has its `begin` record. */
  hasBegun = false
  /** The control process runs it, as rounds that are requests of their own: it has no record itself. */
  isDelegated = false
  rateLimits: (() => RateLimitState) | null = null
  readonly attempts: AttemptRecord[] = []
  readonly outcome = new Outcome()
  served: Served = NOBODY
  /** The job that the request has begun at the provider. */
  job: VendorJobName | null = null
  tokens: RequestTokens = { usage: emptyUsage(), settlement: 'none', unreported: null }
  ttftUs: number | null = null
  /** Time spent waiting for upstreams or for the client's body, without the wait that is under way. */
  waitedUs = 0
  /** Since when an upstream has the request, on the monotonic clock; null while none has. */
  waitingSinceUs: number | null = null
  readonly times: PhaseTimes = { authUs: 0, limitUs: 0, validateUs: 0, queueUs: 0, translateUs: 0, upstreamUs: 0 }
  /** Sends the last bytes of the answer; called by accounting once the record is safe. */
  finish: (() => void) | null = null
  /** The cost and the sizes of a call of a tool; null: the request is none. */
  toolCall: ToolCallUse | null = null
  /** Names of what the other side's dialect could not carry of the request or its answer. */
  dropped: readonly string[] = []
  /** Headers that phases add to the answer. */
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

  /** Microseconds that the gateway itself took so far, without waits for upstream, client and queue. */
  overheadUs(nowUs: number): number {
    const waitingUs = this.waitingSinceUs === null ? 0 : nowUs - this.waitingSinceUs
    return Math.max(0, nowUs - this.startUs - this.waitedUs - waitingUs - this.times.queueUs)
  }
}
