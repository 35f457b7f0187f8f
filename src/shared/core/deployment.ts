import type { TargetQuirks } from './codec.ts'
import type { Service } from './service.ts'
import type { Provider, UpstreamKey } from './snapshot.ts'

/** One schedulable provider + model + upstream key. */
export interface Deployment {
  readonly provider: Provider
  readonly key: UpstreamKey
  readonly upstreamModel: string
  readonly weight: number
  /** Deviations of this model from the dialect's own service; absent: none. */
  readonly target?: TargetQuirks
  /** The service that the request asks for; absent: a conversation. */
  readonly service?: Service
}

/** The end of an attempt, from which the scheduler learns. */
export type AttemptOutcome =
  | { readonly kind: 'ok' }
  /** The client left, or the gateway failed: the upstream is not to blame. */
  | { readonly kind: 'abandoned' }
  /** The upstream refused the request itself: the key works. */
  | { readonly kind: 'refused' }
  | { readonly kind: 'rate-limited'; readonly retryAfterSeconds: number | null }
  /** `detail`: the provider's message about the key, for operators. */
  | { readonly kind: 'unauthorised'; readonly detail?: string }
  | { readonly kind: 'failed' }
  /** No connection, or one that broke before the first byte: the other keys of the provider would fail too. */
  | { readonly kind: 'unreachable' }

/** The rest of a key's limits, as the provider reports it. */
export interface Headroom {
  /** The rest of the scarcest limit, 0 to 1. 0: the key takes no request before the reset. */
  readonly left: number
  /** Unix milliseconds at which the scarcest limit is full again. */
  readonly resetAtMs: number
}

/** The head of an upstream's answer, as the scheduler sees it. */
export interface AnswerHead {
  readonly ok: boolean
  /** Time from the call to the head. */
  readonly waitMs: number
  /** Null: the provider does not report it. */
  readonly headroom: Headroom | null
}

/** The reason why a deployment was not chosen. */
export type Standing = 'full' | 'cooling' | 'breaker' | 'disabled' | 'tried' | 'priority'

/** The reason why a deployment was chosen, and others were not. */
export interface Choice {
  /** `affinity`: its key has the conversation's prompt cached. `probe`: the call tests whether the key works again. */
  readonly how: 'affinity' | 'load' | 'only' | 'probe'
  /** Lower is better; null where nothing was compared. */
  readonly score: number | null
  /** Time in the queue. */
  readonly waitUs: number
  /** Up to eight other deployments: key id, and the score or the reason why not. */
  readonly others: ReadonlyArray<readonly [keyId: string, why: number | Standing]>
}

/** One of the concurrent calls of an upstream key. Released exactly once, when the call is over. */
export interface Slot {
  readonly deployment: Deployment
  readonly choice: Choice
  /** To be called when the head of the answer has arrived. */
  answered(head: AnswerHead): void
  release(outcome: AttemptOutcome): void
}
