import { ALL_ENTERPRISES } from './daily-rollups.ts'
import type { Queryable } from './database.ts'
import { addDimensions, addScope, addTags, Conditions } from './log-filter.ts'
import type { DimensionFilter, LogFilter, LogScope } from './log-filter.ts'
import { DAY_MS } from './partitions.ts'

const HOUR_MS = 3_600_000

export type Dimension = keyof typeof COLUMNS
/** The dimension by which sums are grouped. */
export type UsageGroup = Dimension | `tag:${string}`

/** `fromMs` is a full hour (UTC); `toMs` is exclusive and may be any time. */
export interface TimeRange {
  readonly fromMs: number
  readonly toMs: number
}

/** Durations are in microseconds, money in micro-units. */
export interface UsageSums {
  readonly requests: number
  readonly errors: number
  readonly aborted: number
  readonly promptTokens: number
  readonly completionTokens: number
  readonly cachedTokens: number
  readonly reasoningTokens: number
  readonly costMicro: number
  readonly ttftUs: number
  readonly ttftCount: number
  readonly totalUs: number
}

/** The sums of a stretch of time, and of a group. */
export interface UsageRow extends UsageSums {
  readonly atMs: number
  /** Null without groups; '' for requests that have nothing to be grouped by. */
  readonly group: string | null
  /** The row is the sum of all groups beyond the first `most`. */
  readonly isRest: boolean
}

/** The rows of a series: those of one hour each, or of the stretches that begin at these times, in Unix milliseconds. */
export type Stretches = 'hours' | { readonly starts: readonly number[] }

/** The sum by which groups are ranked. */
export type UsageRank = 'requests' | 'errors' | 'tokens' | 'cost'

const RANKED = {
  requests: 'requests',
  errors: 'errors',
  tokens: '"promptTokens" + "completionTokens"',
  cost: '"costMicro"',
} as const satisfies Record<UsageRank, string>

export interface UsageQuery {
  readonly scope: LogScope
  readonly filter: DimensionFilter & Pick<LogFilter, 'tags'>
  readonly range: TimeRange
  readonly stretches: Stretches
  readonly group: UsageGroup | null
  /** The groups that are shown by themselves: the first ones by `rank`. */
  readonly most: number
  readonly rank?: UsageRank
}

const COLUMNS = {
  enterprise: 'enterprise_id',
  department: 'department_id',
  member: 'member_id',
  user: 'user_id',
  key: 'key_id',
  model: 'model',
  endpoint: 'endpoint',
  status: 'status',
  provider: 'provider_id',
  upstream_key: 'upstream_key_id',
} as const

/** The tables that statistics are read from. */
type Source = 'enterprise-days' | 'enterprise-hours' | 'key-days' | 'key-hours' | 'log'

/** The dimensions of the sums by enterprise; those by key have all but the last two, and their days none of `OF_REQUESTS`. */
const OF_ENTERPRISES: ReadonlySet<Dimension> = new Set([
  'enterprise',
  'model',
  'endpoint',
  'status',
  'provider',
  'upstream_key',
])
const OF_UPSTREAMS: readonly Dimension[] = ['provider', 'upstream_key']
const OF_REQUESTS: readonly Dimension[] = ['model', 'endpoint', 'status']

/** Whether statistics need the rows of the log: no sums have tags, or both the caller's side and the upstream's. */
export function readsLog({ scope, filter, group }: Pick<UsageQuery, 'scope' | 'filter' | 'group'>): boolean {
  if (group?.startsWith('tag:') === true || (filter.tags ?? []).length > 0) return true
  const needed = neededBy({ scope, filter, group })
  return OF_UPSTREAMS.some((one) => needed.has(one)) && [...needed].some((one) => !OF_ENTERPRISES.has(one))
}

