import type { PreparedStatement, Queryable } from '../store/database.ts'

const POST: PreparedStatement = {
  name: 'ledger-post-usage',
  text: `WITH posted AS (
      INSERT INTO ledger_transactions (id, enterprise_id, kind, from_account, to_account, amount_micro)
      SELECT $1 || ':' || c.enterprise_id, c.enterprise_id, 'usage', 'wallet', 'usage', c.amount_micro
      FROM unnest($2::text[], $3::int8[]) AS c (enterprise_id, amount_micro)
      RETURNING enterprise_id, amount_micro
    )
    INSERT INTO wallets AS w (enterprise_id, charged_micro)
    SELECT enterprise_id, amount_micro FROM posted ORDER BY enterprise_id
    ON CONFLICT (enterprise_id) DO UPDATE SET charged_micro = w.charged_micro + excluded.charged_micro`,
}

/**
 * Posts the cost of a batch of requests, as one ledger transaction for each enterprise. Call it in the database transaction that
 * inserts their rows. Rejects with SQLSTATE 23505 when the batch has been posted before.
 */
export async function postUsage(
  queryable: Queryable,
  batch: string,
  costs: ReadonlyMap<string, number>,
): Promise<void> {
  const charged = [...costs].filter(([, costMicro]) => costMicro > 0)
  if (charged.length === 0) return
  // Sorted, so that nodes that charge the same wallets never deadlock.
  charged.sort(([a], [b]) => (a < b ? -1 : 1))
  await queryable.query(POST, [
    `usage:${batch}`,
    charged.map(([enterpriseId]) => enterpriseId),
    charged.map(([, costMicro]) => costMicro),
  ])
}
