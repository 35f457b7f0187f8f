import type { ModelBudget } from '../../shared/core/budget.ts'
import type { CaptureSettings } from '../../shared/core/capture.ts'
import type { Queryable } from './database.ts'
import { storedModelBudgets } from './model-budgets.ts'
import { containsPattern } from './text.ts'

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
  readonly tools: string[] | null
  readonly monthlyBudget: number | null
  readonly monthlyTokens: number | null
  readonly modelBudgets: readonly ModelBudget[] | null
  /** Null: that of the enterprise, if the key has one. */
  readonly capture: CaptureSettings | null
  readonly expiresAt: Date | null
  readonly createdAt: Date
  readonly updatedAt: Date
  /** Of its newest settled request; null: none yet. */
  readonly lastUsedAt: Date | null
  /** While the secret from before the last rotation is still valid: until when. */
  readonly oldSecretUntil: Date | null
}

/** The keys of a list, and their order. */
export interface KeyFilter {
  /** A part of the name or of the masked key. */
  readonly search?: string | undefined
  readonly enabled?: boolean | undefined
  readonly departmentId?: string | undefined
  readonly memberId?: string | undefined
  readonly sort?: 'created' | 'name' | 'last_used' | undefined
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
  readonly tools?: readonly string[] | null | undefined
  readonly expiresAt?: Date | null | undefined
  readonly monthlyBudget?: number | null | undefined
  readonly monthlyTokens?: number | null | undefined
  readonly modelBudgets?: readonly ModelBudget[] | null | undefined
  readonly capture?: CaptureSettings | null | undefined
  readonly departmentId?: string | null | undefined
  readonly memberId?: string | null | undefined
}

const FIELDS = `id, name, masked, status, department_id AS "departmentId", member_id AS "memberId", rpm, tpm,
  max_concurrency AS "maxConcurrency", models, ip_allow AS addresses, client_allow AS clients, mcp_tools AS tools,
  monthly_budget AS "monthlyBudget", monthly_tokens AS "monthlyTokens", model_budgets AS "modelBudgets", capture,
  expires_at AS "expiresAt", created_at AS "createdAt", updated_at AS "updatedAt",
  (SELECT d.last_used_at FROM key_rollup_daily d WHERE d.key_id = entry_keys.id ORDER BY d.day DESC, d.last_used_at DESC LIMIT 1) AS "lastUsedAt",
  (SELECT max(p.until) FROM entry_key_predecessors p WHERE p.key_id = entry_keys.id AND p.until > now()) AS "oldSecretUntil"`

/** A condition for statements whose first two parameters come from `ownerParameters`. */
const OWNED = `((user_id = $1 AND enterprise_id IS NULL) OR enterprise_id = $2) AND status <> 'deleted'`
const THIS_ONE = `${OWNED} AND id = $3`
const MATCHING = `${OWNED} AND ($3::text IS NULL OR lower(name) LIKE lower($3) OR masked LIKE $3)
  AND ($4::boolean IS NULL OR (status = 'enabled') = $4)
  AND ($5::text IS NULL OR department_id = $5) AND ($6::text IS NULL OR member_id = $6)`

export async function listOwnedKeys(
  queryable: Queryable,
  owner: KeyOwner,
  page: { readonly offset: number; readonly limit: number },
  { search, enabled, departmentId, memberId, sort }: KeyFilter = {},
): Promise<{ readonly keys: OwnedKey[]; readonly total: number }> {
  const matching = [
    ...ownerParameters(owner),
    search === undefined ? null : containsPattern(search),
    enabled ?? null,
    departmentId ?? null,
    memberId ?? null,
  ]
  const [counted] = await queryable.query<{ total: number }>(
    `SELECT count(*) AS total FROM entry_keys WHERE ${MATCHING}`,
    matching,
  )
  const keys = await queryable.query<OwnedKey>(
    `SELECT * FROM (SELECT ${FIELDS} FROM entry_keys WHERE ${MATCHING}) AS k
      ORDER BY CASE WHEN $7 = 'name' THEN lower(name) END, CASE WHEN $7 = 'last_used' THEN "lastUsedAt" END DESC NULLS LAST,
        "createdAt" DESC, id LIMIT $8 OFFSET $9`,
    [...matching, sort ?? 'created', page.limit, page.offset],
  )
  return { keys, total: counted?.total ?? 0 }
}

/** Makes others who add a key of the owner wait until the transaction ends. */
export async function lockOwnedKeys(tx: Queryable, owner: KeyOwner): Promise<void> {
  const name = JSON.stringify(['keys', ...ownerParameters(owner)])
  await tx.query('SELECT pg_advisory_xact_lock(hashtextextended($1, 0))', [name])
}

/** Counts the keys of the owner that are not deleted. */
export async function countOwnedKeys(queryable: Queryable, owner: KeyOwner): Promise<number> {
  const [counted] = await queryable.query<{ total: number }>(
    `SELECT count(*) AS total FROM entry_keys WHERE ${OWNED}`,
    ownerParameters(owner),
  )
  return counted?.total ?? 0
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
  const { monthlyBudget, monthlyTokens, departmentId, memberId, capture, tools } = change
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
        member_id = CASE WHEN 'memberId' = ANY ($4) THEN $16 ELSE member_id END,
        model_budgets = CASE WHEN 'modelBudgets' = ANY ($4) THEN $17::jsonb ELSE model_budgets END,
        capture = CASE WHEN 'capture' = ANY ($4) THEN $18::jsonb ELSE capture END,
        mcp_tools = CASE WHEN 'tools' = ANY ($4) THEN $19::text[] ELSE mcp_tools END
      WHERE ${THIS_ONE} RETURNING ${FIELDS}`,
    [
      ...ownerParameters(owner),
      keyId,
      given,
      ...[name, rpm, tpm, maxConcurrency, models, addresses, clients, expiresAt].map((value) => value ?? null),
      ...[monthlyBudget, monthlyTokens, departmentId, memberId].map((value) => value ?? null),
      storedModelBudgets(change.modelBudgets),
      capture === null || capture === undefined ? null : JSON.stringify(capture),
      tools ?? null,
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
