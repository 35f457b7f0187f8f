import type { Database } from '../../src/control/store/database.ts'
import { DAY_MS, LogPartitions } from '../../src/control/store/partitions.ts'

const LAST_SECOND = 86_399

interface Filling {
  readonly rows: number
  readonly days: number
  /** Number of entry keys; an enterprise has ten. */
  readonly keys: number
  /** The rows are of the days before; Unix milliseconds. Within a day: they end then. */
  readonly endMs: number
}

/** Fills the request log of a database that has its tables, and all sums of it. */
export async function fillLog(database: Database, { rows, days, keys, endMs }: Filling): Promise<void> {
  const last = Math.ceil(endMs / DAY_MS)
  const first = last - days
  await new LogPartitions(database).ensure(Array.from({ length: days }, (_, index) => first + index))
  const perDay = Math.ceil(rows / days)
  const beganMs = Date.now()
  for (let day = first; day < last; day++) {
    const seconds = Math.min(LAST_SECOND, Math.floor((endMs - day * DAY_MS) / 1_000))
    await database.query(FILL_DAY, [new Date(day * DAY_MS), perDay, keys, seconds])
    await database.query(ADD_SUMS, [new Date(day * DAY_MS)])
    for (const sums of [ADD_DAYS, ADD_ENTERPRISES, ADD_KEYS, ADD_UPSTREAMS, ADD_TIMINGS])
      await database.query(sums, [new Date(day * DAY_MS)])
    console.log(`day ${day - first + 1} of ${days}, ${Math.round((Date.now() - beganMs) / 1000)} s`)
  }
  await database.script(
    'ANALYZE request_log; ANALYZE request_rollup_hourly; ANALYZE key_rollup_daily; ANALYZE enterprise_rollup_hourly',
  )
  const [sums] = await database.query<{ count: number }>('SELECT count(*)::int8 AS count FROM request_rollup_hourly')
  console.log(`${perDay * days} rows, ${sums?.count} hourly sums`)
}

/** One request in a hundred fails. There are five models; the first has far more requests than the last. */
const FILL_DAY = `INSERT INTO request_log (at, id, node, endpoint, dialect, key_id, key_masked, user_id, enterprise_id,
    department_id, member_id, model, served_model, provider_id, upstream_key_id, attempts, status, error_type, error_code,
    stream, aborted, prompt_tokens, completion_tokens, cached_tokens, cache_write_tokens, reasoning_tokens, cost_micro,
    settlement, queue_us, ttft_us, total_us, overhead_us, user_agent, client_address, client_request_id, trace_id, tags)
  SELECT date_trunc('milliseconds', $1::timestamptz + (n * $4::float8 / $2::int) * interval '1 second'),
    'req_' || lpad(to_hex(n), 12, '0') || md5(n::text), 'node-1', 'chat.completions', 'openai-chat',
    'key-' || k, 'sk-AbCd…wXyZ', 'user-' || k / 2, 'enterprise-' || k / 10, 'department-' || k / 5, 'member-' || k,
    'model-' || m, 'model-' || m, 'provider-1', 'upstream-key-' || n % 8,
    '[{"providerId":"provider-1","upstreamKeyId":"upstream-key-1","status":200,"outcome":"ok","startUs":900,"durationUs":812345}]',
    CASE WHEN n % 100 = 0 THEN 503 ELSE 200 END, CASE WHEN n % 100 = 0 THEN 'service_unavailable' END, NULL,
    n % 2 = 0, false, 1200, 350, 0, 0, 0, 4200, 'exact', 40, 612345, 1812345, 350,
    'OpenAI/Python 1.99.1', '203.0.113.7', NULL, NULL,
    CASE WHEN n % 4 = 0 THEN jsonb_build_object('team', 'team-' || n % 20, 'user', 'user-' || n % 5000) END
  FROM (SELECT n, (hashint8(n) & 2147483647) % $3::int AS k,
      floor(5 * power(((hashint8(n + 7) & 2147483647) % 1000) / 1000.0, 3))::int AS m
    FROM generate_series(1, $2::int) AS n) AS made`

