import type { PreparedStatement, Queryable } from './database.ts'

export interface BudgetCharge {
  readonly budget: string
  readonly writer: string
  readonly costMicro: number
  readonly tokens: number
}

const ADD: PreparedStatement = {
  name: 'budget-use-add',
  text: `INSERT INTO budget_use AS u (budget, writer, cost_micro, tokens)
    SELECT * FROM unnest($1::text[], $2::text[], $3::int8[], $4::int8[])
    ON CONFLICT (budget, writer)
    DO UPDATE SET cost_micro = u.cost_micro + excluded.cost_micro, tokens = u.tokens + excluded.tokens`,
}

/** Call it in the transaction that inserts the rows. Each pair of budget and writer may occur at most once. */
export async function addBudgetUse(queryable: Queryable, charges: readonly BudgetCharge[]): Promise<void> {
  if (charges.length === 0) return
  // All transactions lock the rows in sorted order, so that they do not deadlock.
  const sorted = charges.toSorted((a, b) => (a.budget + a.writer < b.budget + b.writer ? -1 : 1))
  await queryable.query(ADD, [
    sorted.map(({ budget }) => budget),
    sorted.map(({ writer }) => writer),
    sorted.map(({ costMicro }) => costMicro),
    sorted.map(({ tokens }) => tokens),
  ])
}

/** Returns the use of each budget, by writer. */
export function listBudgetUse(queryable: Queryable, budgets: readonly string[]): Promise<BudgetUseRow[]> {
  return queryable.query<BudgetUseRow>(
    'SELECT budget, writer, cost_micro, tokens FROM budget_use WHERE budget = ANY($1::text[])',
    [[...new Set(budgets)]],
  )
}

/** Micro-units that settled requests have cost, by budget. Budgets without use are left out. */
export async function sumBudgetUse(
  queryable: Queryable,
  budgets: readonly string[],
): Promise<ReadonlyMap<string, number>> {
  const rows = await queryable.query<{ budget: string; cost_micro: number }>(
    'SELECT budget, sum(cost_micro)::int8 AS cost_micro FROM budget_use WHERE budget = ANY($1::text[]) GROUP BY budget',
    [budgets],
  )
  return new Map(rows.map(({ budget, cost_micro: cost }) => [budget, cost]))
}

export interface BudgetUseRow {
  readonly budget: string
  readonly writer: string
  readonly cost_micro: number
  readonly tokens: number
}

/** Lists the writers of a node that are not closed. */
export async function listBudgetWriters(queryable: Queryable, node: string): Promise<string[]> {
  const rows = await queryable.query<{ writer: string }>(
    `SELECT DISTINCT writer FROM budget_use WHERE writer <> '' AND starts_with(writer, $1)`,
    [`${node}/`],
  )
  return rows.map(({ writer }) => writer)
}

/** Merges the use of a writer that has ended into the use without a writer. Returns the budgets that the writer used. */
export async function closeBudgetWriter(queryable: Queryable, writer: string): Promise<string[]> {
  const rows = await queryable.query<{ budget: string }>(
    `WITH closed AS (DELETE FROM budget_use WHERE writer = $1 RETURNING budget, cost_micro, tokens),
      merged AS (
        INSERT INTO budget_use AS u (budget, writer, cost_micro, tokens)
        SELECT budget, '', cost_micro, tokens FROM closed ORDER BY budget
        ON CONFLICT (budget, writer)
        DO UPDATE SET cost_micro = u.cost_micro + excluded.cost_micro, tokens = u.tokens + excluded.tokens)
      SELECT budget FROM closed`,
    [writer],
  )
  return rows.map(({ budget }) => budget)
}
