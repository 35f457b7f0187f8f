import type {
  LeaseAway,
  LeaseEpoch,
  LeaseFarewell,
  LeaseHandOver,
  LeaseReply,
  LeaseRequest,
  LeaseResume,
  LeaseTerms,
} from '../core/allowance.ts'
import type { CacheShare, StoreHealth } from '../core/health.ts'
import type { KeyHealthEvent } from '../core/key-health-event.ts'
import type { ClaimMessage, ClaimReply, JobOver } from '../core/job-claim.ts'
import type { Snapshot } from '../core/snapshot.ts'
import type { MetricReport } from '../telemetry/metrics.ts'

/** The largest body of a management request. */
export const MAX_MANAGEMENT_BODY_BYTES = 4 * 1024 * 1024

export type FrontToControl =
  | { readonly type: 'hello'; readonly front: string; readonly pid: number }
  | ({ readonly type: 'usage' } & CacheShare)
  | LeaseResume
  | LeaseFarewell
  | LeaseRequest
  | { readonly type: 'key-news'; readonly news: KeyHealthEvent }
  | SnapshotInquiry
  | { readonly type: 'metrics'; readonly report: MetricReport }
  | ClaimMessage
  | JobOver
  | TunnelRequest
  | { readonly type: 'body'; readonly id: number; readonly bytes: Uint8Array; readonly last: boolean }
  | { readonly type: 'cancel'; readonly id: number }
  | { readonly type: 'credit'; readonly id: number; readonly bytes: number }

export type ControlToFront =
  | { readonly type: 'snapshot'; readonly snapshot: Snapshot }
  | ({ readonly type: 'health'; readonly cacheShare: CacheShare } & StoreHealth)
  | LeaseEpoch
  | LeaseAway
  | LeaseHandOver
  | LeaseTerms
  | LeaseReply
  | ClaimReply
  | SnapshotInquiryReply
  | { readonly type: 'key-news'; readonly news: KeyHealthEvent }
  | {
      readonly type: 'response'
      readonly id: number
      readonly status: number
      readonly headers: ReadonlyArray<readonly [string, string]>
    }
  | { readonly type: 'body'; readonly id: number; readonly bytes: Uint8Array; readonly last: boolean }
  | { readonly type: 'cancel'; readonly id: number }
  | { readonly type: 'credit'; readonly id: number; readonly bytes: number }

/** Asks whether the store has changes that this front does not have. The control process sends them before the reply. */
export interface SnapshotInquiry {
  readonly type: 'snapshot-inquiry'
  readonly id: number
}

export interface SnapshotInquiryReply {
  readonly type: 'snapshot-inquiry-reply'
  readonly id: number
  /** False: the store could not be asked. */
  readonly isCurrent: boolean
}

/** A management request on its way to the control process; its body follows in `body` messages. */
export interface TunnelRequest {
  readonly type: 'request'
  readonly id: number
  readonly requestId: string
  readonly method: string
  readonly path: string
  readonly query: string
  readonly headers: Readonly<Record<string, string | undefined>>
  readonly address: string
}

/** Body bytes that one side may send per request before the other side grants more. */
export const CREDIT_BYTES = 262_144
