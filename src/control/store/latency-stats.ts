import type { Queryable } from './database.ts'
import { bucketSql } from './latency-buckets.ts'
import type { BucketCounts } from './latency-buckets.ts'
import { Conditions } from './log-filter.ts'
import { addLogRows, placeSql, timeOfPlace } from './usage-stats.ts'
import type { UsageQuery } from './usage-stats.ts'

type LatencyQuery = Omit<UsageQuery, 'group' | 'most'>

/** The durations of one stretch of time, of requests that reached an upstream. */
export interface LatencyRow {
  readonly atMs: number
  readonly ttft: BucketCounts
  readonly total: BucketCounts
}

/** Whether only the rows of the log know: the sums of durations are those of all requests. */
export function latencyReadsLog({ scope, filter }: Pick<LatencyQuery, 'scope' | 'filter'>): boolean {
  return scope.kind !== 'everyone' || Object.keys(filter).length > 0
}

/** Lists the oldest first, without times that have no request. */
export async function latencySeries(queryable: Queryable, query: LatencyQuery): Promise<LatencyRow[]> {
  const { range } = query
  const where = new Conditions()
  const value = (given: unknown, type: string): string => `$${where.values.push(given)}::${type}`
  const isFromLog = latencyReadsLog(query)
  const column = isFromLog ? 'at' : 'hour'
  where.add((a, b) => `${column} >= ${a} AND ${column} < ${b}`, new Date(range.fromMs), new Date(range.toMs))
  if (isFromLog) {
    where.add(() => 'provider_id IS NOT NULL AND upstream_key_id IS NOT NULL')
    addLogRows(where, query)
  }
  const rows = await queryable.query<{ place: number; measure: 'ttft' | 'total'; bucket: number; requests: number }>(
    isFromLog
      ? `SELECT ${placeSql(query, 'at', value)} AS place, measure, ${bucketSql('taken_us')} AS bucket, count(*)::int8 AS requests
          FROM request_log CROSS JOIN LATERAL (VALUES ('ttft', ttft_us), ('total', total_us)) AS m (measure, taken_us)
          ${where.sql()} AND taken_us IS NOT NULL GROUP BY 1, 2, 3 ORDER BY 1, 2, 3`
      : `SELECT ${placeSql(query, 'hour', value)} AS place, measure, bucket, sum(requests)::int8 AS requests
          FROM timing_rollup_hourly ${where.sql()} AND measure <> 'overhead' GROUP BY 1, 2, 3 ORDER BY 1, 2, 3`,
    where.values,
  )
  const places = new Map<number, Record<'ttft' | 'total', Array<readonly [number, number]>>>()
  for (const { place, measure, bucket, requests } of rows) {
    const counts = places.get(place) ?? { ttft: [], total: [] }
    places.set(place, counts)
    counts[measure].push([bucket, requests])
  }
  return [...places].map(([place, counts]) => ({ atMs: timeOfPlace(query, place), ...counts }))
}

/** The sum of counts, the shortest durations first. */
export function addedCounts(counts: readonly BucketCounts[]): BucketCounts {
  const sums = new Map<number, number>()
  for (const [bucket, count] of counts.flat()) sums.set(bucket, (sums.get(bucket) ?? 0) + count)
  return [...sums].sort(([a], [b]) => a - b)
}
