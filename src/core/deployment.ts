import type { Provider, UpstreamKey } from './snapshot.ts'

/** One schedulable provider + model + upstream key. */
export interface Deployment {
  readonly provider: Provider
  readonly key: UpstreamKey
  readonly upstreamModel: string
  readonly weight: number
}

/** How an attempt ended, as the scheduler learns from it. */
export type AttemptOutcome =
  | { readonly kind: 'ok' }
  /** The client left: says nothing about the upstream. */
  | { readonly kind: 'abandoned' }
  | { readonly kind: 'refused' }
  | { readonly kind: 'rate-limited'; readonly retryAfterSeconds: number | null }
  | { readonly kind: 'unauthorised' }
  | { readonly kind: 'failed' }

/** A place at an upstream key. Released exactly once, when the upstream call is over. */
export interface Slot {
  readonly deployment: Deployment
  release(outcome: AttemptOutcome): void
}
