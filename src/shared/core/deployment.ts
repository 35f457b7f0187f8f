import type { TargetQuirks } from './codec.ts'
import type { Service } from './service.ts'
import type { Provider, UpstreamKey } from './snapshot.ts'

/** One schedulable provider + model + upstream key. */
export interface Deployment {
  readonly provider: Provider
  readonly key: UpstreamKey
  readonly upstreamModel: string
  readonly weight: number
  /** What this model takes there otherwise than the dialect's own service; absent: nothing. */
  readonly target?: TargetQuirks
  /** How the provider serves what is asked for; absent: it is a conversation. */
  readonly service?: Service
}

/** How an attempt ended, as the scheduler learns from it. */
export type AttemptOutcome =
  | { readonly kind: 'ok' }
  /** The client left, or we failed ourselves: says nothing about the upstream. */
  | { readonly kind: 'abandoned' }
  /** The request's fault: the key works. */
  | { readonly kind: 'refused' }
  | { readonly kind: 'rate-limited'; readonly retryAfterSeconds: number | null }
  /** `detail`: what the provider said of the key, for operators. */
  | { readonly kind: 'unauthorised'; readonly detail?: string }
  | { readonly kind: 'failed' }
  /** No connection, or one that broke before a word was said: other keys of the provider will fare no better. */
  | { readonly kind: 'unreachable' }

/** What a provider said to have left for a key. */
export interface Headroom {
  /** 0 to 1, the least of its limits. 0: nothing goes before the reset. */
  readonly left: number
  /** Unix milliseconds at which the scarcest of its limits is whole again. */
  readonly resetAtMs: number
}

/** What the head of an upstream's answer tells. */
export interface AnswerHead {
  readonly ok: boolean
  /** From the call to the head. */
  readonly waitMs: number
  /** Null: the provider did not say. */
  readonly headroom: Headroom | null
}

/** Why a deployment was not chosen. */
export type Standing = 'full' | 'cooling' | 'breaker' | 'disabled' | 'tried' | 'priority'

/** How a deployment came to be chosen, and what became of the others. */
export interface Choice {
  /** `affinity`: it has this conversation's prompt cache; `probe`: to find out whether it works again. */
  readonly how: 'affinity' | 'load' | 'only' | 'probe'
  /** Lower is better; null where nothing was compared. */
  readonly score: number | null
  /** In the queue. */
  readonly waitUs: number
  /** Up to eight others: key id, and score or why not. */
  readonly others: ReadonlyArray<readonly [keyId: string, why: number | Standing]>
}

/** A place at an upstream key. Released exactly once, when the upstream call is over. */
export interface Slot {
  readonly deployment: Deployment
  readonly choice: Choice
  /** The head of the answer has come. */
  answered(head: AnswerHead): void
  release(outcome: AttemptOutcome): void
}
