import type { CaptureSettings } from '../../shared/core/capture.ts'
import { firstRequestIdOf } from '../../shared/core/request-id.ts'
import type { Database, Queryable } from './database.ts'

/** The owner of captured bodies: an enterprise, a user for keys of their own, or the platform. */
export function captureTenantOf(owner: {
  readonly enterpriseId: string | null
  readonly userId: string | null
}): string {
  const { enterpriseId, userId } = owner
  if (enterpriseId !== null) return `e:${enterpriseId}`
  return userId === null ? 'p' : `u:${userId}`
}

export type CapturePart = 'request' | 'answer'

/** A captured body as it is stored. */
export interface StoredCapture {
  readonly requestId: string
  readonly part: CapturePart
  readonly keyId: number
  readonly digest: Uint8Array
  readonly sealed: Uint8Array
  /** Bytes of the whole body. */
  readonly size: number
  readonly truncated: boolean
  readonly complete: boolean
  readonly redactions: number
  readonly expiresAt: Date
}

export interface ReadCapture extends StoredCapture {
  readonly tenant: string
  readonly dataKey: Buffer
  readonly digest: Buffer
  readonly sealed: Buffer
}

/** The settings of keys that are in use, and those of their enterprises. */
export interface KeySettings {
  readonly keyId: string
  readonly own: CaptureSettings | null
  readonly enterprise: CaptureSettings | null
}

export function listCaptureSettings(queryable: Queryable, keyIds: readonly string[]): Promise<KeySettings[]> {
  return queryable.query<KeySettings>(
    `SELECT k.id AS "keyId", k.capture AS own, e.capture AS enterprise
      FROM entry_keys k LEFT JOIN enterprises e ON e.id = k.enterprise_id
      WHERE k.id = ANY ($1::text[]) AND coalesce(e.status, 'active') <> 'deleted'`,
    [keyIds],
  )
}

export interface DataKeyRow {
  readonly id: number
  readonly sealed: Buffer
}

/** Lists the data keys of a tenant that are not erased, the newest first. */
export function listDataKeys(queryable: Queryable, tenant: string): Promise<DataKeyRow[]> {
  return queryable.query<DataKeyRow>(
    'SELECT id, sealed FROM capture_keys WHERE tenant = $1 AND sealed IS NOT NULL ORDER BY id DESC',
    [tenant],
  )
}

const ENTERPRISE_STATUS = 'SELECT status FROM enterprises WHERE id = $1 FOR SHARE'
const USER_STATUS = 'SELECT status FROM users WHERE id = $1 FOR SHARE'

/** Makes others who would insert a data key of the tenant wait. Returns false when the tenant is deleted. Call it in a transaction. */
export async function lockCaptureTenant(tx: Queryable, tenant: string): Promise<boolean> {
  const statement = tenant.startsWith('e:') ? ENTERPRISE_STATUS : USER_STATUS
  if (tenant !== 'p') {
    const [row] = await tx.query<{ status: string }>(statement, [tenant.slice(2)])
    if (row?.status === 'deleted') return false
  }
  await tx.query('SELECT pg_advisory_xact_lock(hashtextextended($1, 0))', [JSON.stringify(['capture key', tenant])])
  return true
}

export async function insertDataKey(tx: Queryable, tenant: string, sealed: Buffer): Promise<number> {
  const [row] = await tx.query<{ id: number }>(
    'INSERT INTO capture_keys (tenant, sealed) VALUES ($1, $2) RETURNING id',
    [tenant, sealed],
  )
  return row?.id ?? 0
}

/** Returns those of the data keys that are not erased; they stay so until the transaction ends. */
export async function holdDataKeys(tx: Queryable, ids: readonly number[]): Promise<ReadonlySet<number>> {
  const rows = await tx.query<{ id: number }>(
    'SELECT id FROM capture_keys WHERE id = ANY ($1::int8[]) AND sealed IS NOT NULL ORDER BY id FOR SHARE',
    [ids],
  )
  return new Set(rows.map(({ id }) => id))
}

