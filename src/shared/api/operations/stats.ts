import { Type } from 'typebox'
import { nullable } from '../nullable.ts'
import { ok, operation, Time } from '../operation.ts'

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

export const UsageQuery = Type.Object({
  period: Type.Optional(Period),
  granularity: Type.Optional(Type.Enum(['hour', 'day'], { default: 'day' })),
  group_by: Type.Optional(Type.Enum(['model', 'key', 'status', 'endpoint'])),
})

export const Usage = Type.Object({
  from: Time,
  to: Time,
  totals: Type.Object(Sums),
  series: Type.Array(
    Type.Object({
      time: Time,
      group: nullable(Type.String({ description: 'The model, key, status or endpoint; null without group_by.' })),
      ...Sums,
    }),
  ),
})

export const STATS = {
  usage: operation({
    method: 'GET',
    path: '/api/stats/usage',
    tag: 'Statistics',
    summary: 'Your usage',
    access: 'user',
    query: UsageQuery,
    answer: ok(Usage),
  }),
  enterpriseUsage: operation({
    method: 'GET',
    path: '/v1/enterprise/{id}/stats',
    tag: 'Statistics',
    summary: 'Usage of an enterprise',
    access: 'usage.read',
    query: UsageQuery,
    answer: ok(Usage),
  }),
  adminUsage: operation({
    method: 'GET',
    path: '/v1/admin/stats/usage',
    tag: 'Platform',
    summary: 'Usage of everyone',
    access: 'platform-admin',
    query: UsageQuery,
    answer: ok(Usage),
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
