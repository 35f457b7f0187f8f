import type { Queryable } from './database.ts'
import { lockStored } from './upstreams.ts'

/** The statement that locks the row of a resource, by the prefix of its id. */
const LOCK_ROW = {
  alert: 'SELECT FROM alerts WHERE id = $1 FOR UPDATE',
  dep: 'SELECT FROM departments WHERE id = $1 FOR UPDATE',
  ent: 'SELECT FROM enterprises WHERE id = $1 FOR UPDATE',
  inv: 'SELECT FROM invitations WHERE id = $1 FOR UPDATE',
  join: 'SELECT FROM join_requests WHERE id = $1 FOR UPDATE',
  key: 'SELECT FROM entry_keys WHERE id = $1 FOR UPDATE',
  member: 'SELECT FROM members WHERE id = $1 FOR UPDATE',
  user: 'SELECT FROM users WHERE id = $1 FOR UPDATE',
} as const

/** Resources that the configuration can contain as well. Admins choose their ids, and all are locked together. */
const CONFIGURED_PATH = /^\/v1\/admin\/(upstreams|models|model-groups)\//

/**
 * Locks a resource until the caller's transaction ends: other transactions that change it wait. For a resource without its own row,
 * only transactions that take this lock wait.
 */
export async function lockResource(tx: Queryable, path: string, id: string): Promise<void> {
  if (CONFIGURED_PATH.test(path)) return lockStored(tx)
  await tx.query('SELECT pg_advisory_xact_lock(hashtextextended($1, 0))', [JSON.stringify(['resource', id])])
  const [prefix = ''] = id.split('_', 1)
  if (Object.hasOwn(LOCK_ROW, prefix)) await tx.query(LOCK_ROW[prefix as keyof typeof LOCK_ROW], [id])
}
