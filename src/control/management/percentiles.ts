import type { Static } from 'typebox'
import type { Percentiles } from '../../shared/api/operations/stats.ts'
import { durationAt } from '../store/latency-buckets.ts'
import type { BucketCounts } from '../store/latency-buckets.ts'

/** In milliseconds; null when there are no durations. */
export function percentilesOf(counts: BucketCounts): Static<typeof Percentiles> {
  const at = (share: number): number | null => {
    const durationUs = durationAt(counts, share)
    return durationUs === null ? null : Math.round(durationUs) / 1000
  }
  return { p50: at(0.5), p95: at(0.95), p99: at(0.99) }
}
