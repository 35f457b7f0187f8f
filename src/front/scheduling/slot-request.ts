import type { Route } from './catalog.ts'

/** What a request needs a slot for. */
export interface SlotRequest {
  readonly route: Route
  /** Keys that it has been at. */
  readonly tried: ReadonlySet<string>
  /** Whose turn it is in the queue; tenants are served in turns. */
  readonly tenant: string
  /** What the requests of one conversation have in common; null: nothing. */
  readonly affinity: string | null
  /** How long it may wait. */
  readonly maxWaitMs: number
}
