import type { Queryable } from './database.ts'
import type { Measure } from './relay-rollups.ts'
import type { TimeRange } from './usage-stats.ts'
import { timesOf } from './usage-stats.ts'

/** Counts without disabled, ended and deleted ones. */
export interface PlatformCounts {
  readonly users: number
  readonly enterprises: number
  readonly keys: number
}

export async function countPlatform(queryable: Queryable): Promise<PlatformCounts> {
  const [counts] = await queryable.query<PlatformCounts>(
    `SELECT (SELECT count(*) FROM users WHERE status = 'active')::int8 AS users,
      (SELECT count(*) FROM enterprises WHERE status = 'active')::int8 AS enterprises,
      (SELECT count(*) FROM entry_keys WHERE status = 'enabled' AND (expires_at IS NULL OR expires_at > now()))::int8 AS keys`,
  )
  return counts ?? { users: 0, enterprises: 0, keys: 0 }
}

export async function enterpriseNames(queryable: Queryable, ids: readonly string[]): Promise<Map<string, string>> {
  const rows = await queryable.query<{ id: string; name: string }>(
    'SELECT id, name FROM enterprises WHERE id = ANY($1)',
    [ids],
  )
  return new Map(rows.map(({ id, name }) => [id, name]))
}

export type KeyOrder = 'requests' | 'errors' | 'tokens' | 'cost' | 'last_used'

/** An entry key and its usage in a time range. Money is in micro-units. */
export interface KeyUsage {
  readonly id: string
  readonly name: string
  readonly masked: string
  readonly status: 'enabled' | 'disabled' | 'deleted'
  readonly userId: string | null
  readonly enterpriseId: string | null
  readonly requests: number
  readonly errors: number
  readonly promptTokens: number
  readonly completionTokens: number
  readonly costMicro: number
  /** The last use at any time, not only in the range; null: never used. */
  readonly lastUsedAt: Date | null
}

/** Parameters: $1 is the start of the hours, $2 the start of the days, $3 the end; see `timesOf`. */
const KEY_USAGE = `
  WITH used AS (
    SELECT key_id, sum(requests)::int8 AS requests, sum(errors)::int8 AS errors, sum(prompt_tokens)::int8 AS prompt_tokens,
      sum(completion_tokens)::int8 AS completion_tokens, sum(cost_micro)::int8 AS cost_micro
    FROM (
      SELECT key_id, requests, CASE WHEN status = 0 OR status >= 400 THEN requests ELSE 0 END AS errors, prompt_tokens,
          completion_tokens, cost_micro
        FROM request_rollup_hourly WHERE hour >= $1 AND hour < $2 AND key_id <> ''
      UNION ALL
      SELECT key_id, requests, errors, prompt_tokens, completion_tokens, cost_micro
        FROM key_rollup_daily WHERE day >= $2 AND day < $3 AND key_id <> ''
    ) AS parts GROUP BY key_id
  )
  SELECT k.id, k.name, k.masked, k.status, k.user_id AS "userId", k.enterprise_id AS "enterpriseId",
    coalesce(u.requests, 0) AS requests, coalesce(u.errors, 0) AS errors, coalesce(u.prompt_tokens, 0) AS "promptTokens",
    coalesce(u.completion_tokens, 0) AS "completionTokens", coalesce(u.cost_micro, 0) AS "costMicro",
    l.last_used_at AS "lastUsedAt", count(*) OVER ()::int8 AS total
  FROM entry_keys AS k LEFT JOIN used AS u ON u.key_id = k.id
    LEFT JOIN LATERAL (
      SELECT last_used_at FROM key_rollup_daily AS d WHERE d.key_id = k.id ORDER BY day DESC, last_used_at DESC LIMIT 1
    ) AS l ON true
  WHERE (k.status <> 'deleted' OR u.requests > 0) AND ($4::text IS NULL OR k.user_id = $4)
    AND ($5::text IS NULL OR k.enterprise_id = $5)
  ORDER BY CASE $6::text WHEN 'errors' THEN coalesce(u.errors, 0) WHEN 'cost' THEN coalesce(u.cost_micro, 0)
    WHEN 'tokens' THEN coalesce(u.prompt_tokens + u.completion_tokens, 0)
    WHEN 'last_used' THEN coalesce(extract(epoch FROM l.last_used_at), 0) ELSE coalesce(u.requests, 0) END DESC, k.id
  LIMIT $7 OFFSET $8`

