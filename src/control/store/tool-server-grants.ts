import type { Seal } from '../../shared/runtime/seal.ts'
import type { Queryable } from './database.ts'
import { storableText } from './text.ts'

/** Names the key under which grants, consents and clients of tool servers are sealed. */
export const TOOL_GRANT_SEAL = 'tool server grants'

/** Consents of one user that wait for the browser. */
const MAX_CONSENTS = 20

interface Owner {
  readonly userId: string
  readonly serverId: string
}

/** The grant of a user to a server, without its secrets. */
export interface GrantRow {
  readonly serverId: string
  readonly scope: string | null
  readonly createdAt: Date
}

/** A grant with its secrets, and the version that a change of it must name. */
export interface SealedGrant<Secrets> {
  readonly secrets: Secrets
  readonly version: number
}

export function listGrants(queryable: Queryable, userId: string): Promise<GrantRow[]> {
  return queryable.query<GrantRow>(
    `SELECT server_id AS "serverId", scope, created_at AS "createdAt" FROM tool_server_grants
      WHERE user_id = $1 ORDER BY server_id COLLATE "C"`,
    [userId],
  )
}

/** Null: the user has none, or it was sealed with another secret. */
export async function findGrant<Secrets>(
  queryable: Queryable,
  seal: Seal,
  { userId, serverId }: Owner,
): Promise<SealedGrant<Secrets> | null> {
  const [row] = await queryable.query<{ sealed: Buffer; version: number }>(
    'SELECT sealed, version FROM tool_server_grants WHERE user_id = $1 AND server_id = $2',
    [userId, storableText(serverId)],
  )
  const secrets = row === undefined ? null : opened<Secrets>(seal, row.sealed, grantContext(userId, serverId))
  return row === undefined || secrets === null ? null : { secrets, version: row.version }
}

/** Keeps the grant of a user, in place of an earlier one. Returns false when the user is not active any more. */
export async function putGrant(
  queryable: Queryable,
  seal: Seal,
  { userId, serverId, secrets, scope }: Owner & { readonly secrets: object; readonly scope: string | null },
): Promise<boolean> {
  const rows = await queryable.query(
    `INSERT INTO tool_server_grants AS g (user_id, server_id, sealed, scope)
      SELECT id, $2::text, $3::bytea, $4::text FROM users WHERE id = $1 AND status = 'active'
      ON CONFLICT (user_id, server_id) DO UPDATE SET sealed = excluded.sealed, scope = excluded.scope,
        version = g.version + 1, renewing_until = NULL, created_at = clock_timestamp()
      RETURNING server_id`,
    [userId, serverId, sealed(seal, secrets, grantContext(userId, serverId)), scope],
  )
  return rows.length > 0
}

/** Takes the right to renew the token of a grant for some time. Returns false when another process has it, or has renewed it. */
export async function claimRenewal(
  queryable: Queryable,
  { userId, serverId }: Owner,
  version: number,
  leaseMs: number,
): Promise<boolean> {
  const rows = await queryable.query(
    `UPDATE tool_server_grants SET renewing_until = now() + $4 * interval '1 millisecond'
      WHERE user_id = $1 AND server_id = $2 AND version = $3 AND (renewing_until IS NULL OR renewing_until < now())
      RETURNING version`,
    [userId, serverId, version, leaseMs],
  )
  return rows.length > 0
}

/** Keeps a renewed token. Does nothing when the grant was deleted or replaced meanwhile. */
export async function renewGrant(
  queryable: Queryable,
  seal: Seal,
  { userId, serverId, secrets }: Owner & { readonly secrets: object },
  version: number,
): Promise<void> {
  await queryable.query(
    `UPDATE tool_server_grants SET sealed = $4, version = version + 1, renewing_until = NULL
      WHERE user_id = $1 AND server_id = $2 AND version = $3`,
    [userId, serverId, version, sealed(seal, secrets, grantContext(userId, serverId))],
  )
}

/** Gives the right to renew back. */
export async function releaseRenewal(
  queryable: Queryable,
  { userId, serverId }: Owner,
  version: number,
): Promise<void> {
  await queryable.query(
    'UPDATE tool_server_grants SET renewing_until = NULL WHERE user_id = $1 AND server_id = $2 AND version = $3',
    [userId, serverId, version],
  )
}

/** Deletes the grant of a user. @param version only this one. Returns false when there is none. */
export async function deleteGrant(
  queryable: Queryable,
  { userId, serverId }: Owner,
  version: number | null = null,
): Promise<boolean> {
  const rows = await queryable.query(
    `DELETE FROM tool_server_grants WHERE user_id = $1 AND server_id = $2 AND ($3::int8 IS NULL OR version = $3)
      RETURNING server_id`,
    [userId, storableText(serverId), version],
  )
  return rows.length > 0
}

/** Deletes all that users, and the gateway itself, were granted at a server. */
export async function deleteGrantsOfServer(queryable: Queryable, serverId: string): Promise<void> {
  await queryable.query(
    `WITH grants AS (DELETE FROM tool_server_grants WHERE server_id = $1),
        consents AS (DELETE FROM tool_server_consents WHERE server_id = $1)
      DELETE FROM tool_server_clients WHERE server_id = $1`,
    [serverId],
  )
}

