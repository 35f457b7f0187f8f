import type { EnterpriseRole } from '../../shared/api/roles.ts'
import type { ModelBudget } from '../../shared/core/budget.ts'
import type { CaptureSettings } from '../../shared/core/capture.ts'
import { captureTenantOf, eraseTenantCaptures } from './captures.ts'
import type { Queryable } from './database.ts'
import { storedModelBudgets } from './model-budgets.ts'
import { containsPattern, storableText } from './text.ts'

export interface Enterprise {
  readonly id: string
  readonly name: string
  readonly status: 'active' | 'disabled' | 'deleted'
  readonly currency: string
  readonly timeZone: string
  readonly isPrepaid: boolean
  readonly rpm: number | null
  readonly tpm: number | null
  readonly maxConcurrency: number | null
  readonly monthlyBudget: number | null
  readonly monthlyTokens: number | null
  /** Micro-units. Set by the platform: it holds beside the enterprise's own `monthlyBudget`. */
  readonly platformMonthlyBudget: number | null
  readonly modelBudgets: readonly ModelBudget[] | null
  /** Null: bodies are captured for keys with their own setting alone. */
  readonly capture: CaptureSettings | null
  readonly createdAt: Date
  readonly deletedAt: Date | null
}

/** In each field, undefined keeps the value, and null removes an optional value. */
export type EnterpriseChange = {
  readonly [Field in keyof Omit<Enterprise, 'id' | 'currency' | 'createdAt' | 'deletedAt' | 'status'>]?:
    Enterprise[Field] | undefined
} & { readonly status?: 'active' | 'disabled' | undefined }

const FIELDS = `id, name, status, currency, time_zone AS "timeZone", is_prepaid AS "isPrepaid", rpm, tpm,
  max_concurrency AS "maxConcurrency", monthly_budget AS "monthlyBudget", monthly_tokens AS "monthlyTokens",
  platform_monthly_budget AS "platformMonthlyBudget", model_budgets AS "modelBudgets", capture, created_at AS "createdAt",
  deleted_at AS "deletedAt"`

const MATCHING = `WHERE ($1::text IS NULL OR lower(name) LIKE lower($1))
  AND CASE WHEN $2::text IS NULL THEN status <> 'deleted' ELSE status = $2 END`

/** Without a status, lists all enterprises but the deleted ones. */
export async function listEnterprises(
  queryable: Queryable,
  filter: { readonly search?: string | undefined; readonly status?: Enterprise['status'] | undefined },
  page: { readonly offset: number; readonly limit: number },
): Promise<{ readonly enterprises: Enterprise[]; readonly total: number }> {
  const { search, status = null } = filter
  const pattern = search === undefined ? null : containsPattern(search)
  const [counted] = await queryable.query<{ total: number }>(`SELECT count(*) AS total FROM enterprises ${MATCHING}`, [
    pattern,
    status,
  ])
  const enterprises = await queryable.query<Enterprise>(
    `SELECT ${FIELDS} FROM enterprises ${MATCHING} ORDER BY created_at DESC, id LIMIT $3 OFFSET $4`,
    [pattern, status, page.limit, page.offset],
  )
  return { enterprises, total: counted?.total ?? 0 }
}

export async function findEnterprise(queryable: Queryable, id: string): Promise<Enterprise | null> {
  const [row] = await queryable.query<Enterprise>(`SELECT ${FIELDS} FROM enterprises WHERE id = $1`, [id])
  return row ?? null
}

/** Rejects with SQLSTATE 23505 when the id is taken. */
export async function insertEnterprise(
  queryable: Queryable,
  enterprise: Omit<Enterprise, 'createdAt' | 'deletedAt'>,
): Promise<void> {
  await queryable.query(
    `INSERT INTO enterprises (id, name, status, currency, time_zone, is_prepaid, rpm, tpm, max_concurrency,
        monthly_budget, monthly_tokens, platform_monthly_budget, model_budgets, capture)
      VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13::jsonb, $14::jsonb)`,
    [
      enterprise.id,
      storableText(enterprise.name),
      enterprise.status,
      enterprise.currency,
      enterprise.timeZone,
      enterprise.isPrepaid,
      enterprise.rpm,
      enterprise.tpm,
      enterprise.maxConcurrency,
      enterprise.monthlyBudget,
      enterprise.monthlyTokens,
      enterprise.platformMonthlyBudget,
      storedModelBudgets(enterprise.modelBudgets),
      jsonOrNull(enterprise.capture),
    ],
  )
}

