import type { Queryable } from './database.ts'

/** The owner of keys. It is required everywhere, so that no statement forgets the tenant. */
export type KeyOwner =
  { readonly kind: 'user'; readonly userId: string } | { readonly kind: 'enterprise'; readonly enterpriseId: string }

/** A key as its owner sees it. */
export interface OwnedKey {
  readonly id: string
  readonly name: string
  readonly masked: string
  readonly status: 'enabled' | 'disabled'
  readonly departmentId: string | null
  readonly memberId: string | null
  readonly rpm: number | null
  readonly tpm: number | null
  readonly maxConcurrency: number | null
  readonly models: string[] | null
  readonly addresses: string[] | null
  readonly clients: string[] | null
  readonly monthlyBudget: number | null
  readonly monthlyTokens: number | null
  readonly expiresAt: Date | null
  readonly createdAt: Date
  readonly updatedAt: Date
}

/** In each field, undefined keeps the value, and null removes it. */
export interface KeyChange {
  readonly name?: string | undefined
  readonly rpm?: number | null | undefined
  readonly tpm?: number | null | undefined
  readonly maxConcurrency?: number | null | undefined
  readonly models?: readonly string[] | null | undefined
  readonly addresses?: readonly string[] | null | undefined
  readonly clients?: readonly string[] | null | undefined
  readonly expiresAt?: Date | null | undefined
  readonly monthlyBudget?: number | null | undefined
  readonly monthlyTokens?: number | null | undefined
  readonly departmentId?: string | null | undefined
  readonly memberId?: string | null | undefined
}

const FIELDS = `id, name, masked, status, department_id AS "departmentId", member_id AS "memberId", rpm, tpm,
  max_concurrency AS "maxConcurrency", models, ip_allow AS addresses, client_allow AS clients,
  monthly_budget AS "monthlyBudget", monthly_tokens AS "monthlyTokens", expires_at AS "expiresAt",
  created_at AS "createdAt", updated_at AS "updatedAt"`

/** A condition for statements whose first two parameters come from `ownerParameters`. */
const OWNED = `((user_id = $1 AND enterprise_id IS NULL) OR enterprise_id = $2) AND status <> 'deleted'`
const THIS_ONE = `${OWNED} AND id = $3`

export async function listOwnedKeys(
  queryable: Queryable,
  owner: KeyOwner,
  page: { readonly offset: number; readonly limit: number },
): Promise<{ readonly keys: OwnedKey[]; readonly total: number }> {
  const owned = ownerParameters(owner)
  const [counted] = await queryable.query<{ total: number }>(
    `SELECT count(*) AS total FROM entry_keys WHERE ${OWNED}`,
    owned,
  )
  const keys = await queryable.query<OwnedKey>(
    `SELECT ${FIELDS} FROM entry_keys WHERE ${OWNED} ORDER BY created_at DESC, id LIMIT $3 OFFSET $4`,
    [...owned, page.limit, page.offset],
  )
  return { keys, total: counted?.total ?? 0 }
}

/** Returns null when the owner has no such key, as the functions below do. */
export async function findOwnedKey(queryable: Queryable, owner: KeyOwner, keyId: string): Promise<OwnedKey | null> {
  const [row] = await queryable.query<OwnedKey>(`SELECT ${FIELDS} FROM entry_keys WHERE ${THIS_ONE}`, [
    ...ownerParameters(owner),
    keyId,
  ])
  return row ?? null
}

