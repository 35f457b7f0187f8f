/** What one front process has learned about an upstream key and the others should know. */
export interface KeyHealthEvent {
  readonly keyId: string
  readonly kind: 'cooling' | 'breaker-open' | 'breaker-closed' | 'disabled' | 'shrink'
  /** Unix milliseconds until which it holds. */
  readonly untilMs: number
  readonly reason: string
}
