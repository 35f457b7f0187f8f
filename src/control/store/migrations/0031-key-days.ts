import type { Migration } from '../migration.ts'

/**
 * The sums of keys by day get all sums, and whose the requests are: a month of statistics by key, user, member, department or
 * enterprise reads days in place of hours. Requests without a key ('') are among them. Rows of one key of one day are several when the
 * key was moved within its enterprise that day.
 */
export const keyDays: Migration = {
  id: '0031-key-days',
  sql: `
ALTER TABLE key_rollup_daily RENAME TO key_rollup_daily_before;
CREATE TABLE key_rollup_daily (
  day timestamptz NOT NULL,
  key_id text NOT NULL,
  user_id text NOT NULL,
  enterprise_id text NOT NULL,
  department_id text NOT NULL,
  member_id text NOT NULL,
  last_used_at timestamptz NOT NULL,
  errors bigint NOT NULL,
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
  overhead_us bigint NOT NULL
);
INSERT INTO key_rollup_daily
  SELECT date_trunc('day', h.hour, 'UTC'), h.key_id, h.user_id, h.enterprise_id, h.department_id, h.member_id,
    coalesce(max(d.last_used_at), max(h.hour)), sum(CASE WHEN h.status = 0 OR h.status >= 400 THEN h.requests ELSE 0 END),
    sum(h.requests), sum(h.aborted), sum(h.prompt_tokens), sum(h.completion_tokens), sum(h.cached_tokens),
    sum(h.cache_write_tokens), sum(h.reasoning_tokens), sum(h.cost_micro), sum(h.queue_us), sum(h.ttft_us),
    sum(h.ttft_count), sum(h.total_us), sum(h.overhead_us)
  FROM request_rollup_hourly AS h
    LEFT JOIN key_rollup_daily_before AS d ON d.key_id = h.key_id AND d.day = date_trunc('day', h.hour, 'UTC')
  GROUP BY 1, 2, 3, 4, 5, 6;
DROP TABLE key_rollup_daily_before;
ALTER TABLE key_rollup_daily ADD PRIMARY KEY (key_id, day, user_id, enterprise_id, department_id, member_id);
CREATE INDEX key_rollup_daily_day ON key_rollup_daily (day);
CREATE INDEX key_rollup_daily_user ON key_rollup_daily (user_id, day) WHERE user_id <> '';
CREATE INDEX key_rollup_daily_member ON key_rollup_daily (member_id, day) WHERE member_id <> '';
CREATE INDEX key_rollup_daily_enterprise ON key_rollup_daily (enterprise_id, day) WHERE enterprise_id <> '';
`,
}
