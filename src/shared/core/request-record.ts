import type { Choice } from './deployment.ts'
import type { ErrorCode, ErrorType } from './errors.ts'
import type { DialectName } from './endpoint.ts'
import type { Settlement, Usage } from './usage.ts'

/** What the journal holds, one per line of the request log at most two: a begin, then an end that is whole in itself. */
export type JournalRecord = BeginRecord | EndRecord

/** Written before the upstream hears of the request. Without an end it becomes a row marked `interrupted`. */
export interface BeginRecord extends RequestIdentity {
  readonly kind: 'begin'
}

/** Everything of a row. In the operating system's hands before the last byte of the answer is. */
export interface EndRecord extends RequestIdentity {
  readonly kind: 'end'
  /** HTTP status sent, or 499 when the client left before one was. */
  readonly status: number
  readonly errorType: ErrorType | null
  readonly errorCode: ErrorCode | null
  readonly providerId: string | null
  readonly upstreamKeyId: string | null
  /** The upstream's name of the model that served. */
  readonly servedModel: string | null
  readonly attempts: readonly AttemptRecord[]
  readonly usage: Usage
  readonly settlement: Settlement
  /** The client was gone before the answer's end. */
  readonly aborted: boolean
  readonly queueUs: number
  /** To the first byte of the upstream's body, from the start of the request; null when there was none. */
  readonly ttftUs: number | null
  readonly totalUs: number
  /** Total less waiting in the queue, for upstream and client. */
  readonly overheadUs: number
}

export interface RequestIdentity {
  readonly id: string
  /** Unix milliseconds at which the request arrived. */
  readonly atMs: number
  readonly endpoint: string
  readonly dialect: DialectName
  readonly keyId: string | null
  readonly keyMasked: string | null
  readonly userId: string | null
  readonly enterpriseId: string | null
  readonly departmentId: string | null
  readonly memberId: string | null
  /** As asked, cut to 256 characters. */
  readonly model: string | null
  readonly stream: boolean
  /** Cut to 512 characters. */
  readonly userAgent: string
  readonly clientAddress: string
  /** The client's own request id, cut to 128 characters. */
  readonly clientRequestId: string | null
  /** Of the W3C trace the request belongs to; null when traces are off. */
  readonly traceId: string | null
}

export interface AttemptRecord {
  readonly providerId: string
  readonly upstreamKeyId: string
  /** HTTP status, 0 when none came. */
  readonly status: number
  /** `ok` or the error code of the failure. */
  readonly outcome: 'ok' | ErrorCode
  /** From the start of the request. */
  readonly startUs: number
  readonly durationUs: number
  /** The upstream's name of the model; null in records from before it was kept. */
  readonly model: string | null
  /** Why this key; null in records from before it was kept. */
  readonly choice: Choice | null
  /** Names of what translation had to leave out of the request, or of the answer. */
  readonly dropped: readonly string[]
}
