/** Of neighbouring bounds: the middle of a bucket is at most 9.6 % from everything in it. */
const GROWTH = 1.2
const LOG_GROWTH = Math.log(GROWTH)

/** More than two hours are the last. */
export const BUCKETS = 126

/** The bucket of a duration: bucket 0 is up to 1.2 µs, each other one up to 1.2 times as long as the one before. */
export function bucketOf(durationUs: number): number {
  if (durationUs <= 1) return 0
  return Math.min(BUCKETS - 1, Math.floor(Math.log(durationUs) / LOG_GROWTH))
}

/** What a duration of the bucket is taken for, in microseconds. */
function middleOf(bucket: number): number {
  return GROWTH ** (bucket + 0.5)
}

/**
 * The duration in microseconds that a share of all is not longer than, at most 10 % off; null when there is none.
 *
 * @param counts by bucket, from the shortest
 * @param share from 0 to 1
 */
export function durationAt(
  counts: ReadonlyArray<readonly [bucket: number, count: number]>,
  share: number,
): number | null {
  const total = counts.reduce((sum, [, count]) => sum + count, 0)
  const rank = Math.max(1, Math.ceil(total * share))
  let passed = 0
  for (const [bucket, count] of counts) {
    passed += count
    if (passed >= rank) return middleOf(bucket)
  }
  return null
}