/** Stores a body, once for each content. Does nothing when the capture is there already. */
export async function insertCapture(tx: Queryable, capture: StoredCapture): Promise<void> {
  await tx.query(
    `WITH added AS (
        INSERT INTO captures (request_id, part, key_id, digest, size, truncated, complete, redactions, expires_at)
        VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9) ON CONFLICT DO NOTHING RETURNING key_id, digest
      )
      INSERT INTO captured_bodies (key_id, digest, sealed, uses) SELECT key_id, digest, $10, 1 FROM added
      ON CONFLICT (key_id, digest) DO UPDATE SET uses = captured_bodies.uses + 1`,
    [
      capture.requestId,
      capture.part,
      capture.keyId,
      Buffer.from(capture.digest),
      capture.size,
      capture.truncated,
      capture.complete,
      capture.redactions,
      capture.expiresAt,
      Buffer.from(capture.sealed),
    ],
  )
}

/** A request, with the tenant that its captures must have. */
export interface CapturedRequest {
  readonly id: string
  readonly tenant: string
}

const SOUGHT = `FROM unnest($1::text[], $2::text[]) AS sought (id, tenant)
  JOIN captures c ON c.request_id = sought.id
  JOIN capture_keys k ON k.id = c.key_id AND k.tenant = sought.tenant AND k.sealed IS NOT NULL`
const CURRENT = 'WHERE c.expires_at > now()'

/** Returns the ids of those of the requests of which bodies are stored. */
export async function listCaptured(
  queryable: Queryable,
  requests: readonly CapturedRequest[],
): Promise<ReadonlySet<string>> {
  if (requests.length === 0) return new Set()
  const rows = await queryable.query<{ id: string }>(
    `SELECT DISTINCT c.request_id AS id ${SOUGHT} ${CURRENT}`,
    sought(requests),
  )
  return new Set(rows.map(({ id }) => id))
}

/** Lists the stored bodies of the requests. */
export function listCaptures(queryable: Queryable, requests: readonly CapturedRequest[]): Promise<ReadCapture[]> {
  return queryable.query<ReadCapture>(
    `SELECT c.request_id AS "requestId", c.part, k.tenant, k.id AS "keyId", k.sealed AS "dataKey", c.digest, b.sealed, c.size,
        c.truncated, c.complete, c.redactions, c.expires_at AS "expiresAt"
      ${SOUGHT} JOIN captured_bodies b ON b.key_id = c.key_id AND b.digest = c.digest ${CURRENT}`,
    sought(requests),
  )
}

/** Erases the bodies of one request. Returns how many there were. Call it in a transaction. */
export async function eraseCaptures(tx: Queryable, { id, tenant }: CapturedRequest): Promise<number> {
  const gone = await tx.query<Body>(
    `DELETE FROM captures c USING capture_keys k
      WHERE c.request_id = $1 AND k.id = c.key_id AND k.tenant = $2 RETURNING c.key_id AS "keyId", c.digest`,
    [id, tenant],
  )
  await release(tx, gone)
  return gone.length
}

/** Makes all bodies of a tenant unreadable. `removeErased` then deletes their rows. */
export async function eraseTenantCaptures(tx: Queryable, tenant: string): Promise<void> {
  await tx.query('UPDATE capture_keys SET sealed = NULL WHERE tenant = $1 AND sealed IS NOT NULL', [tenant])
  await tx.query(
    `INSERT INTO capture_erasures (tenant, at) VALUES ($1, clock_timestamp())
      ON CONFLICT (tenant) DO UPDATE SET at = excluded.at`,
    [tenant],
  )
}

/** The last erasure of all bodies of each tenant, in Unix milliseconds. Tenants without a recent erasure are left out. */
export async function listErasures(
  queryable: Queryable,
  tenants: readonly string[],
): Promise<ReadonlyMap<string, number>> {
  const rows = await queryable.query<{ tenant: string; at: Date }>(
    'SELECT tenant, at FROM capture_erasures WHERE tenant = ANY ($1::text[])',
    [tenants],
  )
  return new Map(rows.map(({ tenant, at }) => [tenant, at.getTime()]))
}

