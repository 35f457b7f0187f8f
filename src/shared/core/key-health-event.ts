/** A change in the health of an upstream key, which one front process reports to the others. */
export interface KeyHealthEvent {
  readonly keyId: string
  readonly kind: 'cooling' | 'breaker-open' | 'breaker-closed' | 'disabled' | 'shrink'
  /** Unix milliseconds until which the event holds. */
  readonly untilMs: number
  readonly reason: string
  /** A health check has reached the provider: its breaker closes too. */
  readonly checked?: true
}
