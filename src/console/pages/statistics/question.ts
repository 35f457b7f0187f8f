import { BUCKET_MS, PERIODS, periodOf } from '../../parts/periods.ts'
import type { Bucket, Period } from '../../parts/periods.ts'
import type { Sums, UsageQuery } from '../../parts/usage.ts'
import type { Scope } from '../../shell/scope.ts'
import { filterOf, queryOf } from '../requests/filter.ts'
import type { LogFilter } from '../requests/filter.ts'

const HOUR_MS = 3_600_000
/** More would be drawn on less than two pixels each. */
const MAX_POINTS = 500

export const METRICS = ['requests', 'errors', 'tokens', 'cost', 'ttft', 'total'] as const
export type Metric = (typeof METRICS)[number]

export const TOPS = [5, 10, 25, 100] as const

const GROUPS = {
  own: ['model', 'key', 'endpoint', 'status', 'enterprise'],
  enterprise: ['model', 'key', 'department', 'member', 'endpoint', 'status'],
  platform: ['model', 'enterprise', 'user', 'key', 'endpoint', 'status', 'provider', 'upstream_key'],
} as const satisfies Record<Scope['kind'], readonly string[]>

type Group = (typeof GROUPS)[Scope['kind']][number]
/** A group, or `tag:<name>`. */
export type GroupBy = Group | `tag:${string}`

/** The question to the statistics, as the URL has it. */
export interface Question {
  readonly metric: Metric
  readonly groupBy: GroupBy | null
  /** Splits a group that is opened. */
  readonly subgroup: GroupBy | null
  readonly top: number
  readonly period: Period
  /** Two fixed ends instead of the period, at whole hours; Unix milliseconds. */
  readonly fixed: { readonly fromMs: number; readonly toMs: number } | null
  readonly bucket: Bucket
  readonly filter: LogFilter
}

export function groupsOf(scope: Scope): readonly Group[] {
  return GROUPS[scope.kind]
}

export function questionOf(query: URLSearchParams, scope: Scope): Question {
  const period = periodOf(query.get('range') ?? '7d')
  const filter = filterOf(query)
  const fixed = fixedOf(filter)
  const buckets = bucketsFor(fixed === null ? PERIODS[period].ms : fixed.toMs - fixed.fromMs)
  const asked = buckets.find((one) => one === query.get('bucket'))
  const preferred = fixed === null && buckets.includes(PERIODS[period].bucket) ? PERIODS[period].bucket : buckets[0]
  const top = Number(query.get('top'))
  const groupBy = groupOf(query.get('group'), scope)
  const subgroup = groupOf(query.get('sub'), scope)
  return {
    metric: METRICS.find((one) => one === query.get('metric')) ?? 'requests',
    groupBy: query.has('group') ? groupBy : 'model',
    subgroup: subgroup === groupBy ? null : subgroup,
    top: TOPS.find((one) => one === top) ?? TOPS[0],
    period,
    fixed,
    bucket: asked ?? preferred ?? 'day',
    filter,
  }
}

function groupOf(text: string | null, scope: Scope): GroupBy | null {
  if (text?.startsWith('tag:') === true && text.length > 4) return text as GroupBy
  return groupsOf(scope).find((one) => one === text) ?? null
}

/** The gateway sums whole hours, and takes an end and a length: both ends are moved outwards first, so that no hour is lost or added. */
function fixedOf({ from, to }: LogFilter): Question['fixed'] {
  if (from === null) return null
  const [fromMs, toMs] = [Date.parse(from), to === null ? Date.now() : Date.parse(to)]
  if (!(toMs > fromMs)) return null
  return { fromMs: Math.floor(fromMs / HOUR_MS) * HOUR_MS, toMs: Math.ceil(toMs / HOUR_MS) * HOUR_MS }
}

/** The buckets that cut a length of time into few enough stretches, the shortest first. */
export function bucketsFor(ms: number): readonly Bucket[] {
  return (Object.keys(BUCKET_MS) as Bucket[]).filter(
    (one) => ms / BUCKET_MS[one] <= MAX_POINTS && (one === 'hour' || BUCKET_MS[one] <= ms),
  )
}

/** The query of the API. */
export function usageQueryOf(question: Question, zone: string): UsageQuery {
  const { fixed, period, bucket, groupBy, top, metric, filter } = question
  const {
    from: _,
    to: __,
    ...dimensions
  } = queryOf({ ...filter, from: null, to: null, range: 'all', search: '' }, new Date(0))
  return {
    ...(dimensions as UsageQuery),
    ...(fixed === null
      ? { period }
      : {
          period: `${(fixed.toMs - fixed.fromMs) / HOUR_MS}h`,
          to: new Date(fixed.toMs).toISOString(),
        }),
    granularity: bucket,
    time_zone: zone,
    ...(groupBy === null ? {} : { group_by: groupBy, limit: top }),
    ...(metric === 'errors' || metric === 'tokens' || metric === 'cost' ? { sort: metric } : {}),
  }
}

/** Null: there is none. */
export function valueOf(metric: Metric, sums: Sums): number | null {
  switch (metric) {
    case 'requests':
    case 'errors':
    case 'cost':
      return sums[metric]
    case 'tokens':
      return sums.prompt_tokens + sums.completion_tokens
    case 'ttft':
      return sums.mean_ttft_ms
    case 'total':
      return sums.mean_total_ms
  }
}

/** Whether values of groups add up to that of all. */
export function isSum(metric: Metric): boolean {
  return metric !== 'ttft' && metric !== 'total'
}