function neededBy({ scope, filter, group }: Pick<UsageQuery, 'scope' | 'filter' | 'group'>): Set<Dimension> {
  const needed = new Set<Dimension>()
  if (scope.kind === 'user' || filter.user !== undefined) needed.add('user')
  if (filter.enterpriseId !== undefined) needed.add('enterprise')
  if (filter.departmentId !== undefined) needed.add('department')
  if (filter.memberId !== undefined) needed.add('member')
  if (filter.keyId !== undefined) needed.add('key')
  if (filter.model !== undefined) needed.add('model')
  if (filter.endpoint !== undefined) needed.add('endpoint')
  if (filter.status !== undefined) needed.add('status')
  if (filter.providerId !== undefined) needed.add('provider')
  if (filter.upstreamKeyId !== undefined) needed.add('upstream_key')
  if (group !== null && group in COLUMNS) needed.add(group as Dimension)
  return needed
}

function sourceOf(query: UsageQuery): Source {
  if (readsLog(query)) return 'log'
  const needed = neededBy(query)
  const isOfKeys = [...needed].some((one) => !OF_ENTERPRISES.has(one))
  const notByDay = isOfKeys ? OF_REQUESTS : OF_UPSTREAMS
  const isByDay = areWholeDays(query.stretches) && !notByDay.some((one) => needed.has(one))
  if (isOfKeys) return isByDay ? 'key-days' : 'key-hours'
  return isByDay ? 'enterprise-days' : 'enterprise-hours'
}

/** Whether each stretch but the first begins with a day of UTC: the first one has the hours before its first whole day besides. */
function areWholeDays(stretches: Stretches): boolean {
  return stretches !== 'hours' && stretches.starts.slice(1).every((ms) => ms % DAY_MS === 0)
}

const SUMMED = `requests, aborted, prompt_tokens, completion_tokens, cached_tokens, reasoning_tokens, cost_micro, ttft_us,
  ttft_count, total_us`

const ERRORS = 'CASE WHEN status = 0 OR status >= 400 THEN requests ELSE 0 END AS errors'

const SUMS = `sum(requests)::int8 AS requests, sum(errors)::int8 AS errors,
  sum(aborted)::int8 AS aborted, sum(prompt_tokens)::int8 AS "promptTokens", sum(completion_tokens)::int8 AS "completionTokens",
  sum(cached_tokens)::int8 AS "cachedTokens", sum(reasoning_tokens)::int8 AS "reasoningTokens", sum(cost_micro)::int8 AS "costMicro",
  sum(ttft_us)::int8 AS "ttftUs", sum(ttft_count)::int8 AS "ttftCount", sum(total_us)::int8 AS "totalUs"`

const AGAIN = [
  ...['requests', 'errors', 'aborted', 'promptTokens', 'completionTokens', 'cachedTokens', 'reasoningTokens'],
  ...['costMicro', 'ttftUs', 'ttftCount', 'totalUs'],
]
  .map((name) => `sum(u."${name}")::int8 AS "${name}"`)
  .join(', ')

/** As the sums have it (`groupedModel` in `rollups.ts`): clients choose the names of models that are not known. */
const KNOWN_MODEL = `CASE WHEN provider_id IS NOT NULL OR status IS NULL OR status >= 500 THEN coalesce(model, '') ELSE '' END`

/** The log in the form of the hourly sums. */
const LOG = `SELECT at, coalesce(enterprise_id, '') AS enterprise_id, coalesce(department_id, '') AS department_id,
    coalesce(member_id, '') AS member_id, coalesce(user_id, '') AS user_id, coalesce(key_id, '') AS key_id,
    ${KNOWN_MODEL} AS model, endpoint, coalesce(status, 0) AS status, (status IS NULL OR status >= 400)::int4 AS errors,
    coalesce(provider_id, '') AS provider_id,
    coalesce(upstream_key_id, '') AS upstream_key_id, tags, 1 AS requests, aborted::int4 AS aborted, prompt_tokens,
    completion_tokens, cached_tokens, reasoning_tokens, cost_micro, coalesce(ttft_us, 0) AS ttft_us,
    (ttft_us IS NOT NULL)::int4 AS ttft_count, total_us
  FROM request_log`

/**
 * Lists the oldest first, without times that have no request; at most `mostRows` rows. The sums of the rows are those of all requests
 * in the range: groups beyond the first `most` are added up in one.
 */
