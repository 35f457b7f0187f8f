import type { EnterpriseRole } from '../../shared/api/roles.ts'
import type { ModelBudget } from '../../shared/core/budget.ts'
import type { Queryable } from './database.ts'
import { storedModelBudgets } from './model-budgets.ts'
import { containsPattern } from './text.ts'

export interface Member {
  readonly id: string
  readonly userId: string
  readonly userName: string
  readonly phone: string | null
  readonly role: EnterpriseRole
  readonly status: 'active' | 'disabled'
  readonly departmentId: string | null
  readonly monthlyBudget: number | null
  readonly monthlyTokens: number | null
  readonly modelBudgets: readonly ModelBudget[] | null
  /** Over all keys of the member. */
  readonly rpm: number | null
  readonly tpm: number | null
  readonly maxConcurrency: number | null
  readonly createdAt: Date
}

/** In each field, undefined keeps the value, and null removes an optional value. */
export interface MemberChange {
  readonly role?: EnterpriseRole | undefined
  readonly status?: Member['status'] | undefined
  readonly departmentId?: string | null | undefined
  readonly monthlyBudget?: number | null | undefined
  readonly monthlyTokens?: number | null | undefined
  readonly modelBudgets?: readonly ModelBudget[] | null | undefined
  readonly rpm?: number | null | undefined
  readonly tpm?: number | null | undefined
  readonly maxConcurrency?: number | null | undefined
}

const SELECT = `SELECT m.id, m.user_id AS "userId", u.name AS "userName", u.phone, m.role, m.status,
    m.department_id AS "departmentId", m.monthly_budget AS "monthlyBudget", m.monthly_tokens AS "monthlyTokens",
    m.model_budgets AS "modelBudgets", m.rpm, m.tpm, m.max_concurrency AS "maxConcurrency",
    m.created_at AS "createdAt"
  FROM members m JOIN users u ON u.id = m.user_id`
const LISTED = `WHERE m.enterprise_id = $1 AND ($2::text IS NULL OR u.name ILIKE $2 OR u.phone LIKE $2)
  AND ($3::text IS NULL OR m.department_id = $3)`

export async function listMembers(
  queryable: Queryable,
  enterpriseId: string,
  filter: { readonly search?: string | undefined; readonly departmentId?: string | undefined },
  page: { readonly offset: number; readonly limit: number },
): Promise<{ readonly members: Member[]; readonly total: number }> {
  const { search, departmentId = null } = filter
  const values = [enterpriseId, search === undefined ? null : containsPattern(search), departmentId]
  const [counted] = await queryable.query<{ total: number }>(
    `SELECT count(*) AS total FROM members m JOIN users u ON u.id = m.user_id ${LISTED}`,
    values,
  )
  const members = await queryable.query<Member>(`${SELECT} ${LISTED} ORDER BY m.created_at, m.id LIMIT $4 OFFSET $5`, [
    ...values,
    page.limit,
    page.offset,
  ])
  return { members, total: counted?.total ?? 0 }
}

/** The membership of a user. */
export async function findMemberOfUser(
  queryable: Queryable,
  enterpriseId: string,
  userId: string,
): Promise<Member | null> {
  const [row] = await queryable.query<Member>(`${SELECT} WHERE m.enterprise_id = $1 AND m.user_id = $2`, [
    enterpriseId,
    userId,
  ])
  return row ?? null
}

export async function findMember(queryable: Queryable, enterpriseId: string, id: string): Promise<Member | null> {
  const [row] = await queryable.query<Member>(`${SELECT} WHERE m.enterprise_id = $1 AND m.id = $2`, [enterpriseId, id])
  return row ?? null
}

/** The ids of the user as a member of enterprises: `active` ones, where member and enterprise are active, or `all`. */
export async function memberIdsOf(queryable: Queryable, userId: string, which: 'active' | 'all'): Promise<string[]> {
  const rows = await queryable.query<{ id: string }>(
    `SELECT m.id FROM members m JOIN enterprises e ON e.id = m.enterprise_id
      WHERE m.user_id = $1 AND ($2 = 'all' OR (m.status = 'active' AND e.status = 'active')) ORDER BY m.id`,
    [userId, which],
  )
  return rows.map(({ id }) => id)
}

export interface ClaimedMembership {
  readonly id: string
  readonly enterpriseId: string
  readonly role: EnterpriseRole
  /** False: somebody made the user a member by hand. */
  readonly fromClaims: boolean
}

