import type { Migration } from '../migration.ts'

/**
 * Sums for statistics that would read too many rows from the hours by key: keys by day, upstream keys by hour, and the durations of
 * requests, counted in buckets (`latency-buckets.ts`).
 */
export const statistics: Migration = {
  id: '0013-statistics',
  sql: `
CREATE TABLE key_rollup_daily (
  key_id text NOT NULL,
  day timestamptz NOT NULL,
  requests bigint NOT NULL,
  errors bigint NOT NULL,
  prompt_tokens bigint NOT NULL,
  completion_tokens bigint NOT NULL,
  cost_micro bigint NOT NULL,
  last_used_at timestamptz NOT NULL,
  PRIMARY KEY (key_id, day)
);
INSERT INTO key_rollup_daily
  SELECT key_id, date_trunc('day', hour, 'UTC'), sum(requests),
    sum(CASE WHEN status = 0 OR status >= 400 THEN requests ELSE 0 END), sum(prompt_tokens), sum(completion_tokens),
    sum(cost_micro), max(hour)
  FROM request_rollup_hourly WHERE key_id <> '' GROUP BY 1, 2;
CREATE TABLE upstream_rollup_hourly (
  hour timestamptz NOT NULL,
  provider_id text NOT NULL,
  upstream_key_id text NOT NULL,
  requests bigint NOT NULL,
  errors bigint NOT NULL,
  aborted bigint NOT NULL,
  prompt_tokens bigint NOT NULL,
  completion_tokens bigint NOT NULL,
  cached_tokens bigint NOT NULL,
  cost_micro bigint NOT NULL,
  ttft_us bigint NOT NULL,
  ttft_count bigint NOT NULL,
  total_us bigint NOT NULL,
  PRIMARY KEY (hour, provider_id, upstream_key_id)
);
CREATE TABLE timing_rollup_hourly (
  hour timestamptz NOT NULL,
  measure text NOT NULL CHECK (measure IN ('overhead', 'ttft', 'total')),
  bucket smallint NOT NULL CHECK (bucket >= 0),
  requests bigint NOT NULL,
  PRIMARY KEY (hour, measure, bucket)
);
`,
}
