import type { Static } from 'typebox'
import { MAX_LOG_DAYS } from '../../shared/api/operations/stats.ts'
import type { Latency, STATS, Usage } from '../../shared/api/operations/stats.ts'
import type { QueryOf } from '../../shared/api/operation.ts'
import { GatewayError } from '../../shared/core/errors.ts'
import { PROMETHEUS_CONTENT_TYPE } from '../../shared/telemetry/prometheus-text.ts'
import type { Queryable } from '../store/database.ts'
import { findEnterprise } from '../store/enterprises.ts'
import type { LogScope } from '../store/log-filter.ts'
import { addedCounts, latencyReadsLog, latencySeries } from '../store/latency-stats.ts'
import type { LatencyRow } from '../store/latency-stats.ts'
import { DAY_MS } from '../store/partitions.ts'
import { readsLog, usageSeries } from '../store/usage-stats.ts'
import type {
  Stretches,
  TimeRange,
  UsageGroup,
  UsageQuery,
  UsageRank,
  UsageRow,
  UsageSums,
} from '../store/usage-stats.ts'
import { checkTimeZone, startsOf } from './calendar.ts'
import { Download } from './call.ts'
import type { Handlers } from './call.ts'
import { dimensionsOf, EVERYONE, ofEnterprise, ofUser } from './log-scope.ts'
import { percentilesOf } from './percentiles.ts'
import { rangeOf } from './period.ts'

type Query = QueryOf<typeof STATS.adminUsage>
type LatencyQuery = QueryOf<typeof STATS.adminLatency>
type Sums = Static<typeof Usage>['totals']
type Granularity = NonNullable<Query['granularity']>

/** The most rows of a series: an answer of some 15 MB. */
const MAX_SERIES_ROWS = 50_000
const DEFAULT_GROUPS = 100
const HOUR_MS = 3_600_000
const UTC = 'UTC'

export interface StatsParts {
  readonly database: Queryable
  /** Days for which the rows of the log are kept; 0: all. */
  readonly retentionDays: number
  readonly renderMetrics: () => string
}

/** Usage from the sums, or from the log where no sums have what is asked for; and the metrics. */
export function statsHandlers({ database, retentionDays, renderMetrics }: StatsParts): Handlers<keyof typeof STATS> {
  const usage = async (of: LogScope, query: Query, timeZone: string): Promise<Static<typeof Usage>> => {
    const { granularity = 'day', limit: most = DEFAULT_GROUPS } = query
    const group = (query.group_by ?? null) as UsageGroup | null
    const range = askedRange(query)
    const { scope, filter } = await dimensionsOf(database, of, query)
    const asked: UsageQuery = {
      scope,
      filter,
      range,
      stretches: stretchesOf(timeZone, granularity, range),
      group,
      most,
      rank: query.sort ?? 'requests',
    }
    if (readsLog(asked)) refuseLongPeriod(range, retentionDays)
    const rows = await usageSeries(database, asked, MAX_SERIES_ROWS + 1)
    if (rows.length > MAX_SERIES_ROWS) throw tooManyRows()
    return {
      from: new Date(range.fromMs).toISOString(),
      to: new Date(range.toMs).toISOString(),
      time_zone: timeZone,
      totals: sumsOf(rows),
      groups: group === null ? [] : groupsOf(rows, query.sort ?? 'requests'),
      series: rows.map((row) => ({ time: new Date(row.atMs).toISOString(), ...namesOf(row), ...sumsOf([row]) })),
    }
  }
  const latency = async (of: LogScope, query: LatencyQuery, timeZone: string): Promise<Static<typeof Latency>> => {
    const range = askedRange(query)
    const { scope, filter } = await dimensionsOf(database, of, query)
    if (latencyReadsLog({ scope, filter })) refuseLongPeriod(range, retentionDays)
    const stretches = stretchesOf(timeZone, query.granularity ?? 'day', range)
    const rows = await latencySeries(database, { scope, filter, range, stretches })
    const durationsOf = (among: readonly LatencyRow[]) => ({
      ttft_ms: percentilesOf(addedCounts(among.map(({ ttft }) => ttft))),
      total_ms: percentilesOf(addedCounts(among.map(({ total }) => total))),
    })
    return {
      from: new Date(range.fromMs).toISOString(),
      to: new Date(range.toMs).toISOString(),
      time_zone: timeZone,
      ...durationsOf(rows),
      series: rows.map((row) => ({ time: new Date(row.atMs).toISOString(), ...durationsOf([row]) })),
    }
  }
  const zoneOf = async (enterpriseId: string, query: Query): Promise<string> =>
    chosenZone(query, (await findEnterprise(database, enterpriseId))?.timeZone ?? UTC)
  return {
    usage: async ({ query, caller }) => {
      const timeZone = chosenZone(query, UTC)
      return usage(await ofUser(database, caller.userId), query, timeZone)
    },
    enterpriseUsage: async ({ params, query }) => usage(ofEnterprise(params.id), query, await zoneOf(params.id, query)),
    adminUsage: ({ query }) => usage(EVERYONE, query, chosenZone(query, UTC)),
    latency: async ({ query, caller }) => latency(await ofUser(database, caller.userId), query, chosenZone(query, UTC)),
    enterpriseLatency: async ({ params, query }) =>
      latency(ofEnterprise(params.id), query, await zoneOf(params.id, query)),
    adminLatency: ({ query }) => latency(EVERYONE, query, chosenZone(query, UTC)),
    metrics: () => Promise.resolve(new Download(PROMETHEUS_CONTENT_TYPE, renderMetrics())),
  }
}

