import { holderLimitsOf, limitsOf, modelLimitsOf, NO_TENANTS, timeZoneOf } from '../../shared/core/budget.ts'
import { captureRuleOf } from '../../shared/core/capture.ts'
import type { CaptureSettings } from '../../shared/core/capture.ts'
import type { Tenants } from '../../shared/core/budget.ts'
import type { EntryKey } from '../../shared/core/snapshot.ts'
import type { Queryable } from './database.ts'
import { storedModelBudgets } from './model-budgets.ts'

export type EntryKeyStatus = 'enabled' | 'disabled' | 'deleted'

interface EntryKeyRow {
  readonly id: string
  readonly digest: string
  readonly masked: string
  readonly name: string
  readonly status: EntryKeyStatus
  readonly user_id: string | null
  readonly enterprise_id: string | null
  readonly department_id: string | null
  readonly member_id: string | null
  readonly rpm: number | null
  readonly tpm: number | null
  readonly max_concurrency: number | null
  readonly models: string[] | null
  readonly ip_allow: string[] | null
  readonly client_allow: string[] | null
  readonly expires_at: Date | null
  readonly monthly_budget: number | null
  readonly monthly_tokens: number | null
  readonly mcp_tools: string[] | null
}

const COLUMNS = `id, digest, masked, name, status, user_id, enterprise_id, department_id, member_id,
  rpm, tpm, max_concurrency, models, ip_allow, client_allow, expires_at, monthly_budget, monthly_tokens,
  model_budgets, mcp_tools`
const PLACEHOLDERS = `$1, $2, $3, $4, $5, $6, $7, $8, $9,
  $10::int4, $11::int8, $12::int4, $13::text[], $14::text[], $15::text[], $16::timestamptz,
  $17::int8, $18::int8, $19::jsonb, $20::text[]`
const DECLARER = '$21::text'

/** The columns that a declaration in the configuration sets. */
const DECLARED = COLUMNS.split(',')
  .map((column) => column.trim())
  .filter((column) => column !== 'id' && column !== 'digest')

/** Rejects with SQLSTATE 23505 when the id or the digest is taken. */
export async function insertEntryKey(
  queryable: Queryable,
  key: EntryKey,
  capture: CaptureSettings | null = null,
): Promise<void> {
  await queryable.query(`INSERT INTO entry_keys (${COLUMNS}, capture) VALUES (${PLACEHOLDERS}, $21::jsonb)`, [
    ...toParameters(key),
    capture === null ? null : JSON.stringify(capture),
  ])
}

/**
 * Stores the keys that the configuration of a node declares. A key that it declared before, and lacks now, is turned off, unless another
 * node declares it; somebody may turn it on again. A key with the digest of a stored one changes that one, except for its id. A deleted
 * key stays deleted. What is equal is not written, so that a restart makes no new snapshot.
 */
export async function keepDeclaredKeys(tx: Queryable, node: string, keys: readonly EntryKey[]): Promise<void> {
  // In one order, because another node may do the same at this moment.
  const inOrder = [...keys].sort((one, other) => (one.digest < other.digest ? -1 : 1))
  for (const key of inOrder) await upsertByDigest(tx, node, key)
  const gone = await tx.query<{ id: string }>(
    'SELECT id FROM entry_keys WHERE $1 = ANY (declared_by) AND digest <> ALL ($2::text[]) ORDER BY digest FOR UPDATE',
    [node, keys.map(({ digest }) => digest)],
  )
  if (gone.length === 0) return
  await tx.query(
    `UPDATE entry_keys SET declared_by = array_remove(declared_by, $1), updated_at = now(),
        status = CASE WHEN status = 'enabled' AND declared_by = ARRAY[$1] THEN 'disabled' ELSE status END
      WHERE id = ANY ($2::text[])`,
    [node, gone.map(({ id }) => id)],
  )
}

async function upsertByDigest(tx: Queryable, node: string, key: EntryKey): Promise<void> {
  const parameters = [...toParameters(key), node]
  const settled = await tx.query(
    `SELECT FROM entry_keys k, (SELECT ${PLACEHOLDERS}) AS w (${COLUMNS})
      WHERE k.digest = w.digest AND (k.status = 'deleted'
        OR ${DECLARER} = ANY (k.declared_by) AND (${listed('k')}) IS NOT DISTINCT FROM (${listed('w')}))`,
    parameters,
  )
  if (settled.length > 0) return
  await tx.query(
    `INSERT INTO entry_keys AS k (${COLUMNS}, declared_by) VALUES (${PLACEHOLDERS}, ARRAY[${DECLARER}])
      ON CONFLICT (digest) DO UPDATE SET (${DECLARED.join(', ')}, declared_by, updated_at) =
        ROW (${listed('excluded')}, array_remove(k.declared_by, ${DECLARER}) || ${DECLARER}, now())
      WHERE k.status <> 'deleted'`,
    parameters,
  )
}

