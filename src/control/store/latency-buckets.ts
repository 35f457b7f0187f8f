/** Ratio of neighbouring bounds: the middle of a bucket is at most 9.6 % from each duration in it. */
const GROWTH = 1.2
const LOG_GROWTH = Math.log(GROWTH)

/** The last bucket has the durations above two hours. */
export const BUCKETS = 126

/** Returns the bucket of a duration. Bucket 0 ends at 1.2 µs, and each further bucket ends at 1.2 times the bound before it. */
export function bucketOf(durationUs: number): number {
  if (durationUs <= 1) return 0
  return Math.min(BUCKETS - 1, Math.floor(Math.log(durationUs) / LOG_GROWTH))
}

/** The same in SQL, for an expression of microseconds. */
export function bucketSql(durationUs: string): string {
  return `CASE WHEN ${durationUs} <= 1 THEN 0 ELSE least(${BUCKETS - 1}, floor(ln(${durationUs}::float8) / ${LOG_GROWTH}))::int4 END`
}

/** Counts by bucket, the shortest durations first. */
export type BucketCounts = ReadonlyArray<readonly [bucket: number, count: number]>

/** Returns the duration that stands for the bucket, in microseconds. */
function middleOf(bucket: number): number {
  return GROWTH ** (bucket + 0.5)
}

/**
 * Returns the quantile of the durations in microseconds, with an error of at most 10 %; null when there are no durations.
 *
 * @param counts counts by bucket, the shortest durations first
 * @param share the quantile, from 0 to 1
 */
export function durationAt(counts: BucketCounts, share: number): number | null {
  const total = counts.reduce((sum, [, count]) => sum + count, 0)
  const rank = Math.max(1, Math.ceil(total * share))
  let passed = 0
  for (const [bucket, count] of counts) {
    passed += count
    if (passed >= rank) return middleOf(bucket)
  }
  return null
}