/** There was no request before 1970. Postgres and JavaScript write years of the far past and future otherwise. */
const FIRST_END_MS = 0
const LAST_END_MS = Date.UTC(9999, 0, 1)

function askedRange({ period = '7d', to }: Pick<Query, 'period' | 'to'>): TimeRange {
  if (to === undefined) return rangeOf(period)
  // Sums are those of whole hours; the log is cut in the same place.
  const endMs = Math.ceil(Date.parse(to) / HOUR_MS) * HOUR_MS
  return rangeOf(period, Math.min(Math.max(FIRST_END_MS, endMs), LAST_END_MS))
}

/** Throws INVALID_FIELD for an unknown time zone in the query. */
export function chosenZone({ time_zone: asked }: { readonly time_zone?: string }, otherwise: string): string {
  checkTimeZone(asked)
  return asked ?? otherwise
}

export function stretchesOf(timeZone: string, granularity: Granularity, { fromMs, toMs }: TimeRange): Stretches {
  if (granularity === 'hour') return 'hours'
  return { starts: startsOf(timeZone, granularity, fromMs, toMs) }
}

/** Throws INVALID_FIELD when the log does not have the whole period, or would be read for too long. */
function refuseLongPeriod({ fromMs, toMs }: TimeRange, retentionDays: number): void {
  const days = retentionDays === 0 ? MAX_LOG_DAYS : Math.min(MAX_LOG_DAYS, retentionDays)
  // The range begins at a full hour.
  if (toMs - fromMs < (days + 1 / 24) * DAY_MS) return
  throw new GatewayError('INVALID_FIELD', {
    param: '/period',
    message: `period must be at most ${days}d here: percentiles of durations, and statistics by tag, or by upstream and key, user, member or department, read the request log.`,
  })
}

function tooManyRows(): GatewayError {
  return new GatewayError('INVALID_FIELD', {
    param: '/granularity',
    message: `The series has more than ${MAX_SERIES_ROWS} entries: ask for a longer granularity, a shorter period, or a lower limit of groups.`,
  })
}

function namesOf({ group, isRest }: UsageRow): { group: string | null; others: boolean } {
  return { group, others: isRest }
}

const RANKS: Readonly<Record<UsageRank, (sums: Sums) => number>> = {
  requests: ({ requests }) => requests,
  errors: ({ errors }) => errors,
  tokens: ({ prompt_tokens: input, completion_tokens: output }) => input + output,
  cost: ({ cost }) => cost,
}

function groupsOf(rows: readonly UsageRow[], rank: UsageRank): Static<typeof Usage>['groups'] {
  const groups = new Map<string | null, UsageRow[]>()
  for (const row of rows) {
    const among = groups.get(row.group)
    if (among === undefined) groups.set(row.group, [row])
    else among.push(row)
  }
  const summed = [...groups.values()].map((among) => ({ ...namesOf(among[0] as UsageRow), ...sumsOf(among) }))
  const of = RANKS[rank]
  return summed.sort((a, b) => Number(a.others) - Number(b.others) || of(b) - of(a) || b.requests - a.requests)
}

export function sumsOf(rows: readonly UsageSums[]): Sums {
  const sum = (of: (row: UsageSums) => number): number => rows.reduce((total, row) => total + of(row), 0)
  const requests = sum((row) => row.requests)
  const ttftCount = sum((row) => row.ttftCount)
  return {
    requests,
    errors: sum((row) => row.errors),
    aborted: sum((row) => row.aborted),
    prompt_tokens: sum((row) => row.promptTokens),
    completion_tokens: sum((row) => row.completionTokens),
    cached_tokens: sum((row) => row.cachedTokens),
    reasoning_tokens: sum((row) => row.reasoningTokens),
    cost: sum((row) => row.costMicro),
    mean_ttft_ms: ttftCount === 0 ? null : sum((row) => row.ttftUs) / ttftCount / 1000,
    mean_total_ms: requests === 0 ? null : sum((row) => row.totalUs) / requests / 1000,
  }
}