/** Lists the memberships of a user that claims gave, and those in the named enterprises. */
export async function listClaimedMemberships(
  queryable: Queryable,
  userId: string,
  enterpriseIds: readonly string[],
): Promise<ClaimedMembership[]> {
  return queryable.query<ClaimedMembership>(
    `SELECT id, enterprise_id AS "enterpriseId", role, from_claims AS "fromClaims" FROM members
      WHERE user_id = $1 AND (from_claims OR enterprise_id = ANY ($2::text[])) ORDER BY enterprise_id`,
    [userId, enterpriseIds],
  )
}

/** Rejects with SQLSTATE 23505 when the user is a member already, 23503 when there is no such department in the enterprise. */
export async function insertMember(
  queryable: Queryable,
  enterpriseId: string,
  member: {
    readonly id: string
    readonly userId: string
    readonly role: EnterpriseRole
    readonly departmentId: string | null
    /** Whether claims of an OpenID provider made the user a member. */
    readonly fromClaims?: boolean
  },
): Promise<void> {
  await queryable.query(
    `INSERT INTO members (id, enterprise_id, user_id, role, department_id, from_claims)
      VALUES ($1, $2, $3, $4, $5, $6)`,
    [member.id, enterpriseId, member.userId, member.role, member.departmentId, member.fromClaims ?? false],
  )
}

/** False when there is no such member. Rejects with SQLSTATE 23503 when there is no such department in the enterprise. */
export async function changeMember(
  queryable: Queryable,
  enterpriseId: string,
  id: string,
  change: MemberChange,
): Promise<boolean> {
  const given = Object.entries(change).flatMap(([field, value]) => (value === undefined ? [] : [field]))
  const { role, status, departmentId, monthlyBudget, monthlyTokens, rpm, tpm, maxConcurrency } = change
  const values = [role, status, departmentId, monthlyBudget, monthlyTokens, rpm, tpm, maxConcurrency]
  const modelBudgets = storedModelBudgets(change.modelBudgets)
  const rows = await queryable.query(
    `UPDATE members SET role = coalesce($4, role), status = coalesce($5, status),
        department_id = CASE WHEN 'departmentId' = ANY ($3::text[]) THEN $6 ELSE department_id END,
        monthly_budget = CASE WHEN 'monthlyBudget' = ANY ($3) THEN $7::int8 ELSE monthly_budget END,
        monthly_tokens = CASE WHEN 'monthlyTokens' = ANY ($3) THEN $8::int8 ELSE monthly_tokens END,
        rpm = CASE WHEN 'rpm' = ANY ($3) THEN $9::int4 ELSE rpm END,
        tpm = CASE WHEN 'tpm' = ANY ($3) THEN $10::int8 ELSE tpm END,
        max_concurrency = CASE WHEN 'maxConcurrency' = ANY ($3) THEN $11::int4 ELSE max_concurrency END,
        model_budgets = CASE WHEN 'modelBudgets' = ANY ($3) THEN $12::jsonb ELSE model_budgets END
      WHERE enterprise_id = $1 AND id = $2 RETURNING id`,
    [enterpriseId, id, given, ...values.map((value) => value ?? null), modelBudgets],
  )
  return rows.length > 0
}

/** Returns false when there is no such member. Otherwise the member cannot be removed until the transaction ends. */
export async function holdMember(tx: Queryable, enterpriseId: string, id: string): Promise<boolean> {
  const rows = await tx.query('SELECT id FROM members WHERE enterprise_id = $1 AND id = $2 FOR SHARE', [
    enterpriseId,
    id,
  ])
  return rows.length > 0
}

/** Removes a member and disables the member's keys. Call it in a transaction. Returns false when there is no such member. */
export async function removeMember(tx: Queryable, enterpriseId: string, id: string): Promise<boolean> {
  const rows = await tx.query('DELETE FROM members WHERE enterprise_id = $1 AND id = $2 RETURNING id', [
    enterpriseId,
    id,
  ])
  if (rows.length === 0) return false
  await tx.query(
    `UPDATE entry_keys SET status = 'disabled', updated_at = now()
      WHERE enterprise_id = $1 AND member_id = $2 AND status = 'enabled'`,
    [enterpriseId, id],
  )
  return true
}

/** Counts the active owners. Locks the enterprise until the transaction ends, so that nobody else can remove the last owner. */
export async function countOwners(tx: Queryable, enterpriseId: string): Promise<number> {
  await tx.query('SELECT FROM enterprises WHERE id = $1 FOR UPDATE', [enterpriseId])
  const [row] = await tx.query<{ count: number }>(
    `SELECT count(*) AS count FROM members WHERE enterprise_id = $1 AND role = 'owner' AND status = 'active'`,
    [enterpriseId],
  )
  return row?.count ?? 0
}
