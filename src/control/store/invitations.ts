import type { EnterpriseRole } from '../../shared/api/roles.ts'
import type { Queryable } from './database.ts'

export interface Invitation {
  readonly id: string
  readonly enterpriseId: string
  /** Only the user with this e-mail address, or this phone number, can accept. One of both is null. */
  readonly email: string | null
  readonly phone: string | null
  readonly role: EnterpriseRole
  readonly departmentId: string | null
  readonly status: 'pending' | 'accepted' | 'expired' | 'cancelled'
  readonly expiresAt: Date
  readonly createdAt: Date
}

const FIELDS = `id, enterprise_id AS "enterpriseId", email, phone, role, department_id AS "departmentId",
  CASE WHEN status = 'pending' AND expires_at <= now() THEN 'expired' ELSE status END AS status,
  expires_at AS "expiresAt", created_at AS "createdAt"`

/** Rejects with SQLSTATE 23503 when there is no such department in the enterprise. */
export async function insertInvitation(
  queryable: Queryable,
  invitation: Omit<Invitation, 'status' | 'createdAt'> & { readonly tokenDigest: string; readonly invitedBy: string },
): Promise<Invitation> {
  const { id, enterpriseId, email, phone, role, departmentId, tokenDigest, invitedBy, expiresAt } = invitation
  const [row] = await queryable.query<Invitation>(
    `INSERT INTO invitations (id, enterprise_id, email, phone, role, department_id, token_digest, invited_by, expires_at)
      VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9) RETURNING ${FIELDS}`,
    [id, enterpriseId, email, phone, role, departmentId, tokenDigest, invitedBy, expiresAt],
  )
  if (row === undefined) throw new Error('the invitation was not inserted')
  return row
}

export async function listInvitations(
  queryable: Queryable,
  enterpriseId: string,
  page: { readonly offset: number; readonly limit: number },
): Promise<{ readonly invitations: Invitation[]; readonly total: number }> {
  const [counted] = await queryable.query<{ total: number }>(
    'SELECT count(*) AS total FROM invitations WHERE enterprise_id = $1',
    [enterpriseId],
  )
  const invitations = await queryable.query<Invitation>(
    `SELECT ${FIELDS} FROM invitations WHERE enterprise_id = $1 ORDER BY created_at DESC, id LIMIT $2 OFFSET $3`,
    [enterpriseId, page.limit, page.offset],
  )
  return { invitations, total: counted?.total ?? 0 }
}

/** Marks the invitation of the token as accepted. Only the first caller gets it; null when it is unknown, used, cancelled or expired. */
export async function takeInvitation(tx: Queryable, tokenDigest: string): Promise<Invitation | null> {
  const [row] = await tx.query<Invitation>(
    `UPDATE invitations SET status = 'accepted'
      WHERE token_digest = $1 AND status = 'pending' AND expires_at > now() RETURNING ${FIELDS}`,
    [tokenDigest],
  )
  return row ?? null
}

/** Gives an invitation that is open or expired another token; null when there is none. */
export async function renewInvitation(
  queryable: Queryable,
  enterpriseId: string,
  id: string,
  renewed: { readonly tokenDigest: string; readonly expiresAt: Date },
): Promise<Invitation | null> {
  const [row] = await queryable.query<Invitation>(
    `UPDATE invitations SET token_digest = $3, expires_at = $4
      WHERE enterprise_id = $1 AND id = $2 AND status = 'pending' RETURNING ${FIELDS}`,
    [enterpriseId, id, renewed.tokenDigest, renewed.expiresAt],
  )
  return row ?? null
}

/** Returns false when there is no open invitation. */
export async function cancelInvitation(queryable: Queryable, enterpriseId: string, id: string): Promise<boolean> {
  const rows = await queryable.query(
    `UPDATE invitations SET status = 'cancelled'
      WHERE enterprise_id = $1 AND id = $2 AND status = 'pending' RETURNING id`,
    [enterpriseId, id],
  )
  return rows.length > 0
}

