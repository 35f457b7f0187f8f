import { parseArgs } from 'node:util'
import type { Database } from '../../src/control/store/database.ts'
import { migrate } from '../../src/control/store/migrate.ts'
import { DAY_MS, LogPartitions } from '../../src/control/store/partitions.ts'
import { openPostgres } from '../../src/control/store/postgres-database.ts'
import type { LogFilter, LogScope } from '../../src/control/store/request-log.ts'
import { listLogRows } from '../../src/control/store/request-log.ts'
import type { LogDay } from '../../src/control/store/retention.ts'
import { dropLogDay, listLogDays } from '../../src/control/store/retention.ts'
import { countPlatform, keyUsage, timings, upstreamUsage } from '../../src/control/store/platform-stats.ts'
import { usageByGroup, usageSeries } from '../../src/control/store/usage-stats.ts'
import { startPostgres } from '../../test/support/postgres.ts'
import { percentile } from '../support/statistics.ts'

const { values } = parseArgs({
  options: {
    rows: { type: 'string', default: '10000000' },
    days: { type: 'string', default: '30' },
    /** Number of entry keys; an enterprise has ten. */
    keys: { type: 'string', default: '300' },
    runs: { type: 'string', default: '30' },
  },
})
const rows = Number(values.rows)
const days = Number(values.days)
const keys = Number(values.keys)
const runs = Number(values.runs)
const PROMISED_MS = 100

const endMs = Math.floor(Date.now() / DAY_MS) * DAY_MS
const startMs = endMs - days * DAY_MS

/** Fills a request log on Postgres (a new one, or an empty database at DATABASE_URL) and measures how long reading it takes. */
async function main(): Promise<void> {
  const url = process.env['DATABASE_URL']
  const postgres = url === undefined ? await startPostgres() : null
  const database = openPostgres({ url: url ?? (await postgres?.createDatabase()) ?? '', statementTimeoutMs: 3_600_000 })
  try {
    await fill(database)
    await measureAll(database)
  } finally {
    await database.close()
    await postgres?.stop()
  }
}

async function fill(database: Database): Promise<void> {
  await migrate(database)
  const first = startMs / DAY_MS
  await new LogPartitions(database).ensure(Array.from({ length: days }, (_, index) => first + index))
  const perDay = Math.ceil(rows / days)
  const beganMs = Date.now()
  for (let day = first; day < first + days; day++) {
    await database.query(FILL_DAY, [new Date(day * DAY_MS), perDay, keys])
    await database.query(ADD_SUMS, [new Date(day * DAY_MS)])
    for (const sums of [ADD_DAYS, ADD_KEYS, ADD_UPSTREAMS, ADD_TIMINGS])
      await database.query(sums, [new Date(day * DAY_MS)])
    console.log(`day ${day - first + 1} of ${days}, ${Math.round((Date.now() - beganMs) / 1000)} s`)
  }
  await database.script('ANALYZE request_log; ANALYZE request_rollup_hourly')
  const [sums] = await database.query<{ count: number }>('SELECT count(*)::int8 AS count FROM request_rollup_hourly')
  console.log(`${perDay * days} rows, ${sums?.count} hourly sums`)
}

/** One request in a hundred fails. There are five models; the first has far more requests than the last. */
const FILL_DAY = `INSERT INTO request_log (at, id, node, endpoint, dialect, key_id, key_masked, user_id, enterprise_id,
    department_id, member_id, model, served_model, provider_id, upstream_key_id, attempts, status, error_type, error_code,
    stream, aborted, prompt_tokens, completion_tokens, cached_tokens, cache_write_tokens, reasoning_tokens, cost_micro,
    settlement, queue_us, ttft_us, total_us, overhead_us, user_agent, client_address, client_request_id, trace_id)
  SELECT date_trunc('milliseconds', $1::timestamptz + (n * 86399.0 / $2::int) * interval '1 second'),
    'req_' || lpad(to_hex(n), 12, '0') || md5(n::text), 'node-1', 'chat.completions', 'openai-chat',
    'key-' || k, 'sk-AbCd…wXyZ', 'user-' || k / 2, 'enterprise-' || k / 10, 'department-' || k / 5, 'member-' || k,
    'model-' || m, 'model-' || m, 'provider-1', 'upstream-key-' || n % 8,
    '[{"providerId":"provider-1","upstreamKeyId":"upstream-key-1","status":200,"outcome":"ok","startUs":900,"durationUs":812345}]',
    CASE WHEN n % 100 = 0 THEN 503 ELSE 200 END, CASE WHEN n % 100 = 0 THEN 'service_unavailable' END, NULL,
    n % 2 = 0, false, 1200, 350, 0, 0, 0, 4200, 'exact', 40, 612345, 1812345, 350,
    'OpenAI/Python 1.99.1', '203.0.113.7', NULL, NULL
  FROM (SELECT n, (hashint8(n) & 2147483647) % $3::int AS k,
      floor(5 * power(((hashint8(n + 7) & 2147483647) % 1000) / 1000.0, 3))::int AS m
    FROM generate_series(1, $2::int) AS n) AS made`

