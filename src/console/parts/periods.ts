const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS

/** Periods that end now: how long each is, and how a chart cuts it. */
export const PERIODS = {
  '24h': { ms: DAY_MS, bucket: 'hour' },
  '7d': { ms: 7 * DAY_MS, bucket: 'hour' },
  '30d': { ms: 30 * DAY_MS, bucket: 'day' },
  '90d': { ms: 90 * DAY_MS, bucket: 'day' },
} as const

export type Period = keyof typeof PERIODS
export type Bucket = 'hour' | 'day' | 'week' | 'month'

export const BUCKET_MS: Readonly<Record<Bucket, number>> = {
  hour: HOUR_MS,
  day: DAY_MS,
  week: 7 * DAY_MS,
  month: 30 * DAY_MS,
}

export function periodOf(text: string | null): Period {
  return text !== null && Object.hasOwn(PERIODS, text) ? (text as Period) : '24h'
}

/** The range of the request log that shows what a period has. */
export function logRangeOf(period: Period, now: Date): Readonly<Record<string, string>> {
  if (period !== '90d') return { range: period }
  return { from: new Date(now.getTime() - PERIODS[period].ms).toISOString() }
}