export interface JoinRequest {
  readonly id: string
  readonly userId: string
  readonly userName: string
  readonly phone: string | null
  readonly message: string | null
  readonly status: 'pending' | 'approved' | 'rejected' | 'cancelled'
  /** The reason of the rejection. */
  readonly reason: string | null
  readonly createdAt: Date
}

const SELECT_REQUEST = `SELECT r.id, r.user_id AS "userId", u.name AS "userName", u.phone, r.message, r.status, r.reason,
    r.created_at AS "createdAt"
  FROM join_requests r JOIN users u ON u.id = r.user_id`

/** Rejects with SQLSTATE 23505 when the user has an open request already. */
export async function insertJoinRequest(
  queryable: Queryable,
  request: {
    readonly id: string
    readonly enterpriseId: string
    readonly userId: string
    readonly message: string | null
  },
): Promise<void> {
  await queryable.query('INSERT INTO join_requests (id, enterprise_id, user_id, message) VALUES ($1, $2, $3, $4)', [
    request.id,
    request.enterpriseId,
    request.userId,
    request.message,
  ])
}

export async function findJoinRequest(
  queryable: Queryable,
  enterpriseId: string,
  id: string,
): Promise<JoinRequest | null> {
  const [row] = await queryable.query<JoinRequest>(`${SELECT_REQUEST} WHERE r.enterprise_id = $1 AND r.id = $2`, [
    enterpriseId,
    id,
  ])
  return row ?? null
}

export async function listJoinRequests(
  queryable: Queryable,
  enterpriseId: string,
  status: JoinRequest['status'] | null,
  page: { readonly offset: number; readonly limit: number },
): Promise<{ readonly requests: JoinRequest[]; readonly total: number }> {
  const [counted] = await queryable.query<{ total: number }>(
    'SELECT count(*) AS total FROM join_requests WHERE enterprise_id = $1 AND ($2::text IS NULL OR status = $2)',
    [enterpriseId, status],
  )
  const requests = await queryable.query<JoinRequest>(
    `${SELECT_REQUEST} WHERE r.enterprise_id = $1 AND ($2::text IS NULL OR r.status = $2)
      ORDER BY r.created_at DESC, r.id LIMIT $3 OFFSET $4`,
    [enterpriseId, status, page.limit, page.offset],
  )
  return { requests, total: counted?.total ?? 0 }
}

export interface OwnJoinRequest extends Omit<JoinRequest, 'userId' | 'userName' | 'phone'> {
  readonly enterpriseId: string
  readonly enterpriseName: string
}

export async function listJoinRequestsOf(
  queryable: Queryable,
  userId: string,
  page: { readonly offset: number; readonly limit: number },
): Promise<{ readonly requests: OwnJoinRequest[]; readonly total: number }> {
  const [counted] = await queryable.query<{ total: number }>(
    'SELECT count(*) AS total FROM join_requests WHERE user_id = $1',
    [userId],
  )
  const requests = await queryable.query<OwnJoinRequest>(
    `SELECT r.id, e.id AS "enterpriseId", e.name AS "enterpriseName", r.message, r.status, r.reason,
        r.created_at AS "createdAt"
      FROM join_requests r JOIN enterprises e ON e.id = r.enterprise_id
      WHERE r.user_id = $1 ORDER BY r.created_at DESC, r.id LIMIT $2 OFFSET $3`,
    [userId, page.limit, page.offset],
  )
  return { requests, total: counted?.total ?? 0 }
}

/** Closes an open request; returns false when there is none. `decision.userId`: the user who made the request; null: any user. */
export async function decideJoinRequest(
  queryable: Queryable,
  enterpriseId: string,
  id: string,
  decision: {
    readonly status: 'approved' | 'rejected' | 'cancelled'
    readonly by: string
    readonly userId: string | null
    readonly reason?: string | null
  },
): Promise<boolean> {
  const rows = await queryable.query(
    `UPDATE join_requests SET status = $3, decided_by = $4, reason = $6
      WHERE enterprise_id = $1 AND id = $2 AND status = 'pending' AND ($5::text IS NULL OR user_id = $5) RETURNING id`,
    [enterpriseId, id, decision.status, decision.by, decision.userId, decision.reason ?? null],
  )
  return rows.length > 0
}
