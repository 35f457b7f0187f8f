import type { RequestOf } from '../../../client/index.ts'

const HOUR_MS = 3_600_000

/** Of the URL, relative to now. */
export const RANGES = {
  '1h': HOUR_MS,
  '24h': 24 * HOUR_MS,
  '7d': 168 * HOUR_MS,
  '30d': 720 * HOUR_MS,
  all: null,
} as const
export type Range = keyof typeof RANGES
export const DEFAULT_RANGE: Range = '24h'

/** Filters by their names in the URL, each with the parameter of the API. */
export const FILTERS = {
  status: 'status',
  error: 'error_type',
  model: 'model',
  key: 'key_id',
  endpoint: 'endpoint',
  agent: 'user_agent',
  tag: 'tag',
  trace: 'trace_id',
  department: 'department_id',
  member: 'member_id',
  user: 'user_id',
  enterprise: 'enterprise_id',
  provider: 'provider_id',
  upstream: 'upstream_key_id',
} as const
export type FilterName = keyof typeof FILTERS

export const FILTER_NAMES = Object.keys(FILTERS) as readonly FilterName[]

export interface LogFilter {
  readonly range: Range
  /** Two fixed ends instead of the range; ISO 8601. */
  readonly from: string | null
  readonly to: string | null
  /** A part of the request id. */
  readonly search: string
  readonly values: Readonly<Partial<Record<FilterName, readonly string[]>>>
}

export type LogQuery = NonNullable<RequestOf<'adminListLogs'>['query']>

/** Reads what a URL asks for; anything that is no filter is left out. */
export function filterOf(query: URLSearchParams): LogFilter {
  const range = query.get('range')
  const values = Object.fromEntries(
    FILTER_NAMES.map((name) => [name, query.getAll(name).filter((value) => value !== '')] as const).filter(
      ([, all]) => all.length > 0,
    ),
  )
  return {
    range: range !== null && Object.hasOwn(RANGES, range) ? (range as Range) : DEFAULT_RANGE,
    from: time(query.get('from')),
    to: time(query.get('to')),
    search: query.get('q') ?? '',
    values,
  }
}

function time(text: string | null): string | null {
  const ms = text === null ? NaN : Date.parse(text)
  return Number.isNaN(ms) ? null : new Date(ms).toISOString()
}

/** Shorter texts are not searched for: the server refuses them. */
const MIN_SEARCH = 2

/** The query of the list. `anchor` is the moment that relative ranges end at: it stays until somebody refreshes. */
export function queryOf({ range, from, to, search, values }: LogFilter, anchor: Date): LogQuery {
  const length = RANGES[range]
  const isFixed = from !== null || to !== null
  const since = isFixed ? from : length === null ? null : new Date(anchor.getTime() - length).toISOString()
  const given = Object.entries(values).map(([name, all]): readonly [string, unknown] => {
    const parameter = FILTERS[name as FilterName]
    if (parameter === 'tag') return [parameter, all]
    const [value = ''] = all
    return [parameter, parameter === 'status' ? Number(value) : value]
  })
  return {
    ...(since === null ? {} : { from: since }),
    ...(isFixed && to !== null ? { to } : {}),
    ...(search.length < MIN_SEARCH ? {} : { request_id: search }),
    ...Object.fromEntries(given),
  }
}

/** The filters that statistics know as well. */
export const COUNTED: ReadonlySet<FilterName> = new Set([
  'status',
  'model',
  'key',
  'endpoint',
  'tag',
  'department',
  'member',
  'user',
  'enterprise',
  'provider',
  'upstream',
])

/** Whether the gateway has sums for it: a relative range, and no search in texts. */
export function isCounted({ from, to, search, values }: LogFilter): boolean {
  const names = Object.keys(values) as FilterName[]
  return from === null && to === null && search === '' && names.every((name) => COUNTED.has(name))
}

/** Whether anything but the range is asked for. */
export function isFiltered({ search, values }: LogFilter): boolean {
  return search !== '' || Object.keys(values).length > 0
}
