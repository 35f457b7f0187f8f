/** Per-minute and at-a-time limits; null means the configured default, or none where there is no default. */
export interface KeyLimits {
  readonly requestsPerMinute: number | null
  readonly tokensPerMinute: number | null
  readonly concurrency: number | null
}

export const NO_LIMITS: KeyLimits = { requestsPerMinute: null, tokensPerMinute: null, concurrency: null }

/** Limits over all keys of a member, or of a department with those below it. */
export interface HolderLimits {
  readonly owner: 'member' | 'department'
  readonly id: string
  readonly limits: KeyLimits
}
