import type { MonthlyBudget, Tenants } from '../../shared/core/budget.ts'
import type { Queryable } from './database.ts'

interface BudgetColumns {
  readonly id: string
  readonly monthly_budget: number | null
  readonly monthly_tokens: number | null
}

/**
 * What decides about the budgets of enterprises: of all, or of these. Members that it says nothing of are left out.
 */
export async function listTenants(queryable: Queryable, ids: readonly string[] | null = null): Promise<Tenants> {
  const enterprises = await queryable.query<
    BudgetColumns & { time_zone: string; is_prepaid: boolean; credited_micro: number | null }
  >(
    `SELECT e.id, least(e.monthly_budget, e.platform_monthly_budget) AS monthly_budget, e.monthly_tokens, e.time_zone, e.is_prepaid, w.credited_micro
      FROM enterprises e LEFT JOIN wallets w ON w.enterprise_id = e.id
      WHERE $1::text[] IS NULL OR e.id = ANY ($1)`,
    [ids],
  )
  const departments = await queryable.query<BudgetColumns & { parent_id: string | null }>(
    `SELECT id, monthly_budget, monthly_tokens, parent_id FROM departments
      WHERE $1::text[] IS NULL OR enterprise_id = ANY ($1)`,
    [ids],
  )
  const members = await queryable.query<BudgetColumns & { department_id: string | null }>(
    `SELECT id, monthly_budget, monthly_tokens, department_id FROM members
      WHERE (department_id IS NOT NULL OR monthly_budget IS NOT NULL OR monthly_tokens IS NOT NULL)
        AND ($1::text[] IS NULL OR enterprise_id = ANY ($1))`,
    [ids],
  )
  return {
    enterprises: new Map(
      enterprises.map((row) => [
        row.id,
        {
          timeZone: row.time_zone,
          budget: budgetOf(row),
          creditedMicro: row.is_prepaid ? (row.credited_micro ?? 0) : null,
        },
      ]),
    ),
    departments: new Map(departments.map((row) => [row.id, { parentId: row.parent_id, budget: budgetOf(row) }])),
    members: new Map(members.map((row) => [row.id, { departmentId: row.department_id, budget: budgetOf(row) }])),
  }
}

function budgetOf(row: BudgetColumns): MonthlyBudget {
  return { moneyMicro: row.monthly_budget, tokens: row.monthly_tokens }
}
