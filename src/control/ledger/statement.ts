import type { Queryable } from '../store/database.ts'
import type { MovementKind } from './wallet.ts'

/** Money is in micro-units: into the wallet, or out of it when below 0. */
interface Statement {
  readonly closing: number
  /** Of the whole month, by kind. */
  readonly sums: Readonly<Record<MovementKind, number>>
  /** The newest first. */
  readonly lines: readonly StatementLine[]
  /** Older lines that are not among them. */
  readonly omitted: number
}

interface StatementLine {
  /** Null: the usage of a day. */
  readonly id: string | null
  readonly kind: MovementKind
  readonly amount: number
  readonly reference: string | null
  readonly actor: string | null
  readonly at: Date
  /** The start of the day of usage, in Unix milliseconds; null for other movements. */
  readonly dayMs: number | null
}

interface LineRow extends Omit<StatementLine, 'kind' | 'at' | 'dayMs'> {
  readonly closing: number
  /** Null: the month has no line. */
  readonly kind: MovementKind | null
  readonly at: Date | null
  readonly day: number | null
  readonly count: number
  readonly topup: number | null
  readonly refund: number | null
  readonly adjustment: number | null
  readonly usage: number | null
}

const AMOUNT = `CASE WHEN to_account = 'wallet' THEN amount_micro ELSE -amount_micro END`

/**
 * The closing balance is that of the wallet less all later movements, so a statement agrees with the wallet in the same snapshot, and a
 * recent month reads little of the ledger. Later movements are only summed: usage is posted every second, and Postgres stores all of
 * `moved`. Usage is one line a day.
 */
const STATEMENT = `
  WITH moved AS (
    SELECT id, kind, ${AMOUNT} AS amount, reference, actor, at
    FROM ledger_transactions WHERE enterprise_id = $1 AND at >= $2 AND at < $3
  ), closing AS (
    SELECT (coalesce(w.credited_micro - w.charged_micro, 0)
      - coalesce((SELECT sum(${AMOUNT}) FROM ledger_transactions WHERE enterprise_id = $1 AND at >= $3), 0))::int8 AS closing
    FROM enterprises e LEFT JOIN wallets w ON w.enterprise_id = e.id WHERE e.id = $1
  ), lines AS (
    SELECT id, kind, amount, reference, actor, at, NULL::int4 AS day FROM moved WHERE kind <> 'usage'
    UNION ALL
    SELECT NULL, 'usage', sum(amount)::int8, NULL, NULL, max(at), day FROM (
      SELECT amount, at, width_bucket((extract(epoch FROM at) * 1000)::float8, $4::float8[]) AS day
      FROM moved WHERE kind = 'usage'
    ) AS used GROUP BY day
  ), summed AS (
    SELECT count(*)::int4 AS count, ${['topup', 'refund', 'adjustment', 'usage']
      .map((kind) => `(sum(amount) FILTER (WHERE kind = '${kind}'))::int8 AS ${kind}`)
      .join(', ')}
    FROM lines
  )
  SELECT c.closing, s.*, l.* FROM closing c CROSS JOIN summed s LEFT JOIN lines l ON true
  ORDER BY l.at DESC, l.id DESC NULLS FIRST LIMIT $5`

/**
 * The movements of a month. Null when there is no such enterprise.
 *
 * @param month its days by their starts, in Unix milliseconds, and its end
 */
export async function readStatement(
  queryable: Queryable,
  enterpriseId: string,
  month: { readonly days: readonly number[]; readonly endMs: number },
  mostLines: number,
): Promise<Statement | null> {
  const { days, endMs } = month
  const rows = await queryable.query<LineRow>(STATEMENT, [
    enterpriseId,
    new Date(days[0] ?? endMs),
    new Date(endMs),
    days,
    mostLines,
  ])
  const [first] = rows
  if (first === undefined) return null
  const lines = rows.flatMap(({ id, kind, amount, reference, actor, at, day }) =>
    kind === null || at === null
      ? []
      : [
          {
            id,
            kind,
            amount: Number(amount),
            reference,
            actor,
            at,
            dayMs: day === null ? null : (days[day - 1] ?? null),
          },
        ],
  )
  return {
    closing: Number(first.closing),
    sums: {
      topup: Number(first.topup ?? 0),
      refund: Number(first.refund ?? 0),
      adjustment: Number(first.adjustment ?? 0),
      usage: Number(first.usage ?? 0),
    },
    lines,
    omitted: first.count - lines.length,
  }
}