/** Lists entry keys by usage, the highest first: all existing keys, and deleted keys that were used in the range. */
export async function keyUsage(
  queryable: Queryable,
  range: TimeRange,
  of: { readonly userId: string | null; readonly enterpriseId: string | null; readonly granularity: 'hour' | 'day' },
  page: { readonly order: KeyOrder; readonly offset: number; readonly limit: number },
): Promise<{ readonly keys: KeyUsage[]; readonly total: number }> {
  const select = (limit: number, offset: number): Promise<Array<KeyUsage & { readonly total: number }>> =>
    queryable.query(KEY_USAGE, [
      ...timesOf(range, of.granularity === 'day'),
      of.userId,
      of.enterpriseId,
      page.order,
      limit,
      offset,
    ])
  const keys = await select(page.limit, page.offset)
  // A page beyond the last one has no row with the total.
  const [counted] = keys.length === 0 && page.offset > 0 ? await select(1, 0) : keys
  return { keys, total: counted?.total ?? 0 }
}

/** The usage of an upstream key. Durations are in microseconds, money in micro-units. */
export interface UpstreamUsage {
  readonly providerId: string
  readonly upstreamKeyId: string
  readonly requests: number
  readonly errors: number
  readonly aborted: number
  readonly promptTokens: number
  readonly completionTokens: number
  readonly cachedTokens: number
  readonly costMicro: number
  readonly ttftUs: number
  readonly ttftCount: number
  readonly totalUs: number
}

export function upstreamUsage(queryable: Queryable, { fromMs, toMs }: TimeRange): Promise<UpstreamUsage[]> {
  return queryable.query(
    `SELECT provider_id AS "providerId", upstream_key_id AS "upstreamKeyId", sum(requests)::int8 AS requests,
        sum(errors)::int8 AS errors, sum(aborted)::int8 AS aborted, sum(prompt_tokens)::int8 AS "promptTokens",
        sum(completion_tokens)::int8 AS "completionTokens", sum(cached_tokens)::int8 AS "cachedTokens",
        sum(cost_micro)::int8 AS "costMicro", sum(ttft_us)::int8 AS "ttftUs", sum(ttft_count)::int8 AS "ttftCount",
        sum(total_us)::int8 AS "totalUs"
      FROM upstream_rollup_hourly WHERE hour >= $1 AND hour < $2 GROUP BY 1, 2 ORDER BY 1, 2`,
    [new Date(fromMs), new Date(toMs)],
  )
}

/** Counts the requests that reached an upstream by bucket of duration, the shortest first. */
export async function timings(
  queryable: Queryable,
  { fromMs, toMs }: TimeRange,
): Promise<Record<Measure, Array<readonly [bucket: number, requests: number]>>> {
  const rows = await queryable.query<{ measure: Measure; bucket: number; requests: number }>(
    `SELECT measure, bucket, sum(requests)::int8 AS requests FROM timing_rollup_hourly
      WHERE hour >= $1 AND hour < $2 GROUP BY 1, 2 ORDER BY 1, 2`,
    [new Date(fromMs), new Date(toMs)],
  )
  const of = (measure: Measure): Array<readonly [number, number]> =>
    rows.filter((row) => row.measure === measure).map(({ bucket, requests }) => [bucket, requests])
  return { overhead: of('overhead'), ttft: of('ttft'), total: of('total') }
}