const ADD_SUMS = `INSERT INTO request_rollup_hourly (hour, key_id, user_id, enterprise_id, department_id, member_id, model, endpoint, status, requests, aborted,
    prompt_tokens, completion_tokens, cached_tokens, cache_write_tokens, reasoning_tokens, cost_micro, queue_us, ttft_us,
    ttft_count, total_us, overhead_us)
  SELECT date_trunc('hour', at), key_id, user_id, enterprise_id, department_id, member_id, model, endpoint, status, count(*), 0, sum(prompt_tokens),
    sum(completion_tokens), 0, 0, 0, sum(cost_micro), sum(queue_us), sum(ttft_us), count(ttft_us), sum(total_us), sum(overhead_us)
  FROM request_log WHERE at >= $1 AND at < $1 + interval '1 day' GROUP BY 1, 2, 3, 4, 5, 6, 7, 8, 9`

const ADD_DAYS = `INSERT INTO request_rollup_daily
  SELECT owner, date_trunc('day', hour, 'UTC'), model, endpoint, status, sum(requests), sum(aborted), sum(prompt_tokens),
    sum(completion_tokens), sum(cached_tokens), sum(cache_write_tokens), sum(reasoning_tokens), sum(cost_micro),
    sum(queue_us), sum(ttft_us), sum(ttft_count), sum(total_us), sum(overhead_us)
  FROM request_rollup_hourly CROSS JOIN LATERAL (VALUES ('*'), (enterprise_id)) AS owners (owner)
  WHERE hour >= $1 AND hour < $1 + interval '1 day' GROUP BY 1, 2, 3, 4, 5`

const ADD_ENTERPRISES = `INSERT INTO enterprise_rollup_hourly
  SELECT owner, date_trunc('hour', at), model, endpoint, status, provider_id, upstream_key_id, count(*), 0, sum(prompt_tokens),
    sum(completion_tokens), 0, 0, 0, sum(cost_micro), sum(queue_us), sum(ttft_us), count(ttft_us), sum(total_us), sum(overhead_us)
  FROM request_log CROSS JOIN LATERAL (VALUES ('*'), (enterprise_id)) AS owners (owner)
  WHERE at >= $1 AND at < $1 + interval '1 day' GROUP BY 1, 2, 3, 4, 5, 6, 7`

const ADD_KEYS = `INSERT INTO key_rollup_daily
  SELECT date_trunc('day', hour, 'UTC'), key_id, user_id, enterprise_id, department_id, member_id, max(hour),
    sum(CASE WHEN status >= 400 THEN requests ELSE 0 END), sum(requests), sum(aborted), sum(prompt_tokens),
    sum(completion_tokens), sum(cached_tokens), sum(cache_write_tokens), sum(reasoning_tokens), sum(cost_micro),
    sum(queue_us), sum(ttft_us), sum(ttft_count), sum(total_us), sum(overhead_us)
  FROM request_rollup_hourly WHERE hour >= $1 AND hour < $1 + interval '1 day' GROUP BY 1, 2, 3, 4, 5, 6`

const ADD_UPSTREAMS = `INSERT INTO upstream_rollup_hourly (hour, provider_id, upstream_key_id, requests, errors, aborted, prompt_tokens,
    completion_tokens, cached_tokens, cost_micro, ttft_us, ttft_count, total_us)
  SELECT date_trunc('hour', at), provider_id, upstream_key_id, count(*), count(*) FILTER (WHERE status >= 400), 0,
    sum(prompt_tokens), sum(completion_tokens), 0, sum(cost_micro), sum(ttft_us), count(ttft_us), sum(total_us)
  FROM request_log WHERE at >= $1 AND at < $1 + interval '1 day' GROUP BY 1, 2, 3`

/** Fills as many buckets as a day of very different requests does. */
const ADD_TIMINGS = `INSERT INTO timing_rollup_hourly (hour, measure, bucket, requests)
  SELECT hour, measure, bucket, 1000 FROM generate_series($1::timestamptz, $1::timestamptz + interval '23 hours', interval '1 hour') AS hour,
    unnest(ARRAY['overhead', 'ttft', 'total']) AS measure, generate_series(30, 90) AS bucket`
