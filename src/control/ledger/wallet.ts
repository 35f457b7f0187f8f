import type { Database, Queryable } from '../store/database.ts'
import { DatabaseError } from '../store/database.ts'

export type MovementKind = 'topup' | 'refund' | 'adjustment' | 'usage'

/** A requested movement of a wallet. */
export interface Movement {
  /** Names the movement for ever: a repeated movement is made once. */
  readonly id: string
  readonly enterpriseId: string
  readonly kind: Exclude<MovementKind, 'usage'>
  /** Micro-units into the wallet, or out of it when below 0. Never 0. */
  readonly amountMicro: bigint
  /** The reference of the payment, or the reason. */
  readonly reference: string | null
  /** The user who made the movement. */
  readonly actor: string | null
}

export interface Wallet {
  readonly currency: string
  readonly isPrepaid: boolean
  /** The sum of all payments, less refunds. */
  readonly creditedMicro: bigint
  /** The cost of all requests so far. */
  readonly chargedMicro: bigint
  readonly balanceMicro: bigint
}

export type MovementResult =
  | { readonly outcome: 'done' | 'repeated'; readonly wallet: Wallet }
  /** `conflict`: the id stands for another movement. `too-much`: JSON numbers could not tell the sum exactly. */
  | { readonly outcome: 'insufficient' | 'too-much' | 'conflict' | 'unknown-enterprise' }

export interface WalletTransaction {
  readonly id: string
  readonly kind: MovementKind
  /** Micro-units into the wallet, or out of it when below 0. */
  readonly amountMicro: bigint
  readonly reference: string | null
  readonly actor: string | null
  readonly at: Date
}

const UNIQUE_VIOLATION = '23505'
/** Micro-units. JSON numbers are exact up to here. */
const MAX_CREDITED = Number.MAX_SAFE_INTEGER

/**
 * Checks the balance and moves the money in one statement. The statement locks the wallet's row, so two movements cannot use the
 * same money. A movement out of the wallet never takes more than its balance; none credits it beyond `MAX_CREDITED`.
 */
const MOVE = `
  WITH wallet AS (
    INSERT INTO wallets AS w (enterprise_id, credited_micro)
    SELECT e.id, greatest($3::int8, 0) FROM enterprises e
    WHERE e.id = $2 AND ($3::int8 > 0 OR EXISTS (SELECT FROM wallets o WHERE o.enterprise_id = e.id))
    ON CONFLICT (enterprise_id) DO UPDATE SET credited_micro = w.credited_micro + $3::int8,
        charged_before_micro = CASE WHEN $3::int8 > 0 THEN w.charged_micro ELSE w.charged_before_micro END
      WHERE w.credited_micro + $3::int8 <= ${MAX_CREDITED} AND ($3::int8 > 0 OR w.credited_micro - w.charged_micro + $3::int8 >= 0)
    RETURNING enterprise_id
  )
  INSERT INTO ledger_transactions (id, enterprise_id, kind, from_account, to_account, amount_micro, reference, actor)
  SELECT $1, enterprise_id, $4,
    CASE WHEN $3::int8 > 0 THEN $5 ELSE 'wallet' END, CASE WHEN $3::int8 > 0 THEN 'wallet' ELSE $5 END,
    abs($3::int8), $6, $7
  FROM wallet RETURNING id`

/**
 * Tops a wallet up, refunds from it or adjusts it. A movement that was made before is not made again, also when two callers make
 * it at the same time.
 *
 * @note the wallet does not know the reservations of requests under way. A refund while they run can take the money that they
 * need, and the wallet is then below 0 until it is topped up.
 */
export async function moveWallet(database: Database, movement: Movement): Promise<MovementResult> {
  const { id, enterpriseId, kind, amountMicro, reference, actor } = movement
  if (amountMicro === 0n || (kind === 'topup' && amountMicro < 0n) || (kind === 'refund' && amountMicro > 0n)) {
    throw new RangeError(`a ${kind} cannot move ${amountMicro}`)
  }
  const other = kind === 'adjustment' ? 'adjustments' : 'payments'
  try {
    const values = [id, enterpriseId, amountMicro.toString(), kind, other, reference, actor]
    // A transaction (or savepoint) of its own lets the caller's transaction survive a refusal.
    const moved = await database.transaction((tx) => tx.query(MOVE, values))
    const wallet = await findWallet(database, enterpriseId)
    if (wallet === null) return { outcome: 'unknown-enterprise' }
    if (moved.length > 0) return { outcome: 'done', wallet }
    return await repeated(database, movement, wallet, amountMicro > 0n ? 'too-much' : 'insufficient')
  } catch (cause) {
    if (!(cause instanceof DatabaseError) || cause.sqlState !== UNIQUE_VIOLATION) throw cause
    const wallet = await findWallet(database, enterpriseId)
    return wallet === null ? { outcome: 'conflict' } : repeated(database, movement, wallet, 'conflict')
  }
}

