import { Type } from 'typebox'
import { nullable } from '../nullable.ts'
import { ok, operation, Time } from '../operation.ts'
import { EnterpriseFilter, OwnFilter, PlatformFilter } from './logs.ts'

const Count = Type.Integer({ minimum: 0 })

export const Sums = {
  requests: Count,
  errors: Count,
  aborted: Count,
  prompt_tokens: Count,
  completion_tokens: Count,
  cached_tokens: Count,
  reasoning_tokens: Count,
  cost: Type.Integer({ description: 'Micro-units.' }),
  mean_ttft_ms: nullable(Type.Number()),
  mean_total_ms: nullable(Type.Number()),
}

export const Period = Type.String({
  description: 'Length of the period, in hours or days. It begins at a whole hour, so it may be a little longer.',
  pattern: '^[1-9][0-9]{0,3}[hd]$',
  default: '7d',
  examples: ['24h', '30d'],
})

export const TimeZone = Type.String({
  description:
    'IANA name of the time zone whose days, weeks (from Monday) and months are shown; that of the enterprise, or UTC, by default.',
  minLength: 1,
  maxLength: 64,
  examples: ['Asia/Kolkata'],
})

/** A period may end in the past, so that it can be compared with the one after it. */
const PeriodQuery = {
  period: Type.Optional(Period),
  to: Type.Optional({
    ...Time,
    description: 'End of the period: now by default. The hour that it is in counts as a whole.',
  }),
  granularity: Type.Optional(
    Type.Enum(['hour', 'day', 'week', 'month'], { description: 'Hours are those of UTC.', default: 'day' }),
  ),
  time_zone: Type.Optional(TimeZone),
}

const GROUPS = ['model', 'endpoint', 'status', 'key', 'user', 'member', 'department', 'enterprise'] as const
const PLATFORM_GROUPS = [...GROUPS, 'provider', 'upstream_key'] as const

/** More than these are added up: a tag may have as many values as there are requests. */
const MAX_GROUPS = 1_000

const GroupBy = (names: readonly string[]) =>
  Type.String({
    description: `One of ${names.join(', ')}; or tag:<name>. A group by user has the requests of keys that were issued to the user too.`,
    pattern: `^(${names.join('|')}|tag:[\\s\\S]{1,64})$`,
    examples: [...names, 'tag:team'],
  })

const UsageQuery = {
  ...PeriodQuery,
  limit: Type.Optional(
    Type.Integer({
      description: 'Groups that are shown: the first ones by sort. All others are added up in one.',
      minimum: 1,
      maximum: MAX_GROUPS,
      default: 100,
    }),
  ),
  sort: Type.Optional(
    Type.Enum(['requests', 'errors', 'tokens', 'cost'], {
      description: 'What groups are ranked by, the most first.',
      default: 'requests',
    }),
  ),
}

/** The longest period of statistics that read the rows of the log: by tag, or by upstream together with key, user, member or department. */
export const MAX_LOG_DAYS = 31

const Group = {
  group: nullable(
    Type.String({
      description:
        'What group_by asks for: the id, name or value. Empty: requests that have none. Null: without group_by, or of others.',
    }),
  ),
  others: Type.Boolean({ description: 'The sum of all groups beyond limit.' }),
}

export const Usage = Type.Object({
  from: Time,
  to: Time,
  time_zone: TimeZone,
  totals: Type.Object(Sums),
  groups: Type.Array(Type.Object({ ...Group, ...Sums }), {
    description: 'The sums of the whole period by group, in the order of sort; empty without group_by.',
  }),
  series: Type.Array(Type.Object({ time: Time, ...Group, ...Sums })),
})

export const Percentiles = Type.Object(
  { p50: nullable(Type.Number()), p95: nullable(Type.Number()), p99: nullable(Type.Number()) },
  { description: 'Milliseconds, with an error of at most 10 %; null when there were no requests.' },
)

const Durations = { ttft_ms: Percentiles, total_ms: Percentiles }

/** Of requests that reached an upstream. */
export const Latency = Type.Object({
  from: Time,
  to: Time,
  time_zone: TimeZone,
  ...Durations,
  series: Type.Array(Type.Object({ time: Time, ...Durations })),
})

export const STATS = {
  usage: operation({
    method: 'GET',
    path: '/api/stats/usage',
    tag: 'Statistics',
    summary: 'Your usage: of your keys, and of keys that were issued to you',
    access: 'user',
    query: Type.Object({ ...UsageQuery, ...OwnFilter, group_by: Type.Optional(GroupBy(GROUPS)) }),
    answer: ok(Usage),
  }),
  enterpriseUsage: operation({
    method: 'GET',
    path: '/v1/enterprise/{id}/stats',
    tag: 'Statistics',
    summary: 'Usage of an enterprise',
    access: 'usage.read',
    query: Type.Object({ ...UsageQuery, ...EnterpriseFilter, group_by: Type.Optional(GroupBy(GROUPS)) }),
    answer: ok(Usage),
  }),
  adminUsage: operation({
    method: 'GET',
    path: '/v1/admin/stats/usage',
    tag: 'Platform',
    summary: 'Usage of everyone',
    access: 'platform-admin',
    query: Type.Object({ ...UsageQuery, ...PlatformFilter, group_by: Type.Optional(GroupBy(PLATFORM_GROUPS)) }),
    answer: ok(Usage),
  }),
  latency: operation({
    method: 'GET',
    path: '/api/stats/latency',
    tag: 'Statistics',
    summary: 'Percentiles of the durations of your requests, from the request log: at most 31 days',
    access: 'user',
    query: Type.Object({ ...PeriodQuery, ...OwnFilter }),
    answer: ok(Latency),
  }),
  enterpriseLatency: operation({
    method: 'GET',
    path: '/v1/enterprise/{id}/stats/latency',
    tag: 'Statistics',
    summary: 'Percentiles of the durations of the requests of an enterprise, from the request log: at most 31 days',
    access: 'usage.read',
    query: Type.Object({ ...PeriodQuery, ...EnterpriseFilter }),
    answer: ok(Latency),
  }),
  adminLatency: operation({
    method: 'GET',
    path: '/v1/admin/stats/latency',
    tag: 'Platform',
    summary:
      "Percentiles of the durations of everyone's requests; with a filter, from the request log: at most 31 days",
    access: 'platform-admin',
    query: Type.Object({ ...PeriodQuery, ...PlatformFilter }),
    answer: ok(Latency),
  }),
  metrics: operation({
    method: 'GET',
    path: '/metrics',
    tag: 'Operation',
    summary: 'Metrics for Prometheus',
    access: 'scraper',
    answer: { status: 200, schema: null, media: 'text/plain' },
  }),
} as const
