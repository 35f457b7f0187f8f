import type { EnterpriseRole } from '../../shared/api/roles.ts'
import type { Queryable } from './database.ts'

export interface Member {
  readonly id: string
  readonly userId: string
  readonly userName: string
  readonly phone: string
  readonly role: EnterpriseRole
  readonly status: 'active' | 'disabled'
  readonly departmentId: string | null
  readonly monthlyBudget: number | null
  readonly monthlyTokens: number | null
  readonly createdAt: Date
}

/** In each field, undefined keeps the value, and null removes an optional value. */
export interface MemberChange {
  readonly role?: EnterpriseRole | undefined
  readonly status?: Member['status'] | undefined
  readonly departmentId?: string | null | undefined
  readonly monthlyBudget?: number | null | undefined
  readonly monthlyTokens?: number | null | undefined
}

const SELECT = `SELECT m.id, m.user_id AS "userId", u.name AS "userName", u.phone, m.role, m.status,
    m.department_id AS "departmentId", m.monthly_budget AS "monthlyBudget", m.monthly_tokens AS "monthlyTokens",
    m.created_at AS "createdAt"
  FROM members m JOIN users u ON u.id = m.user_id`

export async function listMembers(
  queryable: Queryable,
  enterpriseId: string,
  page: { readonly offset: number; readonly limit: number },
): Promise<{ readonly members: Member[]; readonly total: number }> {
  const [counted] = await queryable.query<{ total: number }>(
    'SELECT count(*) AS total FROM members WHERE enterprise_id = $1',
    [enterpriseId],
  )
  const members = await queryable.query<Member>(
    `${SELECT} WHERE m.enterprise_id = $1 ORDER BY m.created_at, m.id LIMIT $2 OFFSET $3`,
    [enterpriseId, page.limit, page.offset],
  )
  return { members, total: counted?.total ?? 0 }
}

export async function findMember(queryable: Queryable, enterpriseId: string, id: string): Promise<Member | null> {
  const [row] = await queryable.query<Member>(`${SELECT} WHERE m.enterprise_id = $1 AND m.id = $2`, [enterpriseId, id])
  return row ?? null
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
  },
): Promise<void> {
  await queryable.query(
    'INSERT INTO members (id, enterprise_id, user_id, role, department_id) VALUES ($1, $2, $3, $4, $5)',
    [member.id, enterpriseId, member.userId, member.role, member.departmentId],
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
  const { role, status, departmentId, monthlyBudget, monthlyTokens } = change
  const rows = await queryable.query(
    `UPDATE members SET role = coalesce($4, role), status = coalesce($5, status),
        department_id = CASE WHEN 'departmentId' = ANY ($3::text[]) THEN $6 ELSE department_id END,
        monthly_budget = CASE WHEN 'monthlyBudget' = ANY ($3) THEN $7::int8 ELSE monthly_budget END,
        monthly_tokens = CASE WHEN 'monthlyTokens' = ANY ($3) THEN $8::int8 ELSE monthly_tokens END
      WHERE enterprise_id = $1 AND id = $2 RETURNING id`,
    [
      enterpriseId,
      id,
      given,
      ...[role, status, departmentId, monthlyBudget, monthlyTokens].map((value) => value ?? null),
    ],
  )
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
