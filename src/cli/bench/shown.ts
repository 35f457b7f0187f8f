import { isMeasured } from './latencies.ts'
import type { LatencySummary } from './latencies.ts'

/** Milliseconds with a unit and about three digits. */
export function shownMs(ms: number): string {
  if (ms >= 10_000) return `${(ms / 1000).toFixed(1)} s`
  return `${digits(ms)} ms`
}

/** About three digits, with thousands. */
export function shownNumber(value: number): string {
  return Math.abs(value) >= 100 || Number.isInteger(value) ? Math.round(value).toLocaleString('en') : digits(value)
}

export function shownPercent(share: number): string {
  return `${(share * 100).toFixed(1)} %`
}

function digits(value: number): string {
  const size = Math.abs(value)
  return value.toFixed(size >= 100 ? 0 : size >= 10 ? 1 : 2)
}

/** The 99th percentile; of too few values for one, the longest of them, with their number. Empty without values. */
export function shownTail(summary: LatencySummary | null): string {
  if (summary === null) return ''
  return isMeasured(summary, 0.99) ? shownMs(summary.p99) : `≤ ${shownMs(summary.max)} (${summary.count})`
}
