import type { KeyState } from './scheduler-stats.ts'

/** The state of an upstream key over all processes of this machine. */
export interface UpstreamKeyState {
  readonly providerId: string
  readonly keyId: string
  /** The worst state that a process reports. */
  readonly state: KeyState
  /** Calls under way, and how many may be. */
  readonly slotsUsed: number
  readonly slotsHeld: number
  /** Seconds until all processes use it again. */
  readonly coolingSeconds: number
  /** Calls by outcome, since the start of the control process. */
  readonly calls: Readonly<Record<string, number>>
}

/** The present state of the relay. */
export interface RelayState {
  /** Rates of the last minute, on this machine. */
  readonly requestsPerMinute: number
  readonly tokensPerMinute: number
  /** Requests that wait for an upstream slot. */
  readonly waiting: number
  readonly fronts: number
  readonly keys: readonly UpstreamKeyState[]
}
