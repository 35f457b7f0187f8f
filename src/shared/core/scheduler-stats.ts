/** `ok`: usable; the others say why a key gets no requests. */
export type KeyState = 'ok' | 'cooling' | 'breaker-open' | 'half-open' | 'disabled'

/** An upstream key as one process sees it. */
export interface KeyStats {
  readonly providerId: string
  readonly keyId: string
  /** Calls under way. */
  readonly used: number
  /** Calls that may be under way at the same time, as far as this process knows. */
  readonly held: number
  readonly state: KeyState
  /** Seconds until the key is used again; 0 when it is. */
  readonly coolingSeconds: number
}

/** The state of a scheduler, for the metrics. */
export interface SchedulerStats {
  readonly keys: readonly KeyStats[]
  /** Requests that wait for a slot. */
  readonly waiting: number
}
