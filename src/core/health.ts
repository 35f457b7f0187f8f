/** The state of one store or pool, as `/health/ready` tells it. */
export interface Check {
  readonly status: 'ok' | 'down' | 'unused'
  readonly latencyMs: number
  readonly message?: string
}

/** The stores as the control process sees them. */
export interface StoreHealth {
  readonly database: Check
  readonly cache: Check
  readonly atMs: number
}

/** Prompt tokens, and those of them that upstreams served from their caches. */
export interface CacheShare {
  readonly promptTokens: number
  readonly cachedTokens: number
}
