import type { Queryable } from './database.ts'
import { lockStored } from './upstreams.ts'

/** By what the ids of things begin with: where they are. */
const LOCK_ROW = {
  dep: 'SELECT FROM departments WHERE id = $1 FOR UPDATE',
  ent: 'SELECT FROM enterprises WHERE id = $1 FOR UPDATE',
  inv: 'SELECT FROM invitations WHERE id = $1 FOR UPDATE',
  join: 'SELECT FROM join_requests WHERE id = $1 FOR UPDATE',
  key: 'SELECT FROM entry_keys WHERE id = $1 FOR UPDATE',
  member: 'SELECT FROM members WHERE id = $1 FOR UPDATE',
  user: 'SELECT FROM users WHERE id = $1 FOR UPDATE',
} as const

/** What may be in the configuration as well: its ids are chosen by admins, and it is locked as a whole. */
const CONFIGURED_PATH = /^\/v1\/admin\/(upstreams|models)\//

/**
 * Keeps a thing to the caller's transaction until it ends: whoever changes it waits. Of things that have no row of their own,
 * only those wait who take this lock as well.
 */
export async function lockResource(tx: Queryable, path: string, id: string): Promise<void> {
  if (CONFIGURED_PATH.test(path)) return lockStored(tx)
  await tx.query('SELECT pg_advisory_xact_lock(hashtextextended($1, 0))', [JSON.stringify(['resource', id])])
  const [prefix = ''] = id.split('_', 1)
  if (Object.hasOwn(LOCK_ROW, prefix)) await tx.query(LOCK_ROW[prefix as keyof typeof LOCK_ROW], [id])
}
