import type { Static } from 'typebox'
import type { STATS, Usage } from '../../shared/api/operations/stats.ts'
import type { QueryOf } from '../../shared/api/operation.ts'
import type { Queryable } from '../store/database.ts'
import type { LogScope } from '../store/request-log.ts'
import { usageSeries } from '../store/usage-stats.ts'
import type { UsageSums } from '../store/usage-stats.ts'
import { PROMETHEUS_CONTENT_TYPE } from '../../shared/telemetry/prometheus-text.ts'
import { Download } from './call.ts'
import type { Handlers } from './call.ts'
import { rangeOf } from './period.ts'

type Sums = Static<typeof Usage>['totals']

/** Usage from the rollups, and the metrics that `render` makes. */
export function statsHandlers(database: Queryable, render: () => string): Handlers<keyof typeof STATS> {
  const usage = async (scope: LogScope, query: QueryOf<typeof STATS.usage>): Promise<Static<typeof Usage>> => {
    const { period = '7d', granularity = 'day', group_by: group = null } = query
    const range = rangeOf(period)
    const rows = await usageSeries(database, scope, range, { granularity, group })
    return {
      from: new Date(range.fromMs).toISOString(),
      to: new Date(range.toMs).toISOString(),
      totals: sumsOf(rows),
      series: rows.map((row) => ({ time: new Date(row.atMs).toISOString(), group: row.group, ...sumsOf([row]) })),
    }
  }
  return {
    usage: ({ query, caller }) => usage({ kind: 'user', userId: caller.userId }, query),
    enterpriseUsage: ({ params, query }) => usage({ kind: 'enterprise', enterpriseId: params.id }, query),
    adminUsage: ({ query }) => usage({ kind: 'everyone' }, query),
    metrics: () => Promise.resolve(new Download(PROMETHEUS_CONTENT_TYPE, render())),
  }
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
