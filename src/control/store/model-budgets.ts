import type { BudgetOwner, ModelBudget } from '../../shared/core/budget.ts'
import type { Queryable } from './database.ts'

/** Budgets for models as a column has them; null: none. */
export function storedModelBudgets(budgets: readonly ModelBudget[] | null | undefined): string | null {
  return budgets === null || budgets === undefined || budgets.length === 0 ? null : JSON.stringify(budgets)
}

/** Finds somebody who has a budget for a group of models; null: nobody. */
export async function findModelBudgetOf(
  queryable: Queryable,
  group: string,
): Promise<{ readonly owner: string; readonly id: string } | null> {
  const [row] = await queryable.query<{ owner: string; id: string }>(
    `SELECT o.owner, o.id FROM (
        SELECT 'enterprise' AS owner, id, id AS enterprise_id, model_budgets FROM enterprises
        UNION ALL SELECT 'department', id, enterprise_id, model_budgets FROM departments
        UNION ALL SELECT 'member', id, enterprise_id, model_budgets FROM members
        UNION ALL SELECT 'API key', id, enterprise_id, model_budgets FROM entry_keys WHERE status <> 'deleted'
      ) AS o LEFT JOIN enterprises e ON e.id = o.enterprise_id
      WHERE o.model_budgets @> $1::jsonb AND e.status IS DISTINCT FROM 'deleted' LIMIT 1`,
    [JSON.stringify([{ models: [group] }])],
  )
  return row ?? null
}

export interface ModelBudgetHolder {
  readonly owner: Exclude<BudgetOwner, 'wallet'>
  readonly id: string
  readonly enterpriseId: string
}

/** A row of the hourly sums counts for a holder: `$1` is its enterprise, `$3` its id, `$4` its kind. */
const IS_OF = `CASE $4
    WHEN 'key' THEN key_id = $3
    WHEN 'member' THEN member_id = $3
    WHEN 'enterprise' THEN enterprise_id = $3
    ELSE coalesce(nullif(department_id, ''), (SELECT m.department_id FROM members m WHERE m.id = member_id)) IN (
      WITH RECURSIVE below AS (
        SELECT id FROM departments WHERE enterprise_id = $1 AND id = $3
        UNION SELECT d.id FROM departments d JOIN below b ON d.parent_id = b.id
      ) SELECT id FROM below)
  END`

export interface ModelUse {
  readonly model: string
  readonly costMicro: number
  readonly tokens: number
}

/** Sums what settled requests used since a midnight, by the model that they asked for. */
export function sumModelUse(
  queryable: Queryable,
  { owner, id, enterpriseId }: ModelBudgetHolder,
  since: Date,
): Promise<ModelUse[]> {
  return queryable.query<ModelUse>(
    `SELECT model, sum(cost_micro)::int8 AS "costMicro", sum(prompt_tokens + completion_tokens)::int8 AS tokens
      FROM request_rollup_hourly WHERE enterprise_id = $1 AND hour >= $2 AND ${IS_OF} GROUP BY model`,
    [enterpriseId, since, id, owner],
  )
}

/** Notes earlier use of budgets that nobody has counted yet. */
export async function addEarlierUse(
  queryable: Queryable,
  uses: ReadonlyArray<{ readonly budget: string; readonly costMicro: number; readonly tokens: number }>,
): Promise<void> {
  await queryable.query(
    `INSERT INTO budget_use (budget, writer, cost_micro, tokens)
      SELECT n.budget, '', n.cost_micro, n.tokens FROM unnest($1::text[], $2::int8[], $3::int8[]) AS n (budget, cost_micro, tokens)
      WHERE NOT EXISTS (SELECT FROM budget_use u WHERE u.budget = n.budget) ORDER BY n.budget
      ON CONFLICT (budget, writer) DO NOTHING`,
    [uses.map(({ budget }) => budget), uses.map(({ costMicro }) => costMicro), uses.map(({ tokens }) => tokens)],
  )
}