const ADD_SUMS = `INSERT INTO request_rollup_hourly (hour, key_id, user_id, enterprise_id, model, endpoint, status, requests, aborted,
    prompt_tokens, completion_tokens, cached_tokens, cache_write_tokens, reasoning_tokens, cost_micro, queue_us, ttft_us,
    ttft_count, total_us, overhead_us)
  SELECT date_trunc('hour', at), key_id, user_id, enterprise_id, model, endpoint, status, count(*), 0, sum(prompt_tokens),
    sum(completion_tokens), 0, 0, 0, sum(cost_micro), sum(queue_us), sum(ttft_us), count(ttft_us), sum(total_us), sum(overhead_us)
  FROM request_log WHERE at >= $1 AND at < $1 + interval '1 day' GROUP BY 1, 2, 3, 4, 5, 6, 7`

const ADD_DAYS = `INSERT INTO request_rollup_daily
  SELECT owner, date_trunc('day', hour, 'UTC'), model, endpoint, status, sum(requests), sum(aborted), sum(prompt_tokens),
    sum(completion_tokens), sum(cached_tokens), sum(cache_write_tokens), sum(reasoning_tokens), sum(cost_micro),
    sum(queue_us), sum(ttft_us), sum(ttft_count), sum(total_us), sum(overhead_us)
  FROM request_rollup_hourly CROSS JOIN LATERAL (VALUES ('*'), (enterprise_id)) AS owners (owner)
  WHERE hour >= $1 AND hour < $1 + interval '1 day' GROUP BY 1, 2, 3, 4, 5`

const ADD_KEYS = `INSERT INTO key_rollup_daily (key_id, day, requests, errors, prompt_tokens, completion_tokens, cost_micro, last_used_at)
  SELECT key_id, date_trunc('day', hour, 'UTC'), sum(requests), sum(CASE WHEN status >= 400 THEN requests ELSE 0 END),
    sum(prompt_tokens), sum(completion_tokens), sum(cost_micro), max(hour)
  FROM request_rollup_hourly WHERE hour >= $1 AND hour < $1 + interval '1 day' GROUP BY 1, 2`

const ADD_UPSTREAMS = `INSERT INTO upstream_rollup_hourly (hour, provider_id, upstream_key_id, requests, errors, aborted, prompt_tokens,
    completion_tokens, cached_tokens, cost_micro, ttft_us, ttft_count, total_us)
  SELECT date_trunc('hour', at), provider_id, upstream_key_id, count(*), count(*) FILTER (WHERE status >= 400), 0,
    sum(prompt_tokens), sum(completion_tokens), 0, sum(cost_micro), sum(ttft_us), count(ttft_us), sum(total_us)
  FROM request_log WHERE at >= $1 AND at < $1 + interval '1 day' GROUP BY 1, 2, 3`

/** Fills as many buckets as a day of very different requests does. */
const ADD_TIMINGS = `INSERT INTO timing_rollup_hourly (hour, measure, bucket, requests)
  SELECT hour, measure, bucket, 1000 FROM generate_series($1::timestamptz, $1::timestamptz + interval '23 hours', interval '1 hour') AS hour,
    unnest(ARRAY['overhead', 'ttft', 'total']) AS measure, generate_series(30, 90) AS bucket`

