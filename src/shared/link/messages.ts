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
import type { AiRequest } from '../core/ai-request.ts'
import type { CacheShare, StoreHealth } from '../core/health.ts'
import type { KeyHealthEvent } from '../core/key-health-event.ts'
import type { CaptureBatch, CaptureReply } from '../core/capture.ts'
import type { ClaimMessage, ClaimReply, JobOver } from '../core/job-claim.ts'
import type { Snapshot } from '../core/snapshot.ts'
import type { ToolCallReport } from '../core/tool-call.ts'
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
  | CaptureBatch
  | TunnelRequest
  | { readonly type: 'body'; readonly id: number; readonly bytes: Uint8Array; readonly last: boolean }
  | { readonly type: 'cancel'; readonly id: number }
  | { readonly type: 'credit'; readonly id: number; readonly bytes: number }
  | AiReply

export type ControlToFront =
  | { readonly type: 'snapshot'; readonly snapshot: Snapshot }
  | ({ readonly type: 'health'; readonly cacheShare: CacheShare } & StoreHealth)
  | LeaseEpoch
  | LeaseAway
  | LeaseHandOver
  | LeaseTerms
  | LeaseReply
  | ClaimReply
  | CaptureReply
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
  | AiRequestMessage

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

/** A request of the control process, and the rest of the conversation about it. */
export type AiRequestMessage =
  | ({ readonly type: 'ai-request'; readonly id: number } & AiRequest)
  | { readonly type: 'ai-credit'; readonly id: number; readonly bytes: number }
  | { readonly type: 'ai-report'; readonly id: number; readonly report: ToolCallReport }
  | { readonly type: 'ai-cancel'; readonly id: number }

export type AiReply =
  | {
      readonly type: 'ai-response'
      readonly id: number
      readonly status: number
      readonly headers: ReadonlyArray<readonly [string, string]>
    }
  | { readonly type: 'ai-body'; readonly id: number; readonly bytes: Uint8Array; readonly last: boolean }
  /** The answer was broken off. */
  | { readonly type: 'ai-broken'; readonly id: number }

/** Body bytes that one side may send per request before the other side grants more. */
export const CREDIT_BYTES = 262_144