export function usageSeries(queryable: Queryable, query: UsageQuery, mostRows: number): Promise<UsageRow[]> {
  return readUsage(queryable, query, mostRows)
}

/** Lists the groups with the most requests of the whole range, the highest first. */
export async function usageByGroup(
  queryable: Queryable,
  query: Omit<UsageQuery, 'stretches'> & { readonly group: UsageGroup },
): Promise<Array<UsageSums & { readonly group: string }>> {
  const { range, most } = query
  const stretches = { starts: [range.fromMs] }
  const rows = await readUsage(queryable, { ...query, stretches }, most + 1)
  const shown = rows.filter(({ isRest }) => !isRest).map((row) => ({ ...row, group: row.group ?? '' }))
  return shown.sort((a, b) => b.requests - a.requests || (a.group < b.group ? -1 : 1))
}

async function readUsage(queryable: Queryable, query: UsageQuery, mostRows: number): Promise<UsageRow[]> {
  const { group, most, rank = 'requests' } = query
  const where = new Conditions()
  const value = (given: unknown, type: string): string => `$${where.values.push(given)}::${type}`
  const place = placeSql(query, 'at', value)
  const { column, joined } = groupColumn(group, value)
  const source = sourceSql(query, where)
  const sql = `
    WITH used AS (
      SELECT ${place} AS place, ${column} AS "group", ${SUMS} FROM (${source}) AS source ${joined} GROUP BY 1, 2
    ), ranked AS (
      SELECT "group" FROM used GROUP BY 1 ORDER BY sum(${RANKED[rank]}) DESC, sum(requests) DESC, 1 LIMIT ${value(most, 'int8')}
    )
    SELECT u.place, r."group", r."group" IS NULL AS "isRest", ${AGAIN}
    FROM used AS u LEFT JOIN ranked AS r USING ("group") GROUP BY 1, 2, 3 ORDER BY 1, 2 NULLS LAST
    LIMIT ${value(mostRows, 'int8')}`
  const rows = await queryable.query<Omit<UsageRow, 'atMs'> & { readonly place: number }>(sql, where.values)
  return rows.map(({ place: at, ...row }) => ({
    ...row,
    group: group === null ? null : row.group,
    atMs: timeOfPlace(query, at),
  }))
}

type Timed = Pick<UsageQuery, 'range' | 'stretches'>

/** The expression for the stretch of a time: 1 is the first one. */
export function placeSql(
  { range, stretches }: Timed,
  column: string,
  value: (given: unknown, type: string) => string,
): string {
  return stretches === 'hours'
    ? `floor(extract(epoch FROM ${column} - ${value(new Date(range.fromMs), 'timestamptz')}) / 3600)::int4 + 1`
    : `width_bucket((extract(epoch FROM ${column}) * 1000)::float8, ${value(stretches.starts, 'float8[]')})`
}

export function timeOfPlace({ range, stretches }: Timed, place: number): number {
  return stretches === 'hours' ? range.fromMs + (place - 1) * HOUR_MS : (stretches.starts[place - 1] ?? range.fromMs)
}

/** The expression to group by. Requests of a key that was issued to a member are those of the member's user. */
function groupColumn(
  group: UsageGroup | null,
  value: (given: unknown, type: string) => string,
): { readonly column: string; readonly joined: string } {
  if (group === null) return { column: `''`, joined: '' }
  if (group.startsWith('tag:')) return { column: `coalesce(tags ->> ${value(group.slice(4), 'text')}, '')`, joined: '' }
  const column = `source.${COLUMNS[group as Dimension]}`
  if (group !== 'user') return { column: `${column}::text`, joined: '' }
  return {
    column: `coalesce(nullif(${column}, ''), of_user, '')`,
    joined: `LEFT JOIN (SELECT id AS of_member, user_id AS of_user FROM members) AS m ON of_member = source.member_id`,
  }
}

