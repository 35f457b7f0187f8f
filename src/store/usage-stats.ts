import type { Queryable } from './database.ts'
import type { LogScope } from './request-log.ts'

export type UsageGroup = 'model' | 'key' | 'status' | 'endpoint'

/** Sums of a time and a group. Durations in microseconds, money in micro-units. */
export interface UsageRow {
  readonly atMs: number
  readonly group: string | null
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

const SUMS = `sum(requests)::int8 AS requests, sum(CASE WHEN status = 0 OR status >= 400 THEN requests ELSE 0 END)::int8 AS errors,
  sum(aborted)::int8 AS aborted, sum(prompt_tokens)::int8 AS "promptTokens", sum(completion_tokens)::int8 AS "completionTokens",
  sum(cached_tokens)::int8 AS "cachedTokens", sum(reasoning_tokens)::int8 AS "reasoningTokens", sum(cost_micro)::int8 AS "costMicro",
  sum(ttft_us)::int8 AS "ttftUs", sum(ttft_count)::int8 AS "ttftCount", sum(total_us)::int8 AS "totalUs"`

/** From the hourly sums, oldest first; hours without a request are left out. */
export async function usageSeries(
  queryable: Queryable,
  scope: LogScope,
  range: { readonly fromMs: number; readonly toMs: number },
  by: { readonly granularity: 'hour' | 'day'; readonly group: UsageGroup | null },
): Promise<UsageRow[]> {
  const owner = scope.kind === 'everyone' ? null : scope.kind === 'user' ? scope.userId : scope.enterpriseId
  return queryable.query<UsageRow>(
    `SELECT (extract(epoch FROM date_trunc($5::text, hour, 'UTC')) * 1000)::int8 AS "atMs",
        CASE $6::text WHEN 'model' THEN model WHEN 'key' THEN key_id WHEN 'status' THEN status::text
          WHEN 'endpoint' THEN endpoint END AS "group", ${SUMS}
      FROM request_rollup_hourly
      WHERE hour >= $1 AND hour < $2
        AND ($3::text = 'everyone' OR ($3 = 'user' AND user_id = $4) OR ($3 = 'enterprise' AND enterprise_id = $4))
      GROUP BY 1, 2 ORDER BY 1, 2`,
    [new Date(range.fromMs), new Date(range.toMs), scope.kind, owner, by.granularity, by.group],
  )
}