/** A key with the columns that the joins of a snapshot add. */
interface JoinedRow extends EntryKeyRow {
  readonly owner_is_active: boolean
  readonly user_rpm: number | null
  readonly user_tpm: number | null
  readonly user_concurrency: number | null
  readonly enterprise_rpm: number | null
  readonly enterprise_tpm: number | null
  readonly enterprise_concurrency: number | null
  readonly capture: CaptureSettings | null
  readonly enterprise_capture: CaptureSettings | null
}

const JOINED = `SELECT ${COLUMNS.replace(/\w+/g, 'k.$&')}, coalesce(u.status, 'active') = 'active' AND coalesce(e.status, 'active') = 'active'
    AND coalesce(m.status, 'active') = 'active' AND coalesce(mu.status, 'active') = 'active' AS owner_is_active,
  u.rpm AS user_rpm, u.tpm AS user_tpm, u.max_concurrency AS user_concurrency,
  e.rpm AS enterprise_rpm, e.tpm AS enterprise_tpm, e.max_concurrency AS enterprise_concurrency,
  k.capture, e.capture AS enterprise_capture
  FROM entry_keys k LEFT JOIN users u ON u.id = k.user_id LEFT JOIN enterprises e ON e.id = k.enterprise_id
    LEFT JOIN members m ON m.id = k.member_id LEFT JOIN users mu ON mu.id = m.user_id`

/** Lists all keys that are not deleted, as the data plane sees them. Disabled keys are included, so that the error can say it. */
export async function listEntryKeysForSnapshot(
  queryable: Queryable,
  tenants: Tenants = NO_TENANTS,
  mayCapture = true,
): Promise<EntryKey[]> {
  const rows = await queryable.query<JoinedRow>(`${JOINED} WHERE k.status <> 'deleted' ORDER BY k.id`)
  const keys = rows.map((row) => {
    const key = withHolders(withBudgets(toEntryKey(row), row, tenants), tenants)
    return mayCapture ? withCapture(key, row) : key
  })
  return [...keys, ...(await predecessors(queryable, keys))]
}

/** The key with this digest, or with this digest before its last rotation, without its budgets; null: there is none. */
export async function findEntryKey(queryable: Queryable, digest: string): Promise<EntryKey | null> {
  const [row] = await queryable.query<JoinedRow>(
    `${JOINED} WHERE k.status <> 'deleted'
      AND (k.digest = $1 OR k.id = (SELECT key_id FROM entry_key_predecessors WHERE digest = $1 AND until > now()))`,
    [digest],
  )
  return row === undefined ? null : toEntryKey(row)
}

/** The keys with which a user may pay: the user's own, and those issued to the user. At most `limit`, the newest first. */
export async function listUsableKeys(queryable: Queryable, userId: string, limit: number): Promise<EntryKey[]> {
  const rows = await queryable.query<JoinedRow>(
    `${JOINED} WHERE k.status = 'enabled' AND (k.expires_at IS NULL OR k.expires_at > now())
      AND ((k.user_id = $1 AND k.enterprise_id IS NULL) OR m.user_id = $1) ORDER BY k.created_at DESC, k.id LIMIT $2`,
    [userId, limit],
  )
  return rows.map(toEntryKey).filter(({ enabled }) => enabled)
}

/** Those of the ids whose keys are still usable. */
export async function stillUsableKeys(queryable: Queryable, ids: readonly string[]): Promise<Set<string>> {
  const rows = await queryable.query<JoinedRow>(
    `${JOINED} WHERE k.id = ANY ($1::text[]) AND k.status = 'enabled' AND (k.expires_at IS NULL OR k.expires_at > now())`,
    [ids],
  )
  return new Set(rows.map(toEntryKey).flatMap(({ enabled, id }) => (enabled ? [id] : [])))
}