/** A consent that waits for the browser to come back. */
export interface Consent extends Owner {
  readonly digest: string
  /** The session of the user that began it. */
  readonly sessionId: string
}

/** Keeps a consent. The oldest ones of the user make room. */
export async function insertConsent(
  queryable: Queryable,
  seal: Seal,
  {
    digest,
    userId,
    sessionId,
    serverId,
    secrets,
    lifeMs,
  }: Consent & { readonly secrets: object; readonly lifeMs: number },
): Promise<void> {
  await queryable.query(
    `DELETE FROM tool_server_consents WHERE user_id = $1 AND digest NOT IN (
        SELECT digest FROM tool_server_consents WHERE user_id = $1 ORDER BY expires_at DESC LIMIT $2)`,
    [userId, MAX_CONSENTS - 1],
  )
  await queryable.query(
    `INSERT INTO tool_server_consents (digest, user_id, session_id, server_id, sealed, expires_at)
      VALUES ($1, $2, $3, $4, $5, now() + $6 * interval '1 millisecond')`,
    [digest, userId, sessionId, serverId, sealed(seal, secrets, consentContext(digest)), lifeMs],
  )
}

/** Uses a consent up. Null: it is unknown, used, expired, or of another session; then nothing changes. */
export async function takeConsent<Secrets>(
  queryable: Queryable,
  seal: Seal,
  { digest, userId, sessionId }: Omit<Consent, 'serverId'>,
): Promise<{ readonly serverId: string; readonly secrets: Secrets } | null> {
  const [row] = await queryable.query<{ serverId: string; sealed: Buffer }>(
    `DELETE FROM tool_server_consents WHERE digest = $1 AND user_id = $2 AND session_id = $3 AND expires_at > now()
      RETURNING server_id AS "serverId", sealed`,
    [digest, userId, sessionId],
  )
  const secrets = row === undefined ? null : opened<Secrets>(seal, row.sealed, consentContext(digest))
  return row === undefined || secrets === null ? null : { serverId: row.serverId, secrets }
}

export async function removeOldConsents(queryable: Queryable): Promise<void> {
  await queryable.query('DELETE FROM tool_server_consents WHERE expires_at <= now()')
}

/** The place where a client of the gateway is registered. */
export interface ClientPlace {
  readonly serverId: string
  readonly issuer: string
  readonly redirectUrl: string
}

/** The client that the gateway has registered; null: none. */
export async function findOAuthClient<Client>(
  queryable: Queryable,
  seal: Seal,
  place: ClientPlace,
): Promise<Client | null> {
  const [row] = await queryable.query<{ sealed: Buffer }>(
    'SELECT sealed FROM tool_server_clients WHERE server_id = $1 AND issuer = $2 AND redirect_url = $3',
    [place.serverId, place.issuer, place.redirectUrl],
  )
  return row === undefined ? null : opened<Client>(seal, row.sealed, clientContext(place))
}

export async function putOAuthClient(
  queryable: Queryable,
  seal: Seal,
  place: ClientPlace,
  client: object,
): Promise<void> {
  await queryable.query(
    `INSERT INTO tool_server_clients (server_id, issuer, redirect_url, sealed) VALUES ($1, $2, $3, $4)
      ON CONFLICT (server_id, issuer, redirect_url) DO UPDATE SET sealed = excluded.sealed`,
    [place.serverId, place.issuer, place.redirectUrl, sealed(seal, client, clientContext(place))],
  )
}

/** Forgets a client that its authorization server does not know any more. One that was registered since stays. */
export async function forgetOAuthClient(
  queryable: Queryable,
  seal: Seal,
  { serverId, issuer }: Omit<ClientPlace, 'redirectUrl'>,
  clientId: string,
): Promise<void> {
  const rows = await queryable.query<{ redirectUrl: string; sealed: Buffer }>(
    'SELECT redirect_url AS "redirectUrl", sealed FROM tool_server_clients WHERE server_id = $1 AND issuer = $2',
    [serverId, issuer],
  )
  for (const { redirectUrl, sealed: bytes } of rows) {
    const client = opened<{ readonly client_id: string }>(seal, bytes, clientContext({ serverId, issuer, redirectUrl }))
    if (client?.client_id !== clientId) continue
    await queryable.query(
      'DELETE FROM tool_server_clients WHERE server_id = $1 AND issuer = $2 AND redirect_url = $3 AND sealed = $4',
      [serverId, issuer, redirectUrl, bytes],
    )
  }
}

function sealed(seal: Seal, value: object, context: Buffer): Buffer {
  return seal.seal(Buffer.from(JSON.stringify(value)), context)
}

function opened<Value>(seal: Seal, bytes: Buffer, context: Buffer): Value | null {
  const text = seal.open(bytes, context)
  return text === null ? null : (JSON.parse(text.toString('utf8')) as Value)
}

function grantContext(userId: string, serverId: string): Buffer {
  return Buffer.from(JSON.stringify(['grant', userId, serverId]))
}

function consentContext(digest: string): Buffer {
  return Buffer.from(JSON.stringify(['consent', digest]))
}

function clientContext({ serverId, issuer, redirectUrl }: ClientPlace): Buffer {
  return Buffer.from(JSON.stringify(['client', serverId, issuer, redirectUrl]))
}
