import { parseArgs } from 'node:util'
import type { Database } from '../../src/control/store/database.ts'
import { migrate } from '../../src/control/store/migrate.ts'
import { DAY_MS } from '../../src/control/store/partitions.ts'
import { openPostgres } from '../../src/control/store/postgres-database.ts'
import type { LogFilter, LogScope } from '../../src/control/store/log-filter.ts'
import { listLogRows } from '../../src/control/store/request-log.ts'
import type { LogDay } from '../../src/control/store/retention.ts'
import { dropLogDay, listLogDays } from '../../src/control/store/retention.ts'
import { countPlatform, keyUsage, timings, upstreamUsage } from '../../src/control/store/platform-stats.ts'
import { usageByGroup, usageSeries } from '../../src/control/store/usage-stats.ts'
import { startPostgres } from '../../test/support/postgres.ts'
import { fillLog } from '../support/filled-log.ts'
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
const MOST_ROWS = 50_000

const endMs = Math.floor(Date.now() / DAY_MS) * DAY_MS
const startMs = endMs - days * DAY_MS

/** Fills a request log on Postgres (a new one, or an empty database at DATABASE_URL) and measures how long reading it takes. */
async function main(): Promise<void> {
  const url = process.env['DATABASE_URL']
  const postgres = url === undefined ? await startPostgres() : null
  const database = openPostgres({ url: url ?? (await postgres?.createDatabase()) ?? '', statementTimeoutMs: 3_600_000 })
  try {
    await migrate(database)
    await fillLog(database, { rows, days, keys, endMs })
    await measureAll(database)
  } finally {
    await database.close()
    await postgres?.stop()
  }
}

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
  const all = { scope: everyone, filter: {}, range } as const
  const midnights = (offsetMs: number): number[] =>
    Array.from({ length: days + 1 }, (_, day) => startMs + day * DAY_MS - offsetMs)
  const daysOfUtc = { starts: midnights(0) }
  const daysInKolkata = { starts: midnights(5.5 * 3_600_000) }
  await measure(`dashboard of ${days} days`, () =>
    Promise.all([
      usageSeries(database, { ...all, stretches: daysOfUtc, group: null, most: 1 }, MOST_ROWS),
      ...(['model', 'enterprise', 'status'] as const).map((group) =>
        usageByGroup(database, { ...all, group, most: 10 }),
      ),
      countPlatform(database),
    ]),
  )
  await measure(`usage of ${days} days, one enterprise, by model`, () =>
    usageSeries(database, { ...all, scope: enterprise, stretches: daysOfUtc, group: 'model', most: 100 }, MOST_ROWS),
  )
  const inKolkata = { ...all, stretches: daysInKolkata, most: 100 }
  for (const group of ['model', 'member', 'department', 'key', 'tag:team', 'tag:user'] as const) {
    await measure(`usage of ${days} days of Kolkata, one enterprise, by ${group}`, () =>
      usageSeries(database, { ...inKolkata, scope: enterprise, group }, MOST_ROWS),
    )
  }
  for (const group of ['upstream_key', 'department', 'enterprise'] as const) {
    await measure(`usage of ${days} days of Kolkata, everyone, by ${group}`, () =>
      usageSeries(database, { ...inKolkata, group }, MOST_ROWS),
    )
  }
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
      usageByGroup(database, { ...all, group: 'status', most: 1_000 }),
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
