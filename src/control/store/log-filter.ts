import { containsPattern, storableText } from './text.ts'

/** The rows that the caller may see. It is required everywhere, so that no query forgets the tenant. */
export type LogScope =
  { readonly kind: 'everyone' } | UserScope | { readonly kind: 'enterprise'; readonly enterpriseId: string }

/** Requests of the user's own keys, and of keys of enterprises that were issued to the user as one of these members. */
interface UserScope {
  readonly kind: 'user'
  readonly userId: string
  readonly memberIds: readonly string[]
}

/** The dimensions by which requests are counted and filtered. The columns of the log and of the sums have the same names. */
export interface DimensionFilter {
  readonly enterpriseId?: string
  readonly departmentId?: string
  readonly memberId?: string
  readonly user?: Omit<UserScope, 'kind'>
  readonly keyId?: string
  readonly model?: string
  readonly endpoint?: string
  /** 0: the serving process ended before the response. */
  readonly status?: number
  readonly providerId?: string
  readonly upstreamKeyId?: string
}

export interface LogFilter extends DimensionFilter {
  readonly fromMs?: number
  /** The exclusive end of the time range. */
  readonly toMs?: number
  readonly errorType?: string
  /** A part of the User-Agent; at least two characters. */
  readonly userAgent?: string
  /** A part of the gateway's or the client's request id; at least two characters. */
  readonly requestId?: string
  readonly traceId?: string
  /** A request must have all of them. */
  readonly tags?: ReadonlyArray<readonly [name: string, value: string]>
}

/** The terms of a WHERE. Copies share the list of values, so that several SELECTs of one statement can have their own terms. */
export class Conditions {
  readonly values: unknown[]
  readonly #terms: string[]

  constructor(values: unknown[] = [], terms: readonly string[] = []) {
    this.values = values
    this.#terms = [...terms]
  }

  /** `term` gets the placeholders of the values, in order. */
  add(term: (...placeholders: string[]) => string, ...values: unknown[]): void {
    const storable = values.map((value) => (typeof value === 'string' ? storableText(value) : value))
    this.#terms.push(term(...storable.map((value) => `$${this.values.push(value)}`)))
  }

  /** A copy to which more terms can be added. */
  branch(): Conditions {
    return new Conditions(this.values, this.#terms)
  }

  sql(): string {
    return this.#terms.length === 0 ? '' : ` WHERE ${this.#terms.join(' AND ')}`
  }
}

/**
 * Returns the conditions once for each owner of rows in the scope: one index has the rows of an owner in their order. Each row is in
 * one of the branches at most.
 */
export function branchesOf(where: Conditions, scope: LogScope): Conditions[] {
  const owners: Array<readonly [column: string, id: string]> =
    scope.kind === 'user'
      ? [['user_id', scope.userId], ...scope.memberIds.map((id) => ['member_id', id] as const)]
      : scope.kind === 'enterprise'
        ? [['enterprise_id', scope.enterpriseId]]
        : []
  if (owners.length === 0) return [where]
  return owners.map(([column, id], index) => {
    const branch = where.branch()
    branch.add((a) => `${column} = ${a}`, id)
    if (scope.kind === 'user' && index > 0) branch.add((a) => `user_id IS DISTINCT FROM ${a}`, scope.userId)
    return branch
  })
}

/** All owners of the scope in one condition. */
export function addScope(where: Conditions, scope: LogScope): void {
  if (scope.kind === 'user') addUser(where, scope)
  if (scope.kind === 'enterprise') where.add((a) => `enterprise_id = ${a}`, scope.enterpriseId)
}

function addUser(where: Conditions, { userId, memberIds }: Omit<UserScope, 'kind'>): void {
  if (memberIds.length === 0) where.add((a) => `user_id = ${a}`, userId)
  else where.add((a, b) => `(user_id = ${a} OR member_id = ANY (${b}::text[]))`, userId, memberIds)
}

/** @param noStatus how the table says that a request has no status */
export function addDimensions(where: Conditions, filter: DimensionFilter, noStatus: 'null' | 'zero'): void {
  const { enterpriseId, departmentId, memberId, user, keyId, model, endpoint, status } = filter
  const { providerId, upstreamKeyId } = filter
  if (enterpriseId !== undefined) where.add((a) => `enterprise_id = ${a}`, enterpriseId)
  if (departmentId !== undefined) where.add((a) => `department_id = ${a}`, departmentId)
  if (memberId !== undefined) where.add((a) => `member_id = ${a}`, memberId)
  if (user !== undefined) addUser(where, user)
  if (keyId !== undefined) where.add((a) => `key_id = ${a}`, keyId)
  if (model !== undefined) where.add((a) => `model = ${a}`, model)
  if (endpoint !== undefined) where.add((a) => `endpoint = ${a}`, endpoint)
  if (providerId !== undefined) where.add((a) => `provider_id = ${a}`, providerId)
  if (upstreamKeyId !== undefined) where.add((a) => `upstream_key_id = ${a}`, upstreamKeyId)
  if (status === 0 && noStatus === 'null') where.add(() => 'status IS NULL')
  else if (status !== undefined) where.add((a) => `status = ${a}`, status)
}

/** Throws a RangeError for a search text that is too short. */
export function addFilter(where: Conditions, filter: LogFilter): void {
  addDimensions(where, filter, 'null')
  const { fromMs, toMs, errorType, traceId, userAgent, requestId, tags } = filter
  if (fromMs !== undefined) where.add((a) => `at >= ${a}`, new Date(fromMs))
  if (toMs !== undefined) where.add((a) => `at < ${a}`, new Date(toMs))
  if (errorType !== undefined) where.add((a) => `error_type = ${a}`, errorType)
  if (traceId !== undefined) where.add((a) => `trace_id = ${a}`, traceId)
  if (userAgent !== undefined) where.add((a) => `user_agent LIKE ${a}`, searchPattern(userAgent))
  if (requestId !== undefined) {
    where.add((a) => `(id LIKE ${a} OR client_request_id LIKE ${a})`, searchPattern(requestId))
  }
  addTags(where, tags ?? [])
}

export function addTags(where: Conditions, tags: NonNullable<LogFilter['tags']>): void {
  for (const tag of tags) {
    where.add((a) => `tags @> ${a}::text::jsonb`, JSON.stringify(Object.fromEntries([tag])))
  }
}

function searchPattern(text: string): string {
  if (text.length < 2) throw new RangeError('a search text needs at least two characters')
  return containsPattern(text)
}