export async function changeOwnedKey(
  queryable: Queryable,
  owner: KeyOwner,
  keyId: string,
  change: KeyChange,
): Promise<OwnedKey | null> {
  const given = Object.entries(change).flatMap(([field, value]) => (value === undefined ? [] : [field]))
  const { name, rpm, tpm, maxConcurrency, models, addresses, clients, expiresAt } = change
  const { monthlyBudget, monthlyTokens, departmentId, memberId } = change
  const [row] = await queryable.query<OwnedKey>(
    `UPDATE entry_keys SET updated_at = now(), name = coalesce($5, name),
        rpm = CASE WHEN 'rpm' = ANY ($4::text[]) THEN $6::int4 ELSE rpm END,
        tpm = CASE WHEN 'tpm' = ANY ($4) THEN $7::int8 ELSE tpm END,
        max_concurrency = CASE WHEN 'maxConcurrency' = ANY ($4) THEN $8::int4 ELSE max_concurrency END,
        models = CASE WHEN 'models' = ANY ($4) THEN $9::text[] ELSE models END,
        ip_allow = CASE WHEN 'addresses' = ANY ($4) THEN $10::text[] ELSE ip_allow END,
        client_allow = CASE WHEN 'clients' = ANY ($4) THEN $11::text[] ELSE client_allow END,
        expires_at = CASE WHEN 'expiresAt' = ANY ($4) THEN $12::timestamptz ELSE expires_at END,
        monthly_budget = CASE WHEN 'monthlyBudget' = ANY ($4) THEN $13::int8 ELSE monthly_budget END,
        monthly_tokens = CASE WHEN 'monthlyTokens' = ANY ($4) THEN $14::int8 ELSE monthly_tokens END,
        department_id = CASE WHEN 'departmentId' = ANY ($4) THEN $15 ELSE department_id END,
        member_id = CASE WHEN 'memberId' = ANY ($4) THEN $16 ELSE member_id END
      WHERE ${THIS_ONE} RETURNING ${FIELDS}`,
    [
      ...ownerParameters(owner),
      keyId,
      given,
      ...[name, rpm, tpm, maxConcurrency, models, addresses, clients, expiresAt].map((value) => value ?? null),
      ...[monthlyBudget, monthlyTokens, departmentId, memberId].map((value) => value ?? null),
    ],
  )
  return row ?? null
}

/** @param enabled null inverts the current state */
export async function toggleOwnedKey(
  queryable: Queryable,
  owner: KeyOwner,
  keyId: string,
  enabled: boolean | null,
): Promise<OwnedKey | null> {
  const [row] = await queryable.query<OwnedKey>(
    `UPDATE entry_keys SET updated_at = now(),
        status = CASE WHEN coalesce($4::boolean, status = 'disabled') THEN 'enabled' ELSE 'disabled' END
      WHERE ${THIS_ONE} RETURNING ${FIELDS}`,
    [...ownerParameters(owner), keyId, enabled],
  )
  return row ?? null
}

/** Deletes the key for good; its row stays for the request log. Returns false when the owner has no such key. */
export async function deleteOwnedKey(queryable: Queryable, owner: KeyOwner, keyId: string): Promise<boolean> {
  const rows = await queryable.query(
    `UPDATE entry_keys SET status = 'deleted', updated_at = now() WHERE ${THIS_ONE} RETURNING id`,
    [...ownerParameters(owner), keyId],
  )
  return rows.length > 0
}

/** Gives a key a new secret; the old one stays valid until `oldUntil`. Call it in a transaction. */
export async function rotateOwnedKey(
  tx: Queryable,
  owner: KeyOwner,
  keyId: string,
  secret: { readonly digest: string; readonly masked: string; readonly oldUntil: Date },
): Promise<OwnedKey | null> {
  const owned = ownerParameters(owner)
  const [before] = await tx.query<{ digest: string }>(`SELECT digest FROM entry_keys WHERE ${THIS_ONE} FOR UPDATE`, [
    ...owned,
    keyId,
  ])
  if (before === undefined) return null
  await tx.query('DELETE FROM entry_key_predecessors WHERE until < now()')
  await tx.query('INSERT INTO entry_key_predecessors (digest, key_id, until) VALUES ($1, $2, $3)', [
    before.digest,
    keyId,
    secret.oldUntil,
  ])
  const [row] = await tx.query<OwnedKey>(
    `UPDATE entry_keys SET digest = $4, masked = $5, updated_at = now() WHERE ${THIS_ONE} RETURNING ${FIELDS}`,
    [...owned, keyId, secret.digest, secret.masked],
  )
  return row ?? null
}

function ownerParameters(owner: KeyOwner): readonly [userId: string | null, enterpriseId: string | null] {
  return owner.kind === 'user' ? [owner.userId, null] : [null, owner.enterpriseId]
}