/** Null when there is no such enterprise, or when it is deleted. */
export async function changeEnterprise(
  queryable: Queryable,
  id: string,
  change: EnterpriseChange,
): Promise<Enterprise | null> {
  const given = Object.entries(change).flatMap(([field, value]) => (value === undefined ? [] : [field]))
  const { name, status, timeZone, isPrepaid, rpm, tpm, maxConcurrency } = change
  const { monthlyBudget, monthlyTokens, platformMonthlyBudget } = change
  const budgets = [monthlyBudget, monthlyTokens, platformMonthlyBudget]
  const values = [name, status, timeZone, isPrepaid, rpm, tpm, maxConcurrency, ...budgets]
  const [row] = await queryable.query<Enterprise>(
    `UPDATE enterprises SET name = coalesce($3, name), status = coalesce($4, status),
        time_zone = coalesce($5, time_zone), is_prepaid = coalesce($6, is_prepaid),
        rpm = CASE WHEN 'rpm' = ANY ($2::text[]) THEN $7::int4 ELSE rpm END,
        tpm = CASE WHEN 'tpm' = ANY ($2) THEN $8::int8 ELSE tpm END,
        max_concurrency = CASE WHEN 'maxConcurrency' = ANY ($2) THEN $9::int4 ELSE max_concurrency END,
        monthly_budget = CASE WHEN 'monthlyBudget' = ANY ($2) THEN $10::int8 ELSE monthly_budget END,
        monthly_tokens = CASE WHEN 'monthlyTokens' = ANY ($2) THEN $11::int8 ELSE monthly_tokens END,
        platform_monthly_budget =
          CASE WHEN 'platformMonthlyBudget' = ANY ($2) THEN $12::int8 ELSE platform_monthly_budget END,
        model_budgets = CASE WHEN 'modelBudgets' = ANY ($2) THEN $13::jsonb ELSE model_budgets END,
        capture = CASE WHEN 'capture' = ANY ($2) THEN $14::jsonb ELSE capture END
      WHERE id = $1 AND status <> 'deleted' RETURNING ${FIELDS}`,
    [
      id,
      given,
      ...values.map((value) => value ?? null),
      storedModelBudgets(change.modelBudgets),
      jsonOrNull(change.capture),
    ],
  )
  return row ?? null
}

/**
 * Deletes an enterprise with its keys, its open invitations and its open join requests. The rows stay: the books and the log refer to
 * them. Call it in a transaction. Returns false when there is no such enterprise, or when it is deleted already.
 */
export async function deleteEnterprise(tx: Queryable, id: string, deletedBy: string): Promise<boolean> {
  const rows = await tx.query(
    `UPDATE enterprises SET status = 'deleted', deleted_at = now() WHERE id = $1 AND status <> 'deleted' RETURNING id`,
    [id],
  )
  if (rows.length === 0) return false
  await tx.query(
    `UPDATE entry_keys SET status = 'deleted', updated_at = now() WHERE enterprise_id = $1 AND status <> 'deleted'`,
    [id],
  )
  await tx.query(`UPDATE invitations SET status = 'cancelled' WHERE enterprise_id = $1 AND status = 'pending'`, [id])
  await tx.query(
    `UPDATE join_requests SET status = 'rejected', decided_by = $2 WHERE enterprise_id = $1 AND status = 'pending'`,
    [id, deletedBy],
  )
  await eraseTenantCaptures(tx, captureTenantOf({ enterpriseId: id, userId: null }))
  return true
}

/** Lists the enterprises that the user with this phone number owns or administers. */
export async function findEnterprisesByPhone(
  queryable: Queryable,
  phone: string,
): Promise<Array<{ id: string; name: string }>> {
  return queryable.query<{ id: string; name: string }>(
    `SELECT e.id, e.name FROM enterprises e JOIN members m ON m.enterprise_id = e.id JOIN users u ON u.id = m.user_id
      WHERE u.phone = $1 AND u.status <> 'deleted' AND m.role IN ('owner', 'admin') AND m.status = 'active' AND e.status = 'active'
      ORDER BY e.name, e.id LIMIT 20`,
    [phone],
  )
}

export interface Standing {
  /** Null when the user is not a member. */
  readonly role: EnterpriseRole | null
  readonly status: Enterprise['status']
}

/** Returns the user's role in an enterprise and its status; null when there is no such enterprise. */
export async function findStanding(
  queryable: Queryable,
  userId: string,
  enterpriseId: string,
): Promise<Standing | null> {
  const [row] = await queryable.query<Standing>(
    `SELECT e.status, m.role FROM enterprises e
      LEFT JOIN members m ON m.enterprise_id = e.id AND m.user_id = $1 AND m.status = 'active'
      WHERE e.id = $2`,
    [userId, enterpriseId],
  )
  return row ?? null
}

export interface Membership {
  readonly id: string
  readonly name: string
  readonly role: EnterpriseRole
}

/** Lists the active enterprises of which the user is an active member. */
export async function listMemberships(queryable: Queryable, userId: string): Promise<Membership[]> {
  return queryable.query<Membership>(
    `SELECT e.id, e.name, m.role FROM members m JOIN enterprises e ON e.id = m.enterprise_id
      WHERE m.user_id = $1 AND m.status = 'active' AND e.status = 'active' ORDER BY e.name, e.id`,
    [userId],
  )
}

function jsonOrNull(value: object | null | undefined): string | null {
  return value === null || value === undefined ? null : JSON.stringify(value)
}
