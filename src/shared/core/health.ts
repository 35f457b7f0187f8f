/** The state of one store or pool, as `/health/ready` tells it. */
export interface Check {
  readonly status: 'ok' | 'down' | 'unused'
  readonly latencyMs: number
  readonly message?: string
}

/** How far the database is behind the journal. */
export interface JournalHealth {
  /** Too far: someone should look. */
  readonly isBehind: boolean
  /** Since the journal was last in the database whole; 0 while it is. */
  readonly lagMs: number
  readonly unsettledBytes: number
  /** Null when the system does not say. */
  readonly diskFreeBytes: number | null
}

/** The stores as the control process sees them. */
export interface StoreHealth {
  readonly database: Check
  readonly cache: Check
  readonly journal: JournalHealth
  readonly atMs: number
}

/** Prompt tokens, and those of them that upstreams served from their caches. */
export interface CacheShare {
  readonly promptTokens: number
  readonly cachedTokens: number
}
