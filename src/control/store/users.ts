import { captureTenantOf, eraseTenantCaptures } from './captures.ts'
import type { Queryable } from './database.ts'
import { removeMember } from './members.ts'
import { containsPattern } from './text.ts'

export interface User {
  readonly id: string
  /** E.164; null for users whom an OpenID provider brought. */
  readonly phone: string | null
  readonly name: string
  /** Null: the user has no password. */
  readonly passwordHash: string | null
  readonly role: 'admin' | 'user'
  readonly status: 'active' | 'disabled' | 'deleted'
  readonly email: string | null
  /** Null: the user has not proven to own the address. */
  readonly emailVerifiedAt: Date | null
  /** Rises with each change of the password, the role or the status. Tokens and sessions of an earlier one are not valid. */
  readonly sessionGeneration: number
}

export type NewUser = Omit<User, 'email' | 'emailVerifiedAt' | 'sessionGeneration'> &
  Partial<Pick<User, 'email' | 'emailVerifiedAt'>>

const EMAIL = 'email, email_verified_at AS "emailVerifiedAt"'
const GENERATION = 'session_generation AS "sessionGeneration"'
const FIELDS = `id, phone, name, password_hash AS "passwordHash", role, status, ${EMAIL}, ${GENERATION}`

/** Rejects with SQLSTATE 23505 when the id, the phone or the e-mail address is taken, 23514 when the phone is not E.164. */
export async function insertUser(queryable: Queryable, user: NewUser): Promise<void> {
  await queryable.query(
    `INSERT INTO users (id, phone, name, password_hash, role, status, email, email_verified_at)
      VALUES ($1, $2, $3, $4, $5, $6, $7, $8)`,
    [
      user.id,
      user.phone,
      user.name,
      user.passwordHash,
      user.role,
      user.status,
      user.email ?? null,
      user.emailVerifiedAt ?? null,
    ],
  )
}

/** Leaves out deleted users: their numbers may be used again. */
export async function findUserByPhone(queryable: Queryable, phone: string): Promise<User | null> {
  const [row] = await queryable.query<User>(`SELECT ${FIELDS} FROM users WHERE phone = $1 AND status <> 'deleted'`, [
    phone,
  ])
  return row ?? null
}

const OF_VERIFIED_EMAIL = `FROM users
  WHERE lower(email) = lower($1) AND email_verified_at IS NOT NULL AND status <> 'deleted'`

/** Finds the user who has proven to own this address. */
export async function findUserByVerifiedEmail(queryable: Queryable, email: string): Promise<User | null> {
  const [row] = await queryable.query<User>(`SELECT ${FIELDS} ${OF_VERIFIED_EMAIL}`, [email])
  return row ?? null
}

/** As `findUserByVerifiedEmail`. Nothing else changes the user until the transaction ends. */
export async function lockUserByVerifiedEmail(tx: Queryable, email: string): Promise<User | null> {
  const [row] = await tx.query<User>(`SELECT ${FIELDS} ${OF_VERIFIED_EMAIL} FOR UPDATE`, [email])
  return row ?? null
}

/** Nothing else changes the user until the transaction ends. Null when there is no such user, or when it is deleted. */
export async function lockUser(tx: Queryable, id: string): Promise<User | null> {
  const [row] = await tx.query<User>(`SELECT ${FIELDS} FROM users WHERE id = $1 AND status <> 'deleted' FOR UPDATE`, [
    id,
  ])
  return row ?? null
}

/**
 * Takes an address away from users who have not proven to own it: somebody else has. Returns their ids. Call it before the user with the
 * proof gets the address.
 */
export async function releaseEmail(tx: Queryable, email: string, exceptId: string): Promise<string[]> {
  const rows = await tx.query<{ id: string }>(
    `UPDATE users SET email = NULL
      WHERE lower(email) = lower($1) AND id <> $2 AND email_verified_at IS NULL AND status <> 'deleted' RETURNING id`,
    [email, exceptId],
  )
  return rows.map(({ id }) => id)
}

/**
 * Gives the user an address that the user has proven to own. Returns false when there is no such user. Rejects with SQLSTATE 23505 when
 * another user has it.
 */
