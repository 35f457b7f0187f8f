import type { Granularity, TimeRange } from '../store/usage-stats.ts'

const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS
/** Longer ones are shown by day. */
const MOST_HOURS = 48

/** A period like `24h` or `7d` that ends now, of whole hours: the first one may reach back a little further than was asked. */
export function rangeOf(period: string): TimeRange {
  const toMs = Date.now()
  const fromMs = toMs - lengthMs(period)
  return { fromMs: fromMs - (fromMs % HOUR_MS), toMs }
}

/** What suits a period. */
export function granularityOf(period: string): Granularity {
  return lengthMs(period) > MOST_HOURS * HOUR_MS ? 'day' : 'hour'
}

function lengthMs(period: string): number {
  return Number.parseInt(period) * (period.endsWith('h') ? HOUR_MS : DAY_MS)
}
