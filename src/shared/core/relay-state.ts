import type { KeyState } from './scheduler-stats.ts'

/** An upstream key as the processes of this machine see it together. */
export interface UpstreamKeyState {
  readonly providerId: string
  readonly keyId: string
  /** The worst that a process sees. */
  readonly state: KeyState
  /** Calls under way, and how many may be. */
  readonly slotsUsed: number
  readonly slotsHeld: number
  /** Seconds until all use it again. */
  readonly coolingSeconds: number
  /** Calls by how they ended, since the control process has begun. */
  readonly calls: Readonly<Record<string, number>>
}

/** What the relay does now. */
export interface RelayState {
  /** Of the last minute, on this machine. */
  readonly requestsPerMinute: number
  readonly tokensPerMinute: number
  /** Requests that wait for an upstream slot. */
  readonly waiting: number
  readonly fronts: number
  readonly keys: readonly UpstreamKeyState[]
}
