import type { Queryable } from './database.ts'
import { storableText } from './text.ts'
import type { User } from './users.ts'

/** The state that decides whether a token is still valid. */
export interface SessionState {
  readonly role: User['role']
  readonly status: User['status']
  readonly generation: number
  readonly revoked: boolean
  /** Null when the session is in no list yet: its token was issued by an earlier version. */
  readonly lastUsedAt: Date | null
}

/** A session as its user sees it. Its id is that of the token. */
export interface UserSession {
  readonly id: string
  readonly userAgent: string
  readonly address: string
  readonly createdAt: Date
  readonly lastUsedAt: Date
  readonly expiresAt: Date
}

/** The most sessions of a user; a further log-in ends the one that was not used for the longest time. */
export const MAX_SESSIONS = 100
const MAX_USER_AGENT = 300

const FIELDS = `s.id, s.user_agent AS "userAgent", s.address, s.created_at AS "createdAt", s.last_used_at AS "lastUsedAt",
  s.expires_at AS "expiresAt"`
const LIVE = `s.expires_at > now() AND s.generation = u.session_generation
  AND NOT EXISTS (SELECT FROM revoked_tokens r WHERE r.id = s.id)`

/** Null when there is no such user. */
export async function findSession(queryable: Queryable, userId: string, tokenId: string): Promise<SessionState | null> {
  const [row] = await queryable.query<SessionState>(
    `SELECT u.role, u.status, u.session_generation AS generation,
        EXISTS (SELECT FROM revoked_tokens WHERE id = $2) AS revoked, s.last_used_at AS "lastUsedAt"
      FROM users u LEFT JOIN user_sessions s ON s.id = $2 AND s.user_id = u.id
      WHERE u.id = $1`,
    [userId, tokenId],
  )
  return row ?? null
}

/** Those of the sessions that have not ended, by the id of their token. */
export async function liveTokens(
  queryable: Queryable,
  sessions: ReadonlyArray<{ readonly userId: string; readonly tokenId: string; readonly generation: number }>,
): Promise<Set<string>> {
  const rows = await queryable.query<{ id: string }>(
    `SELECT s.id FROM unnest($1::text[], $2::text[], $3::int4[]) AS s (user_id, id, generation)
      JOIN users u ON u.id = s.user_id AND u.status = 'active' AND u.session_generation = s.generation
      WHERE NOT EXISTS (SELECT FROM revoked_tokens r WHERE r.id = s.id)`,
    [
      sessions.map(({ userId }) => userId),
      sessions.map(({ tokenId }) => tokenId),
      sessions.map(({ generation }) => generation),
    ],
  )
  return new Set(rows.map(({ id }) => id))
}

export interface SessionUse {
  readonly id: string
  readonly userId: string
  readonly generation: number
  readonly userAgent: string
  readonly address: string
  readonly issuedAt: Date
  readonly expiresAt: Date
}

/** Inserts the session, or notes its use. A revoked session stays as it is. */
export async function noteSession(queryable: Queryable, use: SessionUse): Promise<void> {
  await queryable.query(
    `INSERT INTO user_sessions (id, user_id, generation, user_agent, address, created_at, last_used_at, expires_at)
      SELECT $1, $2, $3::int4, $4, $5, $6::timestamptz, now(), $7::timestamptz
      WHERE NOT EXISTS (SELECT FROM revoked_tokens WHERE id = $1)
      ON CONFLICT (id) DO UPDATE SET last_used_at = now(), user_agent = excluded.user_agent, address = excluded.address
        WHERE user_sessions.user_id = excluded.user_id`,
    [
      use.id,
      use.userId,
      use.generation,
      storableText(use.userAgent.slice(0, MAX_USER_AGENT)),
      use.address,
      use.issuedAt,
      use.expiresAt,
    ],
  )
}

/**
 * Ends the sessions of the user above `MAX_SESSIONS`, and deletes those that had ended by their time or by a new generation. The latter
 * stay revoked: an access token of a provider does not tell its generation.
 */
export async function boundSessions(queryable: Queryable, userId: string): Promise<void> {
  await queryable.query(
    `WITH ended AS (
        DELETE FROM user_sessions s USING users u
          WHERE u.id = $1 AND s.user_id = u.id AND (s.generation <> u.session_generation OR s.expires_at <= now())
          RETURNING s.id, s.expires_at
      ), surplus AS (
        DELETE FROM user_sessions WHERE id IN (
          SELECT s.id FROM user_sessions s JOIN users u ON u.id = s.user_id AND u.session_generation = s.generation
            WHERE s.user_id = $1 AND s.expires_at > now() ORDER BY s.last_used_at DESC, s.id OFFSET ${MAX_SESSIONS}
        ) RETURNING id, expires_at
      )
      INSERT INTO revoked_tokens (id, expires_at)
        SELECT id, expires_at FROM ended UNION ALL SELECT id, expires_at FROM surplus ON CONFLICT DO NOTHING`,
    [userId],
  )
}

const LIVE_OF_USER = `FROM user_sessions s JOIN users u ON u.id = s.user_id WHERE s.user_id = $1 AND ${LIVE}`

export async function listSessions(
  queryable: Queryable,
  userId: string,
  page: { readonly offset: number; readonly limit: number },
): Promise<{ readonly sessions: UserSession[]; readonly total: number }> {
  const [counted] = await queryable.query<{ total: number }>(`SELECT count(*) AS total ${LIVE_OF_USER}`, [userId])
  const sessions = await queryable.query<UserSession>(
    `SELECT ${FIELDS} ${LIVE_OF_USER} ORDER BY s.last_used_at DESC, s.id LIMIT $2 OFFSET $3`,
    [userId, page.limit, page.offset],
  )
  return { sessions, total: counted?.total ?? 0 }
}

/** Ends a session of the user. Returns false when the user has no such session. */
export async function endSession(queryable: Queryable, userId: string, id: string): Promise<boolean> {
  const [ended] = await queryable.query<{ expiresAt: Date }>(
    `DELETE FROM user_sessions s USING users u
      WHERE s.user_id = $1 AND s.id = $2 AND u.id = s.user_id AND ${LIVE} RETURNING s.expires_at AS "expiresAt"`,
    [userId, id],
  )
  if (ended === undefined) return false
  await revokeToken(queryable, id, ended.expiresAt)
  return true
}

/** Revokes a token, and deletes revoked tokens that have expired: they are invalid anyway. */
export async function revokeToken(queryable: Queryable, tokenId: string, expiresAt: Date): Promise<void> {
  await queryable.query('DELETE FROM revoked_tokens WHERE expires_at < now()')
  await queryable.query('INSERT INTO revoked_tokens (id, expires_at) VALUES ($1, $2) ON CONFLICT DO NOTHING', [
    tokenId,
    expiresAt,
  ])
  await queryable.query('DELETE FROM user_sessions WHERE id = $1', [tokenId])
}

/** Resolves to the number of deleted sessions. */
export async function removeOldSessions(queryable: Queryable): Promise<number> {
  const rows = await queryable.query('DELETE FROM user_sessions WHERE expires_at <= now() RETURNING id')
  return rows.length
}
