import type { Migration } from '../migration.ts'

/**
 * Adds sums by day, per enterprise and for all requests ('*'): the hours of every key in a month are too much to read for a page.
 * Indexes find the hours of one enterprise or user without those of all others.
 */
export const dailySums: Migration = {
  id: '0009-daily-sums',
  sql: `
CREATE TABLE request_rollup_daily (
  enterprise_id text NOT NULL,
  day timestamptz NOT NULL,
  model text NOT NULL,
  endpoint text NOT NULL,
  status integer NOT NULL,
  requests bigint NOT NULL,
  aborted bigint NOT NULL,
  prompt_tokens bigint NOT NULL,
  completion_tokens bigint NOT NULL,
  cached_tokens bigint NOT NULL,
  cache_write_tokens bigint NOT NULL,
  reasoning_tokens bigint NOT NULL,
  cost_micro bigint NOT NULL,
  queue_us bigint NOT NULL,
  ttft_us bigint NOT NULL,
  ttft_count bigint NOT NULL,
  total_us bigint NOT NULL,
  overhead_us bigint NOT NULL,
  PRIMARY KEY (enterprise_id, day, model, endpoint, status)
);
INSERT INTO request_rollup_daily
  SELECT owner, date_trunc('day', hour, 'UTC'), model, endpoint, status, sum(requests), sum(aborted), sum(prompt_tokens),
    sum(completion_tokens), sum(cached_tokens), sum(cache_write_tokens), sum(reasoning_tokens), sum(cost_micro),
    sum(queue_us), sum(ttft_us), sum(ttft_count), sum(total_us), sum(overhead_us)
  FROM request_rollup_hourly CROSS JOIN LATERAL (VALUES ('*'), (enterprise_id)) AS owners (owner)
  GROUP BY 1, 2, 3, 4, 5;
CREATE INDEX request_rollup_hourly_user ON request_rollup_hourly (user_id, hour) WHERE user_id <> '';
CREATE INDEX request_rollup_hourly_enterprise ON request_rollup_hourly (enterprise_id, hour) WHERE enterprise_id <> '';
`,
}
