import type { Queryable } from './database.ts'
import type { User } from './users.ts'

/** The state that decides whether a token is still valid. */
export interface SessionState {
  readonly role: User['role']
  readonly status: User['status']
  readonly generation: number
  readonly revoked: boolean
}

/** Null when there is no such user. */
export async function findSession(queryable: Queryable, userId: string, tokenId: string): Promise<SessionState | null> {
  const [row] = await queryable.query<SessionState>(
    `SELECT role, status, session_generation AS generation,
        EXISTS (SELECT FROM revoked_tokens WHERE id = $2) AS revoked
      FROM users WHERE id = $1`,
    [userId, tokenId],
  )
  return row ?? null
}

export async function generationOf(queryable: Queryable, userId: string): Promise<number> {
  const [row] = await queryable.query<{ generation: number }>(
    'SELECT session_generation AS generation FROM users WHERE id = $1',
    [userId],
  )
  return row?.generation ?? 0
}

/** Revokes a token, and deletes revoked tokens that have expired: they are invalid anyway. */
export async function revokeToken(queryable: Queryable, tokenId: string, expiresAt: Date): Promise<void> {
  await queryable.query('DELETE FROM revoked_tokens WHERE expires_at < now()')
  await queryable.query('INSERT INTO revoked_tokens (id, expires_at) VALUES ($1, $2) ON CONFLICT DO NOTHING', [
    tokenId,
    expiresAt,
  ])
}
