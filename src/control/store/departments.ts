import type { ModelBudget } from '../../shared/core/budget.ts'
import type { Queryable } from './database.ts'
import { storedModelBudgets } from './model-budgets.ts'

export interface Department {
  readonly id: string
  readonly name: string
  readonly parentId: string | null
  readonly monthlyBudget: number | null
  readonly monthlyTokens: number | null
  readonly modelBudgets: readonly ModelBudget[] | null
  /** Over all keys of the department and of those below it. */
  readonly rpm: number | null
  readonly tpm: number | null
  readonly maxConcurrency: number | null
  /** Number of members of the department itself, without those of departments below it. */
  readonly members: number
  readonly createdAt: Date
}

/** In each field, undefined keeps the value, and null removes an optional value. */
export interface DepartmentChange {
  readonly name?: string | undefined
  readonly parentId?: string | null | undefined
  readonly monthlyBudget?: number | null | undefined
  readonly monthlyTokens?: number | null | undefined
  readonly modelBudgets?: readonly ModelBudget[] | null | undefined
  readonly rpm?: number | null | undefined
  readonly tpm?: number | null | undefined
  readonly maxConcurrency?: number | null | undefined
}

const SELECT = `SELECT d.id, d.name, d.parent_id AS "parentId", d.monthly_budget AS "monthlyBudget",
    d.monthly_tokens AS "monthlyTokens", d.model_budgets AS "modelBudgets", d.rpm, d.tpm, d.max_concurrency AS "maxConcurrency", d.created_at AS "createdAt",
    (SELECT count(*) FROM members m WHERE m.enterprise_id = d.enterprise_id AND m.department_id = d.id) AS members
  FROM departments d`

/**
 * SQL of an array: the department of a row, and those above it.
 * @param place the alias of the row, which has `enterprise_id` and `department_id`
 */
export function departmentsAbove(place: string): string {
  return `ARRAY (
    WITH RECURSIVE above AS (
      SELECT id, parent_id FROM departments WHERE enterprise_id = ${place}.enterprise_id AND id = ${place}.department_id
      UNION SELECT d.id, d.parent_id FROM departments d JOIN above a ON d.id = a.parent_id
        WHERE d.enterprise_id = ${place}.enterprise_id
    ) SELECT id FROM above)`
}

export async function listDepartments(queryable: Queryable, enterpriseId: string): Promise<Department[]> {
  return queryable.query<Department>(`${SELECT} WHERE d.enterprise_id = $1 ORDER BY d.name, d.id`, [enterpriseId])
}

export async function findDepartment(
  queryable: Queryable,
  enterpriseId: string,
  id: string,
): Promise<Department | null> {
  const [row] = await queryable.query<Department>(`${SELECT} WHERE d.enterprise_id = $1 AND d.id = $2`, [
    enterpriseId,
    id,
  ])
  return row ?? null
}

/** Returns false when there is no such department. Otherwise the department cannot be deleted until the transaction ends. */
export async function holdDepartment(tx: Queryable, enterpriseId: string, id: string): Promise<boolean> {
  const rows = await tx.query('SELECT id FROM departments WHERE enterprise_id = $1 AND id = $2 FOR SHARE', [
    enterpriseId,
    id,
  ])
  return rows.length > 0
}

/** Rejects with SQLSTATE 23503 when there is no such parent in the enterprise. */
export async function insertDepartment(
  queryable: Queryable,
  enterpriseId: string,
  department: Omit<Department, 'members' | 'createdAt'>,
): Promise<void> {
  const { id, name, parentId, monthlyBudget, monthlyTokens, rpm, tpm, maxConcurrency } = department
  await queryable.query(
    `INSERT INTO departments (id, enterprise_id, name, parent_id, monthly_budget, monthly_tokens, rpm, tpm, max_concurrency,
        model_budgets)
      VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10::jsonb)`,
    [
      id,
      enterpriseId,
      name,
      parentId,
      monthlyBudget,
      monthlyTokens,
      rpm,
      tpm,
      maxConcurrency,
      storedModelBudgets(department.modelBudgets),
    ],
  )
}