export async function setVerifiedEmail(tx: Queryable, id: string, email: string): Promise<boolean> {
  const rows = await tx.query(
    `UPDATE users SET email = $2, email_verified_at = now() WHERE id = $1 AND status <> 'deleted' RETURNING id`,
    [id, email],
  )
  return rows.length > 0
}

/** Fields that an account shows besides the row of its user. */
export interface SignInState {
  /** Whether log-ins need a one-time password. */
  readonly totp: boolean
  /** The address that the user is asked by mail to verify. */
  readonly pendingEmail: string | null
}

export async function findSignInState(queryable: Queryable, id: string): Promise<SignInState> {
  const [row] = await queryable.query<SignInState>(
    `SELECT EXISTS (SELECT FROM user_totp WHERE user_id = $1 AND confirmed_at IS NOT NULL) AS totp,
      (SELECT email FROM mailed_tokens WHERE user_id = $1 AND purpose = 'verify_email' AND expires_at > now()
        ORDER BY expires_at DESC LIMIT 1) AS "pendingEmail"`,
    [id],
  )
  return row ?? { totp: false, pendingEmail: null }
}

/** Lists the active platform admins, oldest first; ten at most. */
export async function listAdmins(queryable: Queryable): Promise<ListedUser[]> {
  return queryable.query<ListedUser>(
    `SELECT ${LISTED} FROM users WHERE role = 'admin' AND status = 'active' ORDER BY created_at, id LIMIT 10`,
  )
}

export async function countUsers(queryable: Queryable): Promise<number> {
  const [row] = await queryable.query<{ count: number }>('SELECT count(*) AS count FROM users')
  return row?.count ?? 0
}

/** A user as lists show it. */
export interface ListedUser extends Omit<User, 'passwordHash'> {
  readonly email: string | null
  readonly deletedAt: Date | null
  readonly createdAt: Date
}

const LISTED = `id, phone, name, role, status, ${EMAIL}, ${GENERATION},
  created_at AS "createdAt", deleted_at AS "deletedAt"`

const MATCHING = `WHERE ($1::text IS NULL OR lower(name) LIKE lower($1) OR phone LIKE $1 OR lower(email) LIKE lower($1))
  AND CASE WHEN $2::text IS NULL THEN status <> 'deleted' ELSE status = $2 END
  AND ($3::text IS NULL OR role = $3)`

/** Without a status, lists all users but the deleted ones. */
export async function listUsers(
  queryable: Queryable,
  filter: {
    readonly search?: string | undefined
    readonly status?: User['status'] | undefined
    readonly role?: User['role'] | undefined
  },
  page: { readonly offset: number; readonly limit: number },
): Promise<{ readonly users: ListedUser[]; readonly total: number }> {
  const pattern = filter.search === undefined ? null : containsPattern(filter.search)
  const parameters = [pattern, filter.status ?? null, filter.role ?? null]
  const [counted] = await queryable.query<{ total: number }>(
    `SELECT count(*) AS total FROM users ${MATCHING}`,
    parameters,
  )
  const users = await queryable.query<ListedUser>(
    `SELECT ${LISTED} FROM users ${MATCHING} ORDER BY created_at DESC, id LIMIT $4 OFFSET $5`,
    [...parameters, page.limit, page.offset],
  )
  return { users, total: counted?.total ?? 0 }
}

export async function findUser(queryable: Queryable, id: string): Promise<(ListedUser & User) | null> {
  const [row] = await queryable.query<ListedUser & User>(
    `SELECT ${LISTED}, password_hash AS "passwordHash" FROM users WHERE id = $1`,
    [id],
  )
  return row ?? null
}

export interface UserChange {
  readonly name?: string | undefined
  /** Null removes it. Another address is not verified. */
  readonly email?: string | null | undefined
  readonly role?: User['role'] | undefined
  readonly status?: 'active' | 'disabled' | undefined
  readonly passwordHash?: string | undefined
  /** Nothing changes when the user has another session generation by now. */
  readonly ifGeneration?: number | undefined
}

/**
 * Changes the given fields; returns null when there is no such user, when it is deleted, or by `ifGeneration`. Rejects with
 * SQLSTATE 23505 when the e-mail address is taken. A new password, role or status ends all sessions of the user,
 * because their tokens are outdated.
 */
