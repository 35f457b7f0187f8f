import type { Migration } from '../migration.ts'

/**
 * Adds tags to the log, and sums by member, department and upstream. Rows of the hourly sums begin at full hours and at the midnights
 * of all time zones (`rollup-hours.ts`), so that days of any time zone are sums of whole rows.
 *
 * Sums of before count for the member and the department that their key has now. Their upstreams are not known (''), and their rows
 * are whole hours.
 */
export const seeing: Migration = {
  id: '0016-seeing',
  sql: `
ALTER TABLE request_log ADD COLUMN tags jsonb;
CREATE INDEX request_log_member ON request_log (member_id, at) WHERE member_id IS NOT NULL;

ALTER TABLE request_rollup_hourly
  ADD COLUMN department_id text NOT NULL DEFAULT '',
  ADD COLUMN member_id text NOT NULL DEFAULT '';
ALTER TABLE request_rollup_hourly DROP CONSTRAINT request_rollup_hourly_pkey;
UPDATE request_rollup_hourly AS r
  SET department_id = coalesce(k.department_id, ''), member_id = coalesce(k.member_id, '')
  FROM entry_keys AS k WHERE k.id = r.key_id AND (k.department_id IS NOT NULL OR k.member_id IS NOT NULL);
ALTER TABLE request_rollup_hourly
  ADD PRIMARY KEY (hour, key_id, user_id, enterprise_id, department_id, member_id, model, endpoint, status);
CREATE INDEX request_rollup_hourly_member ON request_rollup_hourly (member_id, hour) WHERE member_id <> '';

CREATE TABLE enterprise_rollup_hourly (
  enterprise_id text NOT NULL,
  hour timestamptz NOT NULL,
  model text NOT NULL,
  endpoint text NOT NULL,
  status integer NOT NULL,
  provider_id text NOT NULL,
  upstream_key_id text NOT NULL,
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
  PRIMARY KEY (enterprise_id, hour, model, endpoint, status, provider_id, upstream_key_id)
);
INSERT INTO enterprise_rollup_hourly
  SELECT owner, hour, model, endpoint, status, '', '', sum(requests), sum(aborted), sum(prompt_tokens),
    sum(completion_tokens), sum(cached_tokens), sum(cache_write_tokens), sum(reasoning_tokens), sum(cost_micro),
    sum(queue_us), sum(ttft_us), sum(ttft_count), sum(total_us), sum(overhead_us)
  FROM request_rollup_hourly CROSS JOIN LATERAL (VALUES ('*'), (enterprise_id)) AS owners (owner)
  GROUP BY 1, 2, 3, 4, 5;
`,
}