/** Returns the ids of a department and those above it. Locks the enterprise until the transaction ends, so that the tree cannot change. */
export async function lockedAncestry(tx: Queryable, enterpriseId: string, id: string): Promise<ReadonlySet<string>> {
  await tx.query('SELECT FROM enterprises WHERE id = $1 FOR UPDATE', [enterpriseId])
  const rows = await tx.query<{ id: string }>(
    `WITH RECURSIVE above AS (
        SELECT id, parent_id FROM departments WHERE enterprise_id = $1 AND id = $2
        UNION SELECT d.id, d.parent_id FROM departments d JOIN above a ON d.id = a.parent_id WHERE d.enterprise_id = $1
      ) SELECT id FROM above`,
    [enterpriseId, id],
  )
  return new Set(rows.map((row) => row.id))
}

/** False when there is no such department. Rejects with SQLSTATE 23503 when there is no such parent in the enterprise. */
export async function changeDepartment(
  queryable: Queryable,
  enterpriseId: string,
  id: string,
  change: DepartmentChange,
): Promise<boolean> {
  const given = Object.entries(change).flatMap(([field, value]) => (value === undefined ? [] : [field]))
  const { name, parentId, monthlyBudget, monthlyTokens, rpm, tpm, maxConcurrency } = change
  const values = [name, parentId, monthlyBudget, monthlyTokens, rpm, tpm, maxConcurrency]
  const modelBudgets = storedModelBudgets(change.modelBudgets)
  const rows = await queryable.query(
    `UPDATE departments SET name = coalesce($4, name),
        parent_id = CASE WHEN 'parentId' = ANY ($3::text[]) THEN $5 ELSE parent_id END,
        monthly_budget = CASE WHEN 'monthlyBudget' = ANY ($3) THEN $6::int8 ELSE monthly_budget END,
        monthly_tokens = CASE WHEN 'monthlyTokens' = ANY ($3) THEN $7::int8 ELSE monthly_tokens END,
        rpm = CASE WHEN 'rpm' = ANY ($3) THEN $8::int4 ELSE rpm END,
        tpm = CASE WHEN 'tpm' = ANY ($3) THEN $9::int8 ELSE tpm END,
        max_concurrency = CASE WHEN 'maxConcurrency' = ANY ($3) THEN $10::int4 ELSE max_concurrency END,
        model_budgets = CASE WHEN 'modelBudgets' = ANY ($3) THEN $11::jsonb ELSE model_budgets END
      WHERE enterprise_id = $1 AND id = $2 RETURNING id`,
    [enterpriseId, id, given, ...values.map((value) => value ?? null), modelBudgets],
  )
  return rows.length > 0
}

/**
 * `used`: a key names the department. Rejects with SQLSTATE 23503 when members or other departments belong to it. Call it in a
 * transaction.
 */
export async function deleteDepartment(
  tx: Queryable,
  enterpriseId: string,
  id: string,
): Promise<'deleted' | 'used' | 'missing'> {
  // A statement that waits for the row would not see the key for which somebody else held it.
  await tx.query('SELECT FROM departments WHERE enterprise_id = $1 AND id = $2 FOR UPDATE', [enterpriseId, id])
  const deleted = await tx.query(
    `DELETE FROM departments WHERE enterprise_id = $1 AND id = $2 AND NOT EXISTS (
        SELECT FROM entry_keys WHERE enterprise_id = $1 AND department_id = $2 AND status <> 'deleted')
      RETURNING id`,
    [enterpriseId, id],
  )
  if (deleted.length > 0) return 'deleted'
  return (await findDepartment(tx, enterpriseId, id)) === null ? 'missing' : 'used'
}