const HOURS_OF_A_USER = `SELECT hour, sum(requests)::int8 AS requests, sum(cost_micro)::int8 AS cost_micro
  FROM request_rollup_hourly WHERE hour >= $1 AND hour < $2 AND user_id = $3 GROUP BY 1 ORDER BY 1`

async function measureAll(database: Database): Promise<void> {
  const everyone: LogScope = { kind: 'everyone' }
  const enterprise: LogScope = { kind: 'enterprise', enterpriseId: 'enterprise-3' }
  const pages: ReadonlyArray<readonly [what: string, scope: LogScope, filter: LogFilter]> = [
    ['page of all', everyone, {}],
    ['page of a key', everyone, { keyId: 'key-42' }],
    ['page of an enterprise', enterprise, {}],
    ['page of an enterprise, one model', enterprise, { model: 'model-3' }],
    ['page of failures', everyone, { status: 503 }],
    ['page of a key, failures', everyone, { keyId: 'key-42', status: 503 }],
  ]
  for (const [what, scope, filter] of pages) {
    await measure(what, (run) => {
      // Each page is further back than the previous one; together they span all days.
      const after = {
        atMs: endMs - Math.round((run / runs) * (endMs - startMs - DAY_MS)),
        id: 'req_',
      }
      return listLogRows(database, scope, filter, { limit: 50, after })
    })
  }
  const period = [new Date(startMs), new Date(endMs)]
  // The range begins within a day, so that hourly sums are read too.
  const range = { fromMs: startMs + DAY_MS / 2, toMs: endMs }
  const byDay = { granularity: 'day' } as const
  await measure(`dashboard of ${days} days`, () =>
    Promise.all([
      usageSeries(database, everyone, range, { ...byDay, group: null }),
      ...(['model', 'enterprise', 'status'] as const).map((group) =>
        usageByGroup(database, range, { ...byDay, group, most: 10 }),
      ),
      countPlatform(database),
    ]),
  )
  await measure(`usage of ${days} days, one enterprise, by model`, () =>
    usageSeries(database, enterprise, range, { ...byDay, group: 'model' }),
  )
  await measure(`entry keys of ${days} days`, () =>
    keyUsage(
      database,
      range,
      { userId: null, enterpriseId: null, ...byDay },
      { order: 'requests', offset: 0, limit: 20 },
    ),
  )
  await measure(`relay of ${days} days`, () =>
    Promise.all([
      usageByGroup(database, range, { ...byDay, group: 'status', most: 1_000 }),
      upstreamUsage(database, range),
      timings(database, range),
    ]),
  )
  await measure(`hours of ${days} days, one user`, () => database.query(HOURS_OF_A_USER, [...period, 'user-21']))
  const old = (await listLogDays(database)).slice(0, Math.min(5, days - 1))
  const dayOf = (run: number): LogDay => old[run] as LogDay
  // Detaching may make other queries wait; dropping is the time to free the space on disk.
  await measure(
    'a day taken out of the log',
    (run) => database.script(`ALTER TABLE request_log DETACH PARTITION ${dayOf(run).table} CONCURRENTLY`),
    old.length,
  )
  const statements: number[] = []
  const timed: Database = Object.create(database, {
    script: {
      value: async (sql: string) => {
        const startedMs = performance.now()
        await database.script(sql)
        statements.push(performance.now() - startedMs)
      },
    },
  }) as Database
  await measure(
    'its table dropped, all statements',
    (run) => dropLogDay(timed, { ...dayOf(run), state: 'apart' }),
    old.length,
  )
  report('its table dropped, a statement', statements)
}

async function measure(what: string, work: (run: number) => Promise<unknown>, times = runs): Promise<void> {
  const took: number[] = []
  for (let run = 0; run < times; run++) {
    const startedMs = performance.now()
    await work(run)
    took.push(performance.now() - startedMs)
  }
  report(what, took)
}

function report(what: string, took: number[]): void {
  const at = (share: number): number => percentile(took, share)
  const verdict = at(0.5) <= PROMISED_MS ? 'ok' : `above ${PROMISED_MS} ms`
  console.log(
    `${what}: median ${at(0.5).toFixed(1)} ms, p95 ${at(0.95).toFixed(1)} ms, longest ${at(1).toFixed(1)} ms: ${verdict}`,
  )
}

await main()