async function repeated(
  queryable: Queryable,
  movement: Movement,
  wallet: Wallet,
  otherwise: 'insufficient' | 'too-much' | 'conflict',
): Promise<MovementResult> {
  const known = await transactionOf(queryable, movement.id)
  if (known === null) return { outcome: otherwise }
  const isSame =
    known.enterpriseId === movement.enterpriseId &&
    known.kind === movement.kind &&
    known.amountMicro === movement.amountMicro
  return isSame ? { outcome: 'repeated', wallet } : { outcome: 'conflict' }
}

/** Null when there is no such enterprise. */
export async function findWallet(queryable: Queryable, enterpriseId: string): Promise<Wallet | null> {
  const [row] = await queryable.query<{
    currency: string
    is_prepaid: boolean
    credited_micro: number | bigint
    charged_micro: number | bigint
  }>(
    `SELECT e.currency, e.is_prepaid, coalesce(w.credited_micro, 0) AS credited_micro,
        coalesce(w.charged_micro, 0) AS charged_micro
      FROM enterprises e LEFT JOIN wallets w ON w.enterprise_id = e.id WHERE e.id = $1`,
    [enterpriseId],
  )
  if (row === undefined) return null
  const creditedMicro = BigInt(row.credited_micro)
  const chargedMicro = BigInt(row.charged_micro)
  return {
    currency: row.currency,
    isPrepaid: row.is_prepaid,
    creditedMicro,
    chargedMicro,
    balanceMicro: creditedMicro - chargedMicro,
  }
}

interface TransactionRow {
  readonly id: string
  readonly enterprise_id: string
  readonly kind: MovementKind
  readonly to_account: string
  readonly amount_micro: number | bigint
  readonly reference: string | null
  readonly actor: string | null
  readonly at: Date
}

const SELECT = 'SELECT id, enterprise_id, kind, to_account, amount_micro, reference, actor, at FROM ledger_transactions'

/** Lists the newest first; `after` is the last transaction of the page before. */
export async function listWalletTransactions(
  queryable: Queryable,
  enterpriseId: string,
  page: {
    readonly limit: number
    readonly after: Pick<WalletTransaction, 'id' | 'at'> | null
    readonly offset?: number
  },
): Promise<WalletTransaction[]> {
  const { after, limit, offset = 0 } = page
  const rows = await queryable.query<TransactionRow>(
    `${SELECT} WHERE enterprise_id = $1 AND ($2::timestamptz IS NULL OR (at, id) < ($2, $3))
      ORDER BY at DESC, id DESC LIMIT $4 OFFSET $5`,
    [enterpriseId, after?.at ?? null, after?.id ?? null, limit, offset],
  )
  return rows.map(walletTransaction)
}

/** Counts the transactions, up to `most`. */
export async function countWalletTransactions(
  queryable: Queryable,
  enterpriseId: string,
  most: number,
): Promise<number> {
  const [counted] = await queryable.query<{ count: number }>(
    'SELECT count(*)::int4 AS count FROM (SELECT 1 FROM ledger_transactions WHERE enterprise_id = $1 LIMIT $2) AS counted',
    [enterpriseId, most],
  )
  return counted?.count ?? 0
}

async function transactionOf(
  queryable: Queryable,
  id: string,
): Promise<(WalletTransaction & { enterpriseId: string }) | null> {
  const [row] = await queryable.query<TransactionRow>(`${SELECT} WHERE id = $1`, [id])
  return row === undefined ? null : { ...walletTransaction(row), enterpriseId: row.enterprise_id }
}

function walletTransaction(row: TransactionRow): WalletTransaction {
  const amount = BigInt(row.amount_micro)
  return {
    id: row.id,
    kind: row.kind,
    amountMicro: row.to_account === 'wallet' ? amount : -amount,
    reference: row.reference,
    actor: row.actor,
    at: row.at,
  }
}
