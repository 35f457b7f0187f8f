import type { TimeRange } from '../store/usage-stats.ts'

const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS
/** Longer periods are shown by day. */
const MOST_HOURS = 48

/** The range of a period like `24h` or `7d`. It starts at a full hour, so it may start before the period. */
export function rangeOf(period: string, toMs: number = Date.now()): TimeRange {
  const fromMs = toMs - lengthMs(period)
  return { fromMs: fromMs - (fromMs % HOUR_MS), toMs }
}

/** The granularity for a period. */
export function granularityOf(period: string): 'hour' | 'day' {
  return lengthMs(period) > MOST_HOURS * HOUR_MS ? 'day' : 'hour'
}

function lengthMs(period: string): number {
  return Number.parseInt(period) * (period.endsWith('h') ? HOUR_MS : DAY_MS)
}
