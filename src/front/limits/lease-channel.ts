import type { DegradedMode, LeaseAsk } from '../../shared/core/allowance.ts'
import type { Clock } from '../../shared/runtime/clock.ts'
import type { LeasedLimit } from './leased-limit.ts'

/** The line from a leased limit to the authority. It also tells what the process knows about the authority. */
export interface LeaseChannel {
  readonly clock: Clock
  /** Processes that share the limits. Each has its share when the authority cannot be asked. */
  readonly processes: number
  readonly connected: boolean
  /** Requests block on the authority until this time (Unix ms); after it, the local share decides. */
  readonly fallbackAtMs: number
  /** The authority is one over several machines. */
  readonly isShared: boolean
  /** The authority answers other processes: they hold, or will soon hold, whatever it does not grant here. */
  readonly authorityAnswers: boolean
  /** The authority is back and collects what processes hold. Shares apply as during the outage until it grants or refuses. */
  readonly isSettling: boolean
  /** When the authority went away, Unix milliseconds; null while it is there. */
  readonly awaySinceMs: number | null
  /** The authority is away for all machines, not for this one alone. */
  readonly isAwayForAll: boolean
  /** The process may take the part that Redis sets aside for outages: the allowance is not crowded. */
  mayTakeUnasked(allowance: string): boolean
  /** What the process does without an authority when its leases are used up. */
  degradedModeOf(allowance: string): DegradedMode
  ask(limit: LeasedLimit, ask: LeaseAsk): void
  cancel(limit: LeasedLimit): void
  giveBack(limit: LeasedLimit, amount: number): void
  /** The limit has charges to report. */
  hasCharges(limit: LeasedLimit): void
  /** Requests wait at the limit: it needs ticks. */
  hasWaiters(limit: LeasedLimit): void
}

/** How an authority that is back knows what it leased before. */
export interface Reunion {
  readonly remembers: boolean
  /** The authority has booked no lease as used meanwhile: leases of rate limits are still good. */
  readonly keepsLeases: boolean
  readonly awayMs: number
}
