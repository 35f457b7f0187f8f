import { NO_TENANTS } from '../../shared/core/budget.ts'
import type { MonthlyBudget, Tenants } from '../../shared/core/budget.ts'
import type { Queryable } from './database.ts'

interface BudgetColumns {
  readonly id: string
  readonly monthly_budget: number | null
  readonly monthly_tokens: number | null
}

/** Lists all that decides about the budgets of enterprises: of all, or of these. Leaves out members without a budget or a department. */
export async function listTenants(queryable: Queryable, ids: readonly string[] | null = null): Promise<Tenants> {
  const { enterprises } = await listEnterpriseTenants(queryable, ids)
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
    enterprises,
    departments: new Map(departments.map((row) => [row.id, { parentId: row.parent_id, budget: budgetOf(row) }])),
    members: new Map(members.map((row) => [row.id, { departmentId: row.department_id, budget: budgetOf(row) }])),
  }
}

/** The same of the enterprises alone, without their departments and members. */
export async function listEnterpriseTenants(queryable: Queryable, ids: readonly string[] | null): Promise<Tenants> {
  const rows = await queryable.query<
    BudgetColumns & { time_zone: string; is_prepaid: boolean; credited_micro: number | null }
  >(
    `SELECT e.id, least(e.monthly_budget, e.platform_monthly_budget) AS monthly_budget, e.monthly_tokens, e.time_zone,
        e.is_prepaid, w.credited_micro
      FROM enterprises e LEFT JOIN wallets w ON w.enterprise_id = e.id
      WHERE $1::text[] IS NULL OR e.id = ANY ($1)`,
    [ids],
  )
  const enterprises = new Map(
    rows.map((row) => [
      row.id,
      {
        timeZone: row.time_zone,
        budget: budgetOf(row),
        creditedMicro: row.is_prepaid ? (row.credited_micro ?? 0) : null,
      },
    ]),
  )
  return { ...NO_TENANTS, enterprises }
}

function budgetOf(row: BudgetColumns): MonthlyBudget {
  return { moneyMicro: row.monthly_budget, tokens: row.monthly_tokens }
}
