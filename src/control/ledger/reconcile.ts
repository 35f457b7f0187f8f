import type { Database, Queryable } from '../store/database.ts'

/** The spend of an enterprise in four books, in micro-units. All four must be equal. */
export interface EnterpriseBooks {
  readonly enterpriseId: string
  /** The spend in the request log, as its hourly sums have it. */
  readonly log: bigint
  readonly ledger: bigint
  readonly wallet: bigint
  readonly budgets: bigint
}

export interface Drift {
  readonly what: string
  readonly of: string
  readonly left: bigint
  readonly right: bigint
}

export interface Reconciliation {
  readonly enterprises: readonly EnterpriseBooks[]
  readonly drifts: readonly Drift[]
}

/** Sums the spend of each enterprise in each book. The log counts by its hourly sums, which outlive its rows. */
const BOOKS = `
  SELECT enterprise_id, sum(log)::text AS log, sum(ledger)::text AS ledger, sum(wallet)::text AS wallet,
    sum(budgets)::text AS budgets
  FROM (
    SELECT enterprise_id, cost_micro AS log, 0 AS ledger, 0 AS wallet, 0 AS budgets FROM request_rollup_hourly
      WHERE enterprise_id <> ''
    UNION ALL SELECT enterprise_id, 0, amount_micro, 0, 0 FROM ledger_entries WHERE account = 'usage'
    UNION ALL SELECT enterprise_id, 0, 0, charged_micro, 0 FROM wallets
    UNION ALL SELECT substr(budget, 8), 0, 0, 0, cost_micro FROM budget_use WHERE starts_with(budget, 'wallet:')
  ) AS books GROUP BY enterprise_id ORDER BY enterprise_id`

/** Each check finds differences between two books; `of` names the item. */
const CHECKS: ReadonlyArray<readonly [what: string, sql: string]> = [
  [
    'cost of an hour: rows of the log, hourly sum',
    `SELECT concat_ws(' ', to_char(hour AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI'), enterprise_id) AS of,
        coalesce(l.cost, 0)::text AS left, coalesce(r.cost, 0)::text AS right
      FROM (
        SELECT date_trunc('hour', at, 'UTC') AS hour, coalesce(enterprise_id, '') AS enterprise_id, sum(cost_micro) AS cost
        FROM request_log GROUP BY 1, 2
      ) AS l FULL JOIN (
        SELECT date_trunc('hour', hour, 'UTC') AS hour, enterprise_id, sum(cost_micro) AS cost FROM request_rollup_hourly
        WHERE to_regclass('request_log_' || to_char(hour AT TIME ZONE 'UTC', 'YYYYMMDD')) IS NOT NULL GROUP BY 1, 2
      ) AS r USING (hour, enterprise_id)
      WHERE l.cost IS DISTINCT FROM r.cost ORDER BY 1`,
  ],
  [
    'spent by an enterprise: log, ledger',
    `SELECT enterprise_id AS of, coalesce(l.cost, 0)::text AS left, coalesce(u.cost, 0)::text AS right
      FROM (
        SELECT enterprise_id, sum(cost_micro) AS cost FROM request_rollup_hourly WHERE enterprise_id <> '' GROUP BY 1
      ) AS l FULL JOIN (
        SELECT enterprise_id, sum(amount_micro) AS cost FROM ledger_entries WHERE account = 'usage' GROUP BY 1
      ) AS u USING (enterprise_id)
      WHERE coalesce(l.cost, 0) <> coalesce(u.cost, 0) ORDER BY 1`,
  ],
  [
    'balance of a wallet: ledger, wallet',
    `SELECT enterprise_id AS of, coalesce(e.amount, 0)::text AS left,
        (coalesce(credited_micro, 0) - coalesce(charged_micro, 0))::text AS right
      FROM (
        SELECT enterprise_id, sum(amount_micro) AS amount FROM ledger_entries WHERE account = 'wallet' GROUP BY 1
      ) AS e FULL JOIN wallets AS w USING (enterprise_id)
      WHERE coalesce(e.amount, 0) <> coalesce(credited_micro, 0) - coalesce(charged_micro, 0) ORDER BY 1`,
  ],
  [
    'charged to a wallet: wallet, budgets',
    `SELECT enterprise_id AS of, coalesce(charged_micro, 0)::text AS left, coalesce(b.cost, 0)::text AS right
      FROM wallets AS w FULL JOIN (
        SELECT substr(budget, 8) AS enterprise_id, sum(cost_micro) AS cost FROM budget_use
        WHERE starts_with(budget, 'wallet:') GROUP BY 1
      ) AS b USING (enterprise_id)
      WHERE coalesce(charged_micro, 0) <> coalesce(b.cost, 0) ORDER BY 1`,
  ],
  [
    'spent by a key: log, budgets',
    `SELECT key_id AS of, coalesce(l.cost, 0)::text AS left, coalesce(b.cost, 0)::text AS right
      FROM (
        SELECT key_id, sum(cost_micro) AS cost FROM request_rollup_hourly WHERE key_id <> '' GROUP BY 1
      ) AS l FULL JOIN (
        SELECT substr(regexp_replace(budget, ':[0-9]+-[0-9]+$', ''), 5) AS key_id, sum(cost_micro) AS cost FROM budget_use
        WHERE starts_with(budget, 'key:') GROUP BY 1
      ) AS b USING (key_id)
      WHERE coalesce(l.cost, 0) <> coalesce(b.cost, 0) ORDER BY 1`,
  ],
  [
    'entries of a transaction: their sum, nothing',
    `SELECT transaction_id AS of, sum(amount_micro)::text AS left, '0' AS right FROM ledger_entries
      GROUP BY transaction_id HAVING sum(amount_micro) <> 0 OR count(*) <> 2 ORDER BY 1`,
  ],
]

/** The number of calls of `onCheck`. */
export const CHECK_COUNT = CHECKS.length

/** Compares all books of money at one moment; the settler may continue meanwhile. */
export function reconcile(database: Database, onCheck: () => void = () => undefined): Promise<Reconciliation> {
  return database.transaction(async (tx) => {
    await tx.script('SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY')
    return { enterprises: await booksOf(tx), drifts: await driftsOf(tx, onCheck) }
  })
}

async function booksOf(queryable: Queryable): Promise<EnterpriseBooks[]> {
  const rows = await queryable.query<Record<'enterprise_id' | 'log' | 'ledger' | 'wallet' | 'budgets', string>>(BOOKS)
  return rows.map((row) => ({
    enterpriseId: row.enterprise_id,
    log: BigInt(row.log),
    ledger: BigInt(row.ledger),
    wallet: BigInt(row.wallet),
    budgets: BigInt(row.budgets),
  }))
}

async function driftsOf(queryable: Queryable, onCheck: () => void): Promise<Drift[]> {
  const drifts: Drift[] = []
  for (const [what, sql] of CHECKS) {
    const rows = await queryable.query<Record<'of' | 'left' | 'right', string>>(sql)
    for (const row of rows) drifts.push({ what, of: row.of, left: BigInt(row.left), right: BigInt(row.right) })
    onCheck()
  }
  return drifts
}
