import type { Queryable } from './database.ts'

export type MailedPurpose = 'reset_password' | 'verify_email'

/** A token that was mailed. Only its digest is stored. */
export interface MailedToken {
  readonly userId: string
  /** The address that it was mailed to. */
  readonly email: string
}

/** The most open tokens of a user for one purpose. */
const MAX_OPEN = 3

/** Returns false, and stores nothing, when the user has three open tokens of this purpose already. */
export async function insertMailedToken(
  queryable: Queryable,
  token: MailedToken & { readonly digest: string; readonly purpose: MailedPurpose; readonly expiresAt: Date },
): Promise<boolean> {
  const rows = await queryable.query(
    `INSERT INTO mailed_tokens (digest, user_id, purpose, email, expires_at)
      SELECT $1, $2, $3, $4, $5::timestamptz
      WHERE (SELECT count(*) FROM mailed_tokens WHERE user_id = $2 AND purpose = $3 AND expires_at > now()) < $6
      RETURNING digest`,
    [token.digest, token.userId, token.purpose, token.email, token.expiresAt, MAX_OPEN],
  )
  return rows.length > 0
}

/** Null when the token is unknown, used or expired. */
export async function findMailedToken(
  queryable: Queryable,
  digest: string,
  purpose: MailedPurpose,
): Promise<MailedToken | null> {
  const [row] = await queryable.query<MailedToken>(
    `SELECT user_id AS "userId", email FROM mailed_tokens WHERE digest = $1 AND purpose = $2 AND expires_at > now()`,
    [digest, purpose],
  )
  return row ?? null
}

/** Uses the token up. Only the first caller gets it. */
export async function takeMailedToken(
  queryable: Queryable,
  digest: string,
  purpose: MailedPurpose,
): Promise<MailedToken | null> {
  const [row] = await queryable.query<MailedToken>(
    `DELETE FROM mailed_tokens WHERE digest = $1 AND purpose = $2 AND expires_at > now()
      RETURNING user_id AS "userId", email`,
    [digest, purpose],
  )
  return row ?? null
}

/** Makes all tokens of a user invalid, or those of one purpose. */
export async function dropMailedTokens(
  queryable: Queryable,
  userId: string,
  purpose: MailedPurpose | null,
): Promise<void> {
  await queryable.query('DELETE FROM mailed_tokens WHERE user_id = $1 AND ($2::text IS NULL OR purpose = $2)', [
    userId,
    purpose,
  ])
}

/** Resolves to the number of deleted tokens. */
export async function removeOldMailedTokens(queryable: Queryable): Promise<number> {
  const rows = await queryable.query('DELETE FROM mailed_tokens WHERE expires_at <= now() RETURNING digest')
  return rows.length
}