/** The SELECT that has the rows of the range, the scope and the filter, with their columns. */
function sourceSql(query: UsageQuery, where: Conditions): string {
  const { scope, filter, range } = query
  const source = sourceOf(query)
  const within = (column: 'at' | 'hour' | 'day', fromMs: number, toMs: number): Conditions => {
    const branch = where.branch()
    branch.add((a, b) => `${column} >= ${a} AND ${column} < ${b}`, new Date(fromMs), new Date(toMs))
    return branch
  }
  const enterpriseSums = (table: string, column: 'hour' | 'day', columns: string, from: number, to: number): string => {
    const branch = within(column, from, to)
    const { enterpriseId, ...others } = filter
    const isOfEach = scope.kind === 'everyone' && query.group === 'enterprise'
    if (scope.kind === 'enterprise') branch.add((a) => `enterprise_id = ${a}`, scope.enterpriseId)
    if (enterpriseId !== undefined)
      branch.add((a) => `enterprise_id = ${a} AND ${a} <> '${ALL_ENTERPRISES}'`, enterpriseId)
    else if (isOfEach) branch.add(() => `enterprise_id <> '${ALL_ENTERPRISES}'`)
    else if (scope.kind === 'everyone') branch.add(() => `enterprise_id = '${ALL_ENTERPRISES}'`)
    addDimensions(branch, others, 'zero')
    return `SELECT ${column} AS at, enterprise_id, model, endpoint, status, ${ERRORS}, ${columns} ${SUMMED} FROM ${table}${branch.sql()}`
  }
  const keySums = (table: string, column: 'hour' | 'day', columns: string, from: number, to: number): string => {
    const branch = within(column, from, to)
    addScope(branch, scope)
    addDimensions(branch, filter, 'zero')
    return `SELECT ${column} AS at, enterprise_id, department_id, member_id, user_id, key_id, ${columns}, ${SUMMED}
      FROM ${table}${branch.sql()}`
  }
  const { fromMs, toMs } = range
  const daysFromMs = daysFrom(range)
  const daysToMs = Math.max(daysFromMs, Math.floor(toMs / DAY_MS) * DAY_MS)
  switch (source) {
    case 'log': {
      const branch = within('at', fromMs, toMs)
      addLogRows(branch, query)
      return `${LOG}${branch.sql()}`
    }
    case 'key-hours':
      return keySums('request_rollup_hourly', 'hour', `model, endpoint, status, ${ERRORS}`, fromMs, toMs)
    case 'key-days':
      return `${keySums('request_rollup_hourly', 'hour', ERRORS, fromMs, daysFromMs)}
        UNION ALL ${keySums('key_rollup_daily', 'day', 'errors', daysFromMs, daysToMs)}
        UNION ALL ${keySums('request_rollup_hourly', 'hour', ERRORS, daysToMs, toMs)}`
    case 'enterprise-hours':
      return enterpriseSums('enterprise_rollup_hourly', 'hour', 'provider_id, upstream_key_id,', fromMs, toMs)
    case 'enterprise-days':
      return `${enterpriseSums('enterprise_rollup_hourly', 'hour', '', fromMs, daysFromMs)}
        UNION ALL ${enterpriseSums('request_rollup_daily', 'day', '', daysFromMs, daysToMs)}
        UNION ALL ${enterpriseSums('enterprise_rollup_hourly', 'hour', '', daysToMs, toMs)}`
  }
}

/** The rows of the log that the sums count, in the scope and the filter. */
export function addLogRows(where: Conditions, { scope, filter }: Pick<UsageQuery, 'scope' | 'filter'>): void {
  addScope(where, scope)
  const { model, tags, ...others } = filter
  addTags(where, tags ?? [])
  addDimensions(where, others, 'null')
  if (model !== undefined) where.add((a) => `${KNOWN_MODEL} = ${a}`, model)
}

/** The first day (UTC) that begins in the range; the end of the range when none does. */
function daysFrom({ fromMs, toMs }: TimeRange): number {
  return Math.min(toMs, Math.ceil(fromMs / DAY_MS) * DAY_MS)
}

/** Returns the start of the hours of a range, the start of its days, and its end. */
export function timesOf(range: TimeRange, hasDays: boolean): [Date, Date, Date] {
  return [new Date(range.fromMs), new Date(hasDays ? daysFrom(range) : range.toMs), new Date(range.toMs)]
}