/** Captures are not on their way for a day. */
export async function removeOldErasures(queryable: Queryable): Promise<void> {
  await queryable.query(`DELETE FROM capture_erasures WHERE at < now() - interval '1 day'`)
}

/** Deletes up to `most` captures that have expired, with their bodies. Returns how many. */
export function removeExpiredCaptures(database: Database, most: number): Promise<number> {
  return remove(database, `${CHOSEN} expires_at <= now() ORDER BY expires_at LIMIT $1 ${REMOVED}`, [most])
}

/** Deletes up to `most` captures of requests from before this time, with their bodies. Returns how many. */
export function removeCapturesBefore(database: Database, atMs: number, most: number): Promise<number> {
  // The first condition can use the index. Some collations sort ids otherwise than by time: the second one keeps younger captures.
  const older = `${CHOSEN} request_id < $2 AND request_id COLLATE "C" < $2 ORDER BY request_id LIMIT $1 ${REMOVED}`
  return remove(database, older, [most, firstRequestIdOf(atMs)])
}

const CHOSEN = 'DELETE FROM captures WHERE (request_id, part) IN (SELECT request_id, part FROM captures WHERE'
const REMOVED = 'FOR UPDATE SKIP LOCKED) RETURNING key_id AS "keyId", digest'

function remove(database: Database, statement: string, parameters: readonly unknown[]): Promise<number> {
  return database.transaction(async (tx) => {
    const gone = await tx.query<Body>(statement, parameters)
    await release(tx, gone)
    return gone.length
  })
}

/** Deletes up to `most` rows of erased tenants of each table. Returns how many. */
export async function removeErased(database: Database, most: number): Promise<number> {
  const [key] = await database.query<{ id: number }>(
    'SELECT id FROM capture_keys WHERE sealed IS NULL ORDER BY id LIMIT 1',
  )
  if (key === undefined) return 0
  const captures = await database.query(
    `DELETE FROM captures WHERE (request_id, part) IN (SELECT request_id, part FROM captures WHERE key_id = $1 LIMIT $2)
      RETURNING key_id`,
    [key.id, most],
  )
  const bodies = await database.query(
    `DELETE FROM captured_bodies WHERE key_id = $1
        AND digest IN (SELECT digest FROM captured_bodies WHERE key_id = $1 LIMIT $2) RETURNING key_id`,
    [key.id, most],
  )
  if (captures.length === 0 && bodies.length === 0)
    await database.query('DELETE FROM capture_keys WHERE id = $1', [key.id])
  return captures.length + bodies.length + 1
}

/** Gives the space of deleted bodies back to new ones. Postgres does that by itself. */
export async function reuseCaptureSpace(database: Database): Promise<void> {
  if (database.kind === 'pglite') await database.script('VACUUM captures, captured_bodies')
}

interface Body {
  readonly keyId: number
  readonly digest: Buffer
}

/** Counts one use less for each of the bodies, and deletes those without any. */
async function release(tx: Queryable, bodies: readonly Body[]): Promise<void> {
  if (bodies.length === 0) return
  const columns = columnsOf(bodies)
  await tx.query(
    `UPDATE captured_bodies b SET uses = b.uses - gone.uses
      FROM (SELECT key_id, digest, count(*)::int4 AS uses FROM ${GIVEN_BODIES} GROUP BY key_id, digest) AS gone
      WHERE b.key_id = gone.key_id AND b.digest = gone.digest`,
    columns,
  )
  await tx.query(
    `DELETE FROM captured_bodies b USING ${GIVEN_BODIES} WHERE b.key_id = given.key_id AND b.digest = given.digest AND b.uses <= 0`,
    columns,
  )
}

const GIVEN_BODIES = 'unnest($1::int8[], $2::bytea[]) AS given (key_id, digest)'

function columnsOf(bodies: readonly Body[]): [number[], Buffer[]] {
  return [bodies.map(({ keyId }) => keyId), bodies.map(({ digest }) => digest)]
}

function sought(requests: readonly CapturedRequest[]): [string[], string[]] {
  return [requests.map(({ id }) => id), requests.map(({ tenant }) => tenant)]
}
