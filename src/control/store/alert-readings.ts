import type { AlertOwner } from './alerts.ts'
import type { Queryable } from './database.ts'

/** Something with a monthly budget. Money is in micro-units. */
export interface BudgetRow {
  readonly owner: AlertOwner
  readonly id: string
  /** Null: a key without an enterprise. */
  readonly enterpriseId: string | null
  readonly name: string
  readonly timeZone: string
  readonly money: number | null
  readonly tokens: number | null
  /** The names of the models that it is for; null: all models. */
  readonly models: readonly string[] | null
}

/** Lists the budgets of enterprises, and of all that is in them. */
export function listBudgets(queryable: Queryable, enterpriseIds: readonly string[]): Promise<BudgetRow[]> {
  return queryable.query<BudgetRow>(
    `WITH owners AS (
        SELECT 'enterprise' AS owner, id, id AS enterprise_id, name, least(monthly_budget, platform_monthly_budget) AS money,
          monthly_tokens AS tokens, model_budgets FROM enterprises
        UNION ALL
        SELECT 'department', id, enterprise_id, name, monthly_budget, monthly_tokens, model_budgets FROM departments
        UNION ALL
        SELECT 'member', m.id, m.enterprise_id, u.name, m.monthly_budget, m.monthly_tokens, m.model_budgets
          FROM members m JOIN users u ON u.id = m.user_id
        UNION ALL
        SELECT 'key', id, enterprise_id, name, monthly_budget, monthly_tokens, model_budgets FROM entry_keys
          WHERE status <> 'deleted'
      )
      SELECT b.owner, b.id, e.id AS "enterpriseId", b.name, e.time_zone AS "timeZone", b.money, b.tokens, b.models
      FROM enterprises e JOIN (
        SELECT owner, id, enterprise_id, name, money, tokens, NULL::jsonb AS models FROM owners
        UNION ALL
        SELECT owner, id, enterprise_id, name, (m->>'moneyMicro')::int8, (m->>'tokens')::int8, m->'models'
          FROM owners, jsonb_array_elements(model_budgets) AS m
      ) AS b ON b.enterprise_id = e.id
      WHERE e.id = ANY ($1::text[]) AND (b.money > 0 OR b.tokens > 0)`,
    [enterpriseIds],
  )
}

/** Lists the budgets that the platform watches: of active enterprises as a whole, and of keys without one. */
export function listPlatformBudgets(queryable: Queryable): Promise<BudgetRow[]> {
  return queryable.query<BudgetRow>(
    `SELECT * FROM (
        SELECT 'enterprise' AS owner, id, id AS "enterpriseId", name, time_zone AS "timeZone",
          least(monthly_budget, platform_monthly_budget) AS money, monthly_tokens AS tokens, NULL::jsonb AS models
          FROM enterprises WHERE status = 'active'
        UNION ALL
        SELECT 'key', id, NULL, name, 'UTC', monthly_budget, monthly_tokens, NULL
          FROM entry_keys WHERE enterprise_id IS NULL AND status <> 'deleted'
      ) AS b WHERE b.money > 0 OR b.tokens > 0`,
  )
}

/** Returns the use of budgets by settled requests, by the names of the budgets. */
export async function sumUse(
  queryable: Queryable,
  budgets: readonly string[],
): Promise<ReadonlyMap<string, { readonly money: number; readonly tokens: number }>> {
  const rows = await queryable.query<{ budget: string; money: number; tokens: number }>(
    `SELECT budget, sum(cost_micro)::int8 AS money, sum(tokens)::int8 AS tokens FROM budget_use
      WHERE budget = ANY ($1::text[]) GROUP BY budget`,
    [budgets],
  )
  return new Map(rows.map(({ budget, money, tokens }) => [budget, { money: Number(money), tokens: Number(tokens) }]))
}

/** A wallet of a prepaid enterprise. Micro-units. */
export interface WalletRow {
  readonly enterpriseId: string
  readonly name: string
  readonly credited: number
  readonly charged: number
  /** The sum that was charged before the last credit. */
  readonly chargedBefore: number
}

/** @param enterpriseIds null: of all active enterprises */
export async function listWallets(queryable: Queryable, enterpriseIds: readonly string[] | null): Promise<WalletRow[]> {
  return queryable.query<WalletRow>(
    `SELECT e.id AS "enterpriseId", e.name, w.credited_micro AS credited, w.charged_micro AS charged,
        w.charged_before_micro AS "chargedBefore"
      FROM wallets w JOIN enterprises e ON e.id = w.enterprise_id
      WHERE e.is_prepaid AND e.status = 'active' AND ($1::text[] IS NULL OR e.id = ANY ($1)) AND w.credited_micro > 0`,
    [enterpriseIds],
  )
}

/** An entry key that is turned off, or has expired. */
export interface DisabledKeyRow {
  readonly id: string
  readonly name: string
  readonly reason: 'disabled' | 'expired'
}

const MOST_KEYS = 1_000

export function listDisabledKeys(queryable: Queryable, enterpriseId: string, now: Date): Promise<DisabledKeyRow[]> {
  return queryable.query<DisabledKeyRow>(
    `SELECT id, name, CASE status WHEN 'disabled' THEN 'disabled' ELSE 'expired' END AS reason FROM entry_keys
      WHERE enterprise_id = $1 AND status <> 'deleted' AND (status = 'disabled' OR expires_at <= $2)
      ORDER BY id LIMIT $3`,
    [enterpriseId, now, MOST_KEYS],
  )
}

/** Sums of an enterprise in an hour; '' stands for requests without an enterprise. Times are in microseconds. */
export interface UsageHour {
  readonly hourMs: number
  readonly enterpriseId: string
  readonly requests: number
  readonly errors: number
  readonly ttftUs: number
  readonly ttftCount: number
}

/** Sums of the hours since `from`. @param enterpriseIds null: of all requests */
export function listUsageHours(
  queryable: Queryable,
  from: Date,
  enterpriseIds: readonly string[] | null,
): Promise<UsageHour[]> {
  return queryable.query<UsageHour>(
    `SELECT (extract(epoch FROM hour) * 1000)::int8 AS "hourMs", enterprise_id AS "enterpriseId",
        sum(requests)::int8 AS requests,
        sum(CASE WHEN status = 0 OR status >= 400 THEN requests ELSE 0 END)::int8 AS errors, sum(ttft_us)::int8 AS "ttftUs",
        sum(ttft_count)::int8 AS "ttftCount"
      FROM request_rollup_hourly WHERE hour >= $1 AND ($2::text[] IS NULL OR enterprise_id = ANY ($2)) GROUP BY 1, 2`,
    [from, enterpriseIds],
  )
}
