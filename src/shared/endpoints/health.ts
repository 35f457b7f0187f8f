import { Type } from 'typebox'
import type { Static } from 'typebox'
import { openEndpoint } from './declare.ts'

const Percentage = (description: string) => Type.String({ description, pattern: '^\\d{1,3}\\.\\d%$' })

/** GET /health. */
export const Health = Type.Object(
  {
    status: Type.Enum(['healthy', 'degraded', 'unhealthy'], {
      description:
        'degraded: some upstream key or store is impaired, some AI requests are refused, or the database is far behind the journal. ' +
        'unhealthy (503): no AI request can be served.',
    }),
    reasons: Type.Optional(
      Type.Array(Type.String(), { description: 'Reasons for operators; only when the status is not healthy.' }),
    ),
    available_keys: Type.Integer({ description: 'Upstream keys enabled and not cooling.', minimum: 0 }),
    total_concurrency: Type.Integer({ description: 'Slots of the available keys.', minimum: 0 }),
    cache_hit_rate: Percentage('Prompt tokens served from prompt caches over five minutes, e.g. 12.5%.'),
    response_cache_hit_rate: Type.Optional(
      Percentage("Answers served from the gateway's own cache over five minutes."),
    ),
    journal: Type.Optional(
      Type.Object(
        {
          status: Type.Literal('behind'),
          lag_seconds: Type.Integer({ minimum: 0 }),
          unsettled_bytes: Type.Integer({ minimum: 0 }),
        },
        { description: 'Only while the database is far behind the journal.' },
      ),
    ),
  },
  { description: 'Overall health.' },
)
export type Health = Static<typeof Health>

/** GET /health/live. */
export const Liveness = Type.Object({ status: Type.Literal('ok') })
export type Liveness = Static<typeof Liveness>

const Check = Type.Object({
  status: Type.Enum(['ok', 'down', 'unused'], { description: 'unused: the gateway runs without it.' }),
  latency_ms: Type.Number({ minimum: 0 }),
  message: Type.Optional(Type.String()),
})
export type ReadinessCheck = Static<typeof Check>

/**
 * GET /health/ready; 503 while draining, and while `key_pool`, `journal` (requests can be recorded) or `capacity` (the process has room for
 * requests) is down. `database` and `cache` only report: AI requests are served without them.
 */
export const Readiness = Type.Object({
  status: Type.Enum(['ready', 'not_ready', 'draining']),
  checks: Type.Object({
    database: Check,
    cache: Check,
    key_pool: Check,
    journal: Type.Optional(Check),
    capacity: Type.Optional(Check),
  }),
})
export type Readiness = Static<typeof Readiness>

export const health = openEndpoint('/health', {
  operation: 'health',
  tag: 'Health',
  summary: 'Health of the gateway',
  answer: Health,
})

export const liveness = openEndpoint('/health/live', {
  operation: 'liveness',
  tag: 'Health',
  summary: 'Liveness: the process answers',
  answer: Liveness,
})

export const readiness = openEndpoint('/health/ready', {
  operation: 'readiness',
  tag: 'Health',
  summary: 'Readiness: the gateway takes requests',
  answer: Readiness,
})
