import type { Queryable } from './database.ts'
import { containsPattern } from './text.ts'

export interface User {
  readonly id: string
  /** E.164. */
  readonly phone: string
  readonly name: string
  readonly passwordHash: string
  readonly role: 'admin' | 'user'
  readonly status: 'active' | 'disabled'
}

const FIELDS = 'id, phone, name, password_hash AS "passwordHash", role, status'

/** Rejects with SQLSTATE 23505 when the id or the phone is taken, 23514 when the phone is not E.164. */
export async function insertUser(queryable: Queryable, user: User): Promise<void> {
  await queryable.query(
    'INSERT INTO users (id, phone, name, password_hash, role, status) VALUES ($1, $2, $3, $4, $5, $6)',
    [user.id, user.phone, user.name, user.passwordHash, user.role, user.status],
  )
}

export async function findUserByPhone(queryable: Queryable, phone: string): Promise<User | null> {
  const [row] = await queryable.query<User>(`SELECT ${FIELDS} FROM users WHERE phone = $1`, [phone])
  return row ?? null
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
  readonly createdAt: Date
}

const LISTED = 'id, phone, name, role, status, created_at AS "createdAt"'

const MATCHING =
  'WHERE ($1::text IS NULL OR lower(name) LIKE lower($1) OR phone LIKE $1) AND ($2::text IS NULL OR status = $2)'

export async function listUsers(
  queryable: Queryable,
  filter: { readonly search?: string | undefined; readonly status?: User['status'] | undefined },
  page: { readonly offset: number; readonly limit: number },
): Promise<{ readonly users: ListedUser[]; readonly total: number }> {
  const pattern = filter.search === undefined ? null : containsPattern(filter.search)
  const parameters = [pattern, filter.status ?? null]
  const [counted] = await queryable.query<{ total: number }>(
    `SELECT count(*) AS total FROM users ${MATCHING}`,
    parameters,
  )
  const users = await queryable.query<ListedUser>(
    `SELECT ${LISTED} FROM users ${MATCHING} ORDER BY created_at DESC, id LIMIT $3 OFFSET $4`,
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
  readonly role?: User['role'] | undefined
  readonly status?: User['status'] | undefined
  readonly passwordHash?: string | undefined
}

/**
 * Changes the given fields; returns null when there is no such user. A new password, role or status ends all sessions of the user,
 * because their tokens are outdated.
 */
export async function updateUser(queryable: Queryable, id: string, change: UserChange): Promise<ListedUser | null> {
  const [row] = await queryable.query<ListedUser>(
    `UPDATE users SET name = coalesce($2, name), role = coalesce($3, role), status = coalesce($4, status),
        password_hash = coalesce($5, password_hash),
        session_generation = session_generation + CASE
          WHEN $5 IS NOT NULL OR coalesce($3, role) <> role OR coalesce($4, status) <> status THEN 1 ELSE 0 END
      WHERE id = $1 RETURNING ${LISTED}`,
    [id, change.name ?? null, change.role ?? null, change.status ?? null, change.passwordHash ?? null],
  )
  return row ?? null
}
