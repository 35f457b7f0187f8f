import type { Queryable } from './database.ts'

/** A person at an OpenID provider. */
export interface Identity {
  readonly issuer: string
  readonly subject: string
}

/** Makes other log-ins of this person wait until the transaction ends. */
export async function lockIdentity(tx: Queryable, { issuer, subject }: Identity): Promise<void> {
  await tx.query('SELECT pg_advisory_xact_lock(hashtextextended($1, 0))', [
    JSON.stringify(['identity', issuer, subject]),
  ])
}

/** Returns the id of the user; null when there is none. Deleted users have no identities. */
export async function findIdentity(queryable: Queryable, { issuer, subject }: Identity): Promise<string | null> {
  const [row] = await queryable.query<{ userId: string }>(
    'SELECT user_id AS "userId" FROM user_identities WHERE issuer = $1 AND subject = $2',
    [issuer, subject],
  )
  return row?.userId ?? null
}

/** The user of a person who has an access token, and the generation of sessions in which the token was used first. */
export interface IdentityWithToken {
  readonly userId: string
  readonly generation: number
  /** False: this is the first use. */
  readonly wasUsed: boolean
}

/** Null when the person has no user. */
export async function findIdentityWithToken(
  queryable: Queryable,
  { issuer, subject }: Identity,
  tokenId: string,
): Promise<IdentityWithToken | null> {
  const [row] = await queryable.query<IdentityWithToken>(
    `SELECT u.id AS "userId", COALESCE(s.generation, u.session_generation) AS generation, s.id IS NOT NULL AS "wasUsed"
      FROM user_identities i JOIN users u ON u.id = i.user_id
      LEFT JOIN user_sessions s ON s.id = $3 AND s.user_id = u.id
      WHERE i.issuer = $1 AND i.subject = $2`,
    [issuer, subject, tokenId],
  )
  return row ?? null
}

export async function hasIdentityAt(queryable: Queryable, userId: string, issuer: string): Promise<boolean> {
  const rows = await queryable.query('SELECT FROM user_identities WHERE user_id = $1 AND issuer = $2 LIMIT 1', [
    userId,
    issuer,
  ])
  return rows.length > 0
}

export async function insertIdentity(queryable: Queryable, userId: string, identity: Identity): Promise<void> {
  await queryable.query('INSERT INTO user_identities (issuer, subject, user_id) VALUES ($1, $2, $3)', [
    identity.issuer,
    identity.subject,
    userId,
  ])
}

/** Counts the active platform admins. Others who call it before they take the role from somebody wait until the transaction ends. */
export async function countAdmins(tx: Queryable): Promise<number> {
  await tx.query('SELECT pg_advisory_xact_lock(hashtextextended($1, 0))', [JSON.stringify(['platform admins'])])
  const [row] = await tx.query<{ count: number }>(
    `SELECT count(*) AS count FROM users WHERE role = 'admin' AND status = 'active'`,
  )
  return row?.count ?? 0
}

export async function insertSignInCode(
  queryable: Queryable,
  code: { readonly digest: string; readonly userId: string; readonly expiresAt: Date },
): Promise<void> {
  await queryable.query('INSERT INTO sign_in_codes (digest, user_id, expires_at) VALUES ($1, $2, $3)', [
    code.digest,
    code.userId,
    code.expiresAt,
  ])
}

/** Uses the code up, and returns the id of its user. Only the first caller gets it; null when it is unknown, used or expired. */
export async function takeSignInCode(tx: Queryable, digest: string): Promise<string | null> {
  const [row] = await tx.query<{ userId: string }>(
    'DELETE FROM sign_in_codes WHERE digest = $1 AND expires_at > now() RETURNING user_id AS "userId"',
    [digest],
  )
  return row?.userId ?? null
}

/** Resolves to the number of deleted codes. */
export async function removeOldSignInCodes(queryable: Queryable): Promise<number> {
  const rows = await queryable.query('DELETE FROM sign_in_codes WHERE expires_at <= now() RETURNING digest')
  return rows.length
}
