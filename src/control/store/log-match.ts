import type { DimensionFilter, LogFilter, LogScope } from './log-filter.ts'
import type { RequestLogRow } from './request-log.ts'

/** The fields that must be equal to those of the filter. */
const EQUAL = [
  'enterpriseId',
  'departmentId',
  'memberId',
  'keyId',
  'model',
  'endpoint',
  'providerId',
  'upstreamKeyId',
  'errorType',
  'traceId',
] as const satisfies ReadonlyArray<keyof LogFilter>

/** A filter that is new in `LogFilter` does not compile until it is read here. */
type Others = Required<Omit<LogFilter, (typeof EQUAL)[number]>>
type Matches = { readonly [Name in keyof Others]: (row: RequestLogRow, wanted: Others[Name]) => boolean }

const MATCHES: Matches = {
  fromMs: (row, fromMs) => row.atMs >= fromMs,
  toMs: (row, toMs) => row.atMs < toMs,
  user: isOfUser,
  status: (row, status) => (row.status ?? 0) === status,
  userAgent: (row, part) => row.userAgent.includes(part),
  requestId: (row, part) => row.id.includes(part) || row.clientRequestId?.includes(part) === true,
  tags: ({ tags }, wanted) => wanted.every(([name, value]) => tags !== null && hasTag(tags, name, value)),
}

/** Whether a list with this scope and this filter would have the row: the same as the SQL of `log-filter.ts`. */
export function isListed(row: RequestLogRow, scope: LogScope, filter: LogFilter): boolean {
  if (scope.kind === 'user' && !isOfUser(row, scope)) return false
  if (scope.kind === 'enterprise' && row.enterpriseId !== scope.enterpriseId) return false
  if (EQUAL.some((name) => filter[name] !== undefined && row[name] !== filter[name])) return false
  return (Object.keys(MATCHES) as Array<keyof Matches>).every((name) => matches(name, row, filter))
}

function matches<Name extends keyof Matches>(name: Name, row: RequestLogRow, filter: LogFilter): boolean {
  const wanted = filter[name] as Others[Name] | undefined
  return wanted === undefined || MATCHES[name](row, wanted)
}

function isOfUser(row: RequestLogRow, { userId, memberIds }: NonNullable<DimensionFilter['user']>): boolean {
  return row.userId === userId || (row.memberId !== null && memberIds.includes(row.memberId))
}

function hasTag(tags: Readonly<Record<string, string>>, name: string, value: string): boolean {
  return Object.hasOwn(tags, name) && tags[name] === value
}
