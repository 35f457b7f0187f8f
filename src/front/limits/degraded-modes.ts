import type { DegradedMode } from '../../shared/core/allowance.ts'

export interface DegradedModes {
  readonly default: DegradedMode
  readonly requestsPerMinute: DegradedMode | null
  readonly tokensPerMinute: DegradedMode | null
  readonly concurrency: DegradedMode | null
  readonly upstreamSlots: DegradedMode | null
}

/** What to do about an allowance without its authority, by the kind of limit that its name tells. */
export function degradedModes(modes: DegradedModes): (allowance: string) => DegradedMode {
  const byEnd: ReadonlyArray<readonly [end: string, mode: DegradedMode | null]> = [
    [':requestsPerMinute', modes.requestsPerMinute],
    [':tokensPerMinute', modes.tokensPerMinute],
    [':concurrency', modes.concurrency],
  ]
  return (allowance) => {
    if (allowance.startsWith('slot:')) return modes.upstreamSlots ?? modes.default
    return byEnd.find(([end]) => allowance.endsWith(end))?.[1] ?? modes.default
  }
}
