import type { LOGS } from '../../shared/api/operations/logs.ts'
import type { QueryOf } from '../../shared/api/operation.ts'
import type { Queryable } from '../store/database.ts'
import type { DimensionFilter, LogFilter, LogScope } from '../store/log-filter.ts'
import { memberIdsOf } from '../store/members.ts'

type PlatformQuery = Partial<Omit<QueryOf<typeof LOGS.adminListLogs>, 'page' | 'limit' | 'cursor'>>

/** The filters of requests and of statistics, as a query has them. */
export type DimensionQuery = Pick<
  PlatformQuery,
  | 'enterprise_id'
  | 'department_id'
  | 'member_id'
  | 'user_id'
  | 'key_id'
  | 'model'
  | 'endpoint'
  | 'status'
  | 'provider_id'
  | 'upstream_key_id'
  | 'tag'
>

/** The filters of the log, as a query has them. */
export type RowQuery = PlatformQuery

export const EVERYONE: LogScope = { kind: 'everyone' }

export function ofEnterprise(enterpriseId: string): LogScope {
  return { kind: 'enterprise', enterpriseId }
}

/** The user's own requests, and those of keys that an enterprise issued to the user and where the user is still a member. */
export async function ofUser(database: Queryable, userId: string): Promise<LogScope> {
  return { kind: 'user', userId, memberIds: await memberIdsOf(database, userId, 'active') }
}

/** A scope, and filters within it. */
export interface Selected<Filter> {
  readonly scope: LogScope
  readonly filter: Filter
}

/** Tags of a query as names and values. */
export type TagFilter = Pick<LogFilter, 'tags'>

/** Reads the filters of statistics. The requests of a user are a scope where everyone's are asked for: indexes have them in order. */
export async function dimensionsOf(
  database: Queryable,
  scope: LogScope,
  query: DimensionQuery,
): Promise<Selected<DimensionFilter & TagFilter>> {
  const { user_id: userId, tag } = query
  const user = userId === undefined ? null : { userId, memberIds: await memberIdsOf(database, userId, 'all') }
  const isScope = user !== null && scope.kind === 'everyone'
  const filter = given({
    enterpriseId: query.enterprise_id,
    departmentId: query.department_id,
    memberId: query.member_id,
    user: isScope ? undefined : (user ?? undefined),
    keyId: query.key_id,
    model: query.model,
    endpoint: query.endpoint,
    status: query.status,
    providerId: query.provider_id,
    upstreamKeyId: query.upstream_key_id,
    tags: tag?.map(pairOf),
  })
  return { scope: isScope ? { kind: 'user', ...user } : scope, filter }
}

export async function rowsOf(database: Queryable, scope: LogScope, query: RowQuery): Promise<Selected<LogFilter>> {
  const { from, to } = query
  const dimensions = await dimensionsOf(database, scope, query)
  const more = given({
    fromMs: from === undefined ? undefined : Date.parse(from),
    toMs: to === undefined ? undefined : Date.parse(to),
    errorType: query.error_type,
    userAgent: query.user_agent,
    requestId: query.request_id,
    traceId: query.trace_id,
  })
  return { scope: dimensions.scope, filter: { ...dimensions.filter, ...more } }
}

/** The schema of the query guarantees a colon. */
function pairOf(tag: string): [name: string, value: string] {
  const colon = tag.indexOf(':')
  return [tag.slice(0, colon), tag.slice(colon + 1)]
}

type Given<Fields> = { [Name in keyof Fields]?: Exclude<Fields[Name], undefined> }

function given<Fields extends object>(fields: Fields): Given<Fields> {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as Given<Fields>
}
