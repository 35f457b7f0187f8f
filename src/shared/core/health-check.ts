/** Active checks of the keys of an upstream. */
export interface HealthCheckSettings {
  readonly intervalMs: number
  readonly timeoutMs: number
  /** Path at the host, with its query; null: the list of models, where the dialect has one. */
  readonly path: string | null
}

/**
 * The result of one check. `refused`: the provider does not accept the credential. Other answers below 500 are `ok`: the provider can be
 * reached, and works.
 */
export type HealthCheckResult =
  { readonly kind: 'ok' } | { readonly kind: 'refused' | 'failed' | 'unreachable'; readonly detail: string }