export async function updateUser(queryable: Queryable, id: string, change: UserChange): Promise<ListedUser | null> {
  const [row] = await queryable.query<ListedUser>(
    `UPDATE users SET name = coalesce($2, name), role = coalesce($3, role), status = coalesce($4, status),
        password_hash = coalesce($5, password_hash),
        email = CASE WHEN $6::boolean THEN $7 ELSE email END,
        email_verified_at = CASE
          WHEN $6::boolean AND lower(email) IS DISTINCT FROM lower($7) THEN NULL ELSE email_verified_at END,
        session_generation = session_generation + CASE
          WHEN $5 IS NOT NULL OR coalesce($3, role) <> role OR coalesce($4, status) <> status THEN 1 ELSE 0 END
      WHERE id = $1 AND status <> 'deleted' AND ($8::int4 IS NULL OR session_generation = $8) RETURNING ${LISTED}`,
    [
      id,
      change.name ?? null,
      change.role ?? null,
      change.status ?? null,
      change.passwordHash ?? null,
      change.email !== undefined,
      change.email ?? null,
      change.ifGeneration ?? null,
    ],
  )
  return row ?? null
}

/**
 * Lists the enterprises whose only active owner is the user. Locks the enterprises that the user owns until the transaction ends, so that
 * no other owner can leave meanwhile. Leaves out deleted enterprises.
 */
export async function listOwnedAlone(tx: Queryable, userId: string): Promise<Array<{ id: string; name: string }>> {
  const owned = await tx.query<{ id: string; name: string }>(
    `SELECT e.id, e.name FROM enterprises e WHERE e.status <> 'deleted' AND EXISTS (
        SELECT FROM members m WHERE m.enterprise_id = e.id AND m.user_id = $1 AND m.role = 'owner' AND m.status = 'active')
      ORDER BY e.id FOR UPDATE`,
    [userId],
  )
  const shared = await tx.query<{ id: string }>(
    `SELECT DISTINCT enterprise_id AS id FROM members
      WHERE enterprise_id = ANY ($2::text[]) AND user_id <> $1 AND role = 'owner' AND status = 'active'`,
    [userId, owned.map(({ id }) => id)],
  )
  return owned.filter(({ id }) => !shared.some((other) => other.id === id))
}

/**
 * Deletes a user with the user's own keys, memberships, open join requests, grants to tool servers and means of log-in, and ends all
 * sessions. The row stays: the books and the log refer to it. Call it in a transaction. Returns false when there is no such user, or when
 * it is deleted already.
 */
export async function deleteUser(tx: Queryable, id: string): Promise<boolean> {
  const rows = await tx.query(
    `UPDATE users SET status = 'deleted', deleted_at = now(), password_hash = NULL, session_generation = session_generation + 1
      WHERE id = $1 AND status <> 'deleted' RETURNING id`,
    [id],
  )
  if (rows.length === 0) return false
  await tx.query(
    `WITH identities AS (DELETE FROM user_identities WHERE user_id = $1),
        codes AS (DELETE FROM sign_in_codes WHERE user_id = $1),
        consents AS (DELETE FROM tool_server_consents WHERE user_id = $1),
        grants AS (DELETE FROM tool_server_grants WHERE user_id = $1),
        tokens AS (DELETE FROM mailed_tokens WHERE user_id = $1)
      DELETE FROM user_totp WHERE user_id = $1`,
    [id],
  )
  await tx.query(
    `UPDATE entry_keys SET status = 'deleted', updated_at = now() WHERE user_id = $1 AND status <> 'deleted'`,
    [id],
  )
  await tx.query(
    `UPDATE join_requests SET status = 'cancelled', decided_by = $1 WHERE user_id = $1 AND status = 'pending'`,
    [id],
  )
  const memberships = await tx.query<{ id: string; enterpriseId: string }>(
    'SELECT id, enterprise_id AS "enterpriseId" FROM members WHERE user_id = $1 ORDER BY id',
    [id],
  )
  await eraseTenantCaptures(tx, captureTenantOf({ enterpriseId: null, userId: id }))
  for (const member of memberships) await removeMember(tx, member.enterpriseId, member.id)
  return true
}
