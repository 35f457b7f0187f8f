import { Type } from 'typebox'
import { nullable } from '../nullable.ts'
import { Id, listOf, ok, operation, PageQuery, Time } from '../operation.ts'
import { Percentiles, Period, Sums, TimeZone } from './stats.ts'

const Count = Type.Integer({ minimum: 0 })
const Share = nullable(
  Type.Number({ description: 'From 0 to 1; null when there were no requests.', minimum: 0, maximum: 1 }),
)

export const Dashboard = Type.Object({
  from: Time,
  to: Time,
  granularity: Type.Enum(['hour', 'day']),
  totals: Type.Object(Sums),
  active: Type.Object(
    { users: Count, enterprises: Count, keys: Count },
    { description: 'Present numbers, without disabled, expired and deleted ones.' },
  ),
  series: Type.Array(Type.Object({ time: Time, ...Sums })),
  models: Type.Array(Type.Object({ model: nullable(Type.String()), ...Sums }), {
    description: 'The models with the most requests. Null: requests that were refused before the model was looked up.',
  }),
  tenants: Type.Array(Type.Object({ enterprise_id: nullable(Id), name: nullable(Type.String()), ...Sums }), {
    description: 'The enterprises with the most requests. Null: keys of users.',
  }),
  errors: Type.Array(Type.Object({ status: nullable(Type.Integer()), requests: Count }), {
    description: 'Requests that failed, by status. Null: the process ended before the answer did.',
  }),
})

export const KeyUsage = Type.Object({
  id: Id,
  name: Type.String(),
  key_masked: Type.String(),
  status: Type.Enum(['enabled', 'disabled', 'deleted']),
  user_id: nullable(Id),
  enterprise_id: nullable(Id),
  requests: Count,
  errors: Count,
  prompt_tokens: Count,
  completion_tokens: Count,
  cost: Type.Integer({ description: 'Micro-units.' }),
  last_used_at: nullable(Time),
})

const UpstreamKey = Type.Object({
  provider_id: Id,
  upstream_key_id: Id,
  state: Type.Enum(['ok', 'half-open', 'cooling', 'breaker-open', 'disabled', 'unknown'], {
    description:
      'The worst state that a process reports. unknown: no process has the key, because it is not configured any more.',
  }),
  slots_used: Type.Integer({ description: 'Calls under way.', minimum: 0 }),
  slots_held: Type.Integer({ description: 'Calls that may be under way.', minimum: 0 }),
  cooling_seconds: Type.Number({ description: 'Seconds until the key is used again.', minimum: 0 }),
  calls: Type.Record(Type.String(), Count, {
    description: 'Calls by outcome, retries included, since the start of the control process.',
  }),
  requests: Type.Integer({
    description: 'Requests that this key answered in the period. The fields below are about them.',
    minimum: 0,
  }),
  errors: Count,
  aborted: Count,
  success_rate: Share,
  prompt_tokens: Count,
  completion_tokens: Count,
  cached_tokens: Count,
  cost: Type.Integer({ description: 'Micro-units.' }),
  mean_ttft_ms: nullable(Type.Number()),
  mean_total_ms: nullable(Type.Number()),
})

export const Relay = Type.Object({
  from: Time,
  to: Time,
  requests: Count,
  success_rate: nullable(
    Type.Number({
      description:
        'Share of requests answered with a status below 400, without mistakes of the client (400 to 499 except 429).',
      minimum: 0,
      maximum: 1,
    }),
  ),
  rpm: Type.Number({ description: 'Requests per minute, over the period.', minimum: 0 }),
  tpm: Type.Number({ description: 'Tokens per minute, over the period.', minimum: 0 }),
  now: Type.Object({
    rpm: Type.Number({ description: 'Requests of the last minute.', minimum: 0 }),
    tpm: Type.Number({ description: 'Tokens of the last minute.', minimum: 0 }),
    waiting: Type.Integer({ description: 'Requests that wait for an upstream slot.', minimum: 0 }),
    fronts: Type.Integer({ description: 'Front processes.', minimum: 0 }),
  }),
  overhead_ms: Percentiles,
  ttft_ms: Percentiles,
  total_ms: Percentiles,
  upstream_keys: Type.Array(UpstreamKey),
})

export const PLATFORM_STATS = {
  adminDashboard: operation({
    method: 'GET',
    path: '/v1/admin/dashboard',
    tag: 'Platform',
    summary: 'The platform at a glance',
    access: 'platform-admin',
    query: Type.Object({ period: Type.Optional(Period), time_zone: Type.Optional(TimeZone) }),
    answer: ok(Dashboard),
  }),
  adminKeyStats: operation({
    method: 'GET',
    path: '/v1/admin/stats/keys',
    tag: 'Platform',
    summary: 'Use of entry keys, the busiest first',
    access: 'platform-admin',
    query: Type.Object({
      ...PageQuery,
      period: Type.Optional(Period),
      sort: Type.Optional(Type.Enum(['requests', 'errors', 'tokens', 'cost', 'last_used'], { default: 'requests' })),
      user_id: Type.Optional(Id),
      enterprise_id: Type.Optional(Id),
    }),
    answer: ok(listOf(KeyUsage)),
  }),
  adminRelayStats: operation({
    method: 'GET',
    path: '/v1/admin/stats/relay',
    tag: 'Platform',
    summary: 'Statistics of the relay and of each upstream key',
    access: 'platform-admin',
    query: Type.Object({ period: Type.Optional(Period) }),
    answer: ok(Relay),
  }),
} as const
