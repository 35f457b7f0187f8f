import type { Queryable } from './database.ts'

export interface StoredTotp {
  /** Sealed for the user's id. */
  readonly secret: Buffer
  /** False until the user has proven to have the secret. */
  readonly confirmed: boolean
}

/** Null when the user has none. */
export async function findTotp(queryable: Queryable, userId: string): Promise<StoredTotp | null> {
  const [row] = await queryable.query<StoredTotp>(
    'SELECT secret, confirmed_at IS NOT NULL AS confirmed FROM user_totp WHERE user_id = $1',
    [userId],
  )
  return row ?? null
}

/** Stores a secret that is to be confirmed. Returns false when the user has a confirmed one. */
export async function putTotp(queryable: Queryable, userId: string, secret: Buffer): Promise<boolean> {
  const rows = await queryable.query(
    `INSERT INTO user_totp (user_id, secret) VALUES ($1, $2)
      ON CONFLICT (user_id) DO UPDATE SET secret = excluded.secret, last_step = NULL
        WHERE user_totp.confirmed_at IS NULL
      RETURNING user_id`,
    [userId, secret],
  )
  return rows.length > 0
}

/** Confirms the secret. Returns false when it is not there any more, or confirmed already. */
export async function confirmTotp(tx: Queryable, userId: string, secret: Buffer): Promise<boolean> {
  const rows = await tx.query(
    `UPDATE user_totp SET confirmed_at = now() WHERE user_id = $1 AND secret = $2 AND confirmed_at IS NULL
      RETURNING user_id`,
    [userId, secret],
  )
  return rows.length > 0
}

/** Replaces the recovery codes. Returns false when the user has no confirmed secret. Call it in a transaction. */
export async function putRecoveryCodes(
  tx: Queryable,
  userId: string,
  recoveryDigests: readonly string[],
): Promise<boolean> {
  const rows = await tx.query('SELECT FROM user_totp WHERE user_id = $1 AND confirmed_at IS NOT NULL FOR UPDATE', [
    userId,
  ])
  if (rows.length === 0) return false
  await tx.query('DELETE FROM user_recovery_codes WHERE user_id = $1', [userId])
  await tx.query('INSERT INTO user_recovery_codes (user_id, digest) SELECT $1, unnest($2::text[])', [
    userId,
    recoveryDigests,
  ])
  return true
}

const IS_OVER = 'wrong_since <= now() - make_interval(secs => $2::float8)'

/**
 * Counts a guess before it is checked, so that guesses at the same time, at whatever machine, count too. Returns 0 when it is allowed,
 * otherwise the seconds until the next one is.
 */
export async function countTotpGuess(
  queryable: Queryable,
  userId: string,
  limit: { readonly guesses: number; readonly perSeconds: number },
): Promise<number> {
  const counted = await queryable.query(
    `UPDATE user_totp SET
        wrong_codes = CASE WHEN ${IS_OVER} THEN 1 ELSE wrong_codes + 1 END,
        wrong_since = CASE WHEN ${IS_OVER} THEN now() ELSE wrong_since END
      WHERE user_id = $1 AND (${IS_OVER} OR wrong_codes < $3) RETURNING user_id`,
    [userId, limit.perSeconds, limit.guesses],
  )
  if (counted.length > 0) return 0
  const [row] = await queryable.query<{ wait: number }>(
    `SELECT extract(epoch FROM wrong_since - now())::float8 + $2::float8 AS wait FROM user_totp WHERE user_id = $1`,
    [userId, limit.perSeconds],
  )
  return Math.max(1, row?.wait ?? 1)
}

/** Takes a guess back that was right. */
export async function forgiveTotpGuess(queryable: Queryable, userId: string): Promise<void> {
  await queryable.query('UPDATE user_totp SET wrong_codes = greatest(wrong_codes - 1, 0) WHERE user_id = $1', [userId])
}

/** Uses the code of a time step up. Returns false when it, or a later one, was used. */
export async function takeTotpStep(queryable: Queryable, userId: string, step: number): Promise<boolean> {
  const rows = await queryable.query(
    `UPDATE user_totp SET last_step = $2::int8 WHERE user_id = $1 AND (last_step IS NULL OR last_step < $2)
      RETURNING user_id`,
    [userId, step],
  )
  return rows.length > 0
}

/** Uses a recovery code up. Returns false when it is unknown or used. */
export async function takeRecoveryCode(queryable: Queryable, userId: string, digest: string): Promise<boolean> {
  const rows = await queryable.query(
    'DELETE FROM user_recovery_codes WHERE user_id = $1 AND digest = $2 RETURNING user_id',
    [userId, digest],
  )
  return rows.length > 0
}

/** Removes the secret with its recovery codes. Returns false when the user has none. */
export async function removeTotp(queryable: Queryable, userId: string): Promise<boolean> {
  const rows = await queryable.query('DELETE FROM user_totp WHERE user_id = $1 RETURNING user_id', [userId])
  return rows.length > 0
}
