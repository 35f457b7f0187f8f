import { NO_TENANTS, ownerName } from '../../shared/core/budget.ts'
import type { BudgetOwner, ModelBudget, MonthlyBudget, Tenants } from '../../shared/core/budget.ts'
import type { KeyLimits } from '../../shared/core/key-limits.ts'
import type { Queryable } from './database.ts'

interface LimitColumns {
  readonly rpm: number | null
  readonly tpm: number | null
  readonly max_concurrency: number | null
}

interface BudgetColumns {
  readonly id: string
  readonly monthly_budget: number | null
  readonly monthly_tokens: number | null
}

/**
 * Lists all that decides about the budgets of enterprises, and about the limits of their departments and members: of all, or of these.
 * Leaves out members without a budget, a limit or a department.
 */
export async function listTenants(queryable: Queryable, ids: readonly string[] | null = null): Promise<Tenants> {
  const { enterprises } = await listEnterpriseTenants(queryable, ids)
  const departments = await queryable.query<BudgetColumns & LimitColumns & { parent_id: string | null }>(
    `SELECT id, monthly_budget, monthly_tokens, rpm, tpm, max_concurrency, parent_id FROM departments
      WHERE $1::text[] IS NULL OR enterprise_id = ANY ($1)`,
    [ids],
  )
  const members = await queryable.query<BudgetColumns & LimitColumns & { department_id: string | null }>(
    `SELECT id, monthly_budget, monthly_tokens, rpm, tpm, max_concurrency, department_id FROM members
      WHERE num_nonnulls(department_id, monthly_budget, monthly_tokens, rpm, tpm, max_concurrency) > 0
        AND ($1::text[] IS NULL OR enterprise_id = ANY ($1))`,
    [ids],
  )
  return {
    ...NO_TENANTS,
    enterprises,
    modelBudgets: await listModelBudgets(queryable, ids),
    departments: new Map(departments.map((row) => [row.id, { parentId: row.parent_id, ...holderOf(row) }])),
    members: new Map(members.map((row) => [row.id, { departmentId: row.department_id, ...holderOf(row) }])),
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

/** Lists the budgets for models of enterprises and of all that is in them, or of everything. */
async function listModelBudgets(queryable: Queryable, ids: readonly string[] | null): Promise<Tenants['modelBudgets']> {
  const rows = await queryable.query<{ owner: BudgetOwner; id: string; budgets: ModelBudget[] }>(
    `SELECT owner, id, budgets FROM (
        SELECT 'enterprise' AS owner, id, id AS enterprise_id, model_budgets AS budgets FROM enterprises
        UNION ALL SELECT 'department', id, enterprise_id, model_budgets FROM departments
        UNION ALL SELECT 'member', id, enterprise_id, model_budgets FROM members
        UNION ALL SELECT 'key', id, enterprise_id, model_budgets FROM entry_keys WHERE status <> 'deleted'
      ) AS o WHERE budgets IS NOT NULL AND ($1::text[] IS NULL OR enterprise_id = ANY ($1))`,
    [ids],
  )
  return new Map(rows.map(({ owner, id, budgets }) => [ownerName(owner, id), budgets]))
}

function holderOf(row: BudgetColumns & LimitColumns): { budget: MonthlyBudget; limits?: KeyLimits } {
  const { rpm, tpm, max_concurrency: concurrency } = row
  const hasLimits = rpm !== null || tpm !== null || concurrency !== null
  return {
    budget: budgetOf(row),
    ...(hasLimits ? { limits: { requestsPerMinute: rpm, tokensPerMinute: tpm, concurrency } } : {}),
  }
}

function budgetOf(row: BudgetColumns): MonthlyBudget {
  return { moneyMicro: row.monthly_budget, tokens: row.monthly_tokens }
}