/** Returns keys that got a new secret, with the digest of the old one. */
async function predecessors(queryable: Queryable, keys: readonly EntryKey[]): Promise<EntryKey[]> {
  const rows = await queryable.query<{ digest: string; keyId: string; until: Date }>(
    'SELECT digest, key_id AS "keyId", until FROM entry_key_predecessors WHERE until > now()',
  )
  if (rows.length === 0) return []
  const byId = new Map(keys.map((key) => [key.id, key]))
  return rows.flatMap(({ digest, keyId, until }) => {
    const key = byId.get(keyId)
    if (key === undefined) return []
    return [{ ...key, digest, expiresAtMs: Math.min(until.getTime(), key.expiresAtMs ?? Infinity) }]
  })
}

/** False when there is no such key. Deleted keys stay deleted. */
export async function setEntryKeyStatus(queryable: Queryable, id: string, status: EntryKeyStatus): Promise<boolean> {
  const rows = await queryable.query(
    `UPDATE entry_keys SET status = $2, updated_at = now() WHERE id = $1 AND status <> 'deleted' RETURNING id`,
    [id, status],
  )
  return rows.length > 0
}

/** Returns the version, which rises with every change of keys and users. Changes are also notified on the channel `sluice_snapshot`. */
export async function snapshotVersion(queryable: Queryable): Promise<number> {
  const [row] = await queryable.query<{ version: number }>('SELECT version FROM snapshot_version')
  return row?.version ?? 0
}

function listed(table: string): string {
  return DECLARED.map((column) => `${table}.${column}`).join(', ')
}

function toParameters(key: EntryKey): unknown[] {
  return [
    key.id,
    key.digest,
    key.masked,
    key.name,
    key.enabled ? 'enabled' : 'disabled',
    key.userId,
    key.enterpriseId,
    key.departmentId,
    key.memberId,
    key.limits.requestsPerMinute,
    key.limits.tokensPerMinute,
    key.limits.concurrency,
    key.models,
    key.addresses,
    key.clients,
    key.expiresAtMs === null ? null : new Date(key.expiresAtMs),
    key.budget?.moneyMicro ?? null,
    key.budget?.tokens ?? null,
    storedModelBudgets(key.ownModelBudgets),
    key.tools ?? null,
  ]
}

/** A key is disabled when its user, its enterprise, its member or the user of its member is disabled or deleted. */
function toEntryKey(row: JoinedRow): EntryKey {
  return {
    id: row.id,
    digest: row.digest,
    masked: row.masked,
    name: row.name,
    enabled: row.status === 'enabled' && row.owner_is_active,
    expiresAtMs: row.expires_at?.getTime() ?? null,
    userId: row.user_id,
    enterpriseId: row.enterprise_id,
    departmentId: row.department_id,
    memberId: row.member_id,
    limits: { requestsPerMinute: row.rpm, tokensPerMinute: row.tpm, concurrency: row.max_concurrency },
    userLimits: {
      requestsPerMinute: row.user_rpm,
      tokensPerMinute: row.user_tpm,
      concurrency: row.user_concurrency,
    },
    enterpriseLimits: {
      requestsPerMinute: row.enterprise_rpm,
      tokensPerMinute: row.enterprise_tpm,
      concurrency: row.enterprise_concurrency,
    },
    models: row.models,
    addresses: row.ip_allow,
    clients: row.client_allow,
    ...(row.mcp_tools === null ? {} : { tools: row.mcp_tools }),
  }
}

function withHolders(key: EntryKey, tenants: Tenants): EntryKey {
  const holderLimits = holderLimitsOf({ ...key, keyId: key.id }, tenants)
  return holderLimits.length === 0 ? key : { ...key, holderLimits }
}

/** The setting of the key comes before that of its enterprise. */
function withCapture(key: EntryKey, row: JoinedRow): EntryKey {
  const capture = captureRuleOf(row.capture ?? row.enterprise_capture)
  return capture === null ? key : { ...key, capture }
}

function withBudgets(key: EntryKey, row: EntryKeyRow, tenants: Tenants): EntryKey {
  const own = { moneyMicro: row.monthly_budget, tokens: row.monthly_tokens }
  const spender = { ...key, keyId: key.id }
  const budgets = limitsOf(spender, own, tenants)
  const modelBudgets = modelLimitsOf(spender, tenants)
  if (budgets.length + modelBudgets.length === 0) return key
  const hasOwn = own.moneyMicro !== null || own.tokens !== null
  return {
    ...key,
    ...(hasOwn ? { budget: own } : {}),
    budgets,
    ...(modelBudgets.length === 0 ? {} : { modelBudgets }),
    timeZone: timeZoneOf(spender, tenants),
  }
}
