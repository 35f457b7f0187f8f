import type { Route } from './catalog.ts'

/** A request for a slot. */
export interface SlotRequest {
  readonly route: Route
  /** Ids of the keys that it has tried. */
  readonly tried: ReadonlySet<string>
  /** The queue serves tenants in turns. */
  readonly tenant: string
  /** A text that is equal for all requests of one conversation; null: no affinity. */
  readonly affinity: string | null
  /** The longest wait in the queue. */
  readonly maxWaitMs: number
}
