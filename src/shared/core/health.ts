/** The state of one store or pool, for `/health/ready`. */
export interface Check {
  readonly status: 'ok' | 'down' | 'unused'
  readonly latencyMs: number
  readonly message?: string
}

/** How far the database is behind the journal. */
export interface JournalHealth {
  /** Further than `journal.alert_lag_ms`. */
  readonly isBehind: boolean
  /** Time since the database last held the whole journal; 0 while it does. */
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
