import type { Queryable } from './database.ts'

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

export async function countUsers(queryable: Queryable): Promise<number> {
  const [row] = await queryable.query<{ count: number }>('SELECT count(*) AS count FROM users')
  return row?.count ?? 0
}
