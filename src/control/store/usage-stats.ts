import { ALL_ENTERPRISES } from './daily-rollups.ts'
import type { Queryable } from './database.ts'
import { DAY_MS } from './partitions.ts'
import type { LogScope } from './request-log.ts'

export type UsageGroup = 'model' | 'key' | 'status' | 'endpoint'
export type Granularity = 'hour' | 'day'

/** `fromMs` is a full hour (UTC); `toMs` is exclusive and may be any time. */
export interface TimeRange {
  readonly fromMs: number
  readonly toMs: number
}

/** Durations are in microseconds, money in micro-units. */
export interface UsageSums {
  readonly requests: number
  readonly errors: number
  readonly aborted: number
  readonly promptTokens: number
  readonly completionTokens: number
  readonly cachedTokens: number
  readonly reasoningTokens: number
  readonly costMicro: number
  readonly ttftUs: number
  readonly ttftCount: number
  readonly totalUs: number
}

/** The sums of an hour or a day, and of a group. */
export interface UsageRow extends UsageSums {
  readonly atMs: number
  readonly group: string | null
}

const SUMS = `sum(requests)::int8 AS requests, sum(CASE WHEN status = 0 OR status >= 400 THEN requests ELSE 0 END)::int8 AS errors,
  sum(aborted)::int8 AS aborted, sum(prompt_tokens)::int8 AS "promptTokens", sum(completion_tokens)::int8 AS "completionTokens",
  sum(cached_tokens)::int8 AS "cachedTokens", sum(reasoning_tokens)::int8 AS "reasoningTokens", sum(cost_micro)::int8 AS "costMicro",
  sum(ttft_us)::int8 AS "ttftUs", sum(ttft_count)::int8 AS "ttftCount", sum(total_us)::int8 AS "totalUs"`

const SUMMED = `status, requests, aborted, prompt_tokens, completion_tokens, cached_tokens, reasoning_tokens, cost_micro, ttft_us,
  ttft_count, total_us`

/** Reads hours from $1 until the day $2, and days from there until $3. `$4` is the kind of scope, and `$5` its id. */
const HOURS_AND_DAYS = `(
    SELECT hour AS at, enterprise_id, key_id, model, endpoint, ${SUMMED} FROM request_rollup_hourly
      WHERE hour >= $1 AND hour < $2 AND ($4::text IN ('everyone', 'each-enterprise') OR ($4 = 'user' AND user_id = $5)
        OR ($4 = 'enterprise' AND enterprise_id = $5))
    UNION ALL
    SELECT day, enterprise_id, '', model, endpoint, ${SUMMED} FROM request_rollup_daily
      WHERE day >= $2 AND day < $3 AND (($4 = 'everyone' AND enterprise_id = '${ALL_ENTERPRISES}')
        OR ($4 = 'each-enterprise' AND enterprise_id <> '${ALL_ENTERPRISES}') OR ($4 = 'enterprise' AND enterprise_id = $5))
  ) AS used`

/** Lists the oldest first, without times that have no request. Days of everyone and of enterprises come from the daily sums. */
export async function usageSeries(
  queryable: Queryable,
  scope: LogScope,
  range: TimeRange,
  by: { readonly granularity: Granularity; readonly group: UsageGroup | null },
): Promise<UsageRow[]> {
  const hasDays = by.granularity === 'day' && by.group !== 'key' && scope.kind !== 'user'
  const owner = scope.kind === 'everyone' ? null : scope.kind === 'user' ? scope.userId : scope.enterpriseId
  return queryable.query<UsageRow>(
    `SELECT (extract(epoch FROM date_trunc($6::text, at, 'UTC')) * 1000)::int8 AS "atMs",
        CASE $7::text WHEN 'model' THEN model WHEN 'key' THEN key_id WHEN 'status' THEN status::text
          WHEN 'endpoint' THEN endpoint END AS "group", ${SUMS}
      FROM ${HOURS_AND_DAYS} GROUP BY 1, 2 ORDER BY 1, 2`,
    [...timesOf(range, hasDays), scope.kind, owner, by.granularity, by.group],
  )
}

/** Lists the groups with the most requests of everyone, the highest first. Requests without an enterprise are in the group ''. */
export async function usageByGroup(
  queryable: Queryable,
  range: TimeRange,
  by: { readonly granularity: Granularity; readonly group: 'model' | 'status' | 'enterprise'; readonly most: number },
): Promise<Array<UsageSums & { readonly group: string }>> {
  const kind = by.group === 'enterprise' ? 'each-enterprise' : 'everyone'
  return queryable.query(
    `SELECT CASE $6::text WHEN 'model' THEN model WHEN 'status' THEN status::text ELSE enterprise_id END AS "group", ${SUMS}
      FROM ${HOURS_AND_DAYS} GROUP BY 1 ORDER BY sum(requests) DESC, 1 LIMIT $7`,
    [...timesOf(range, by.granularity === 'day'), kind, null, by.group, by.most],
  )
}

/** Returns the start of the hours of a range, the start of its days, and its end. */
export function timesOf({ fromMs, toMs }: TimeRange, hasDays: boolean): [Date, Date, Date] {
  const daysFromMs = hasDays ? Math.min(toMs, Math.ceil(fromMs / DAY_MS) * DAY_MS) : toMs
  return [new Date(fromMs), new Date(daysFromMs), new Date(toMs)]
}
