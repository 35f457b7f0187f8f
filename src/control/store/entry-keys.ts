import { limitsOf, NO_TENANTS, timeZoneOf } from '../../shared/core/budget.ts'
import type { Tenants } from '../../shared/core/budget.ts'
import type { EntryKey } from '../../shared/core/snapshot.ts'
import type { Queryable } from './database.ts'

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
}

const COLUMNS = `id, digest, masked, name, status, user_id, enterprise_id, department_id, member_id,
  rpm, tpm, max_concurrency, models, ip_allow, client_allow, expires_at, monthly_budget, monthly_tokens`
const PLACEHOLDERS = `$1, $2, $3, $4, $5, $6, $7, $8, $9,
  $10::int4, $11::int8, $12::int4, $13::text[], $14::text[], $15::text[], $16::timestamptz,
  $17::int8, $18::int8`

/** The columns that a declaration in the configuration sets. */
const DECLARED = COLUMNS.split(',')
  .map((column) => column.trim())
  .filter((column) => column !== 'id' && column !== 'digest')

/** Rejects with SQLSTATE 23505 when the id or the digest is taken. */
export async function insertEntryKey(queryable: Queryable, key: EntryKey): Promise<void> {
  await queryable.query(`INSERT INTO entry_keys (${COLUMNS}) VALUES (${PLACEHOLDERS})`, toParameters(key))
}

/**
 * For keys declared in the configuration: inserts the key, or updates the key with the same digest, except for its id. A deleted
 * key stays deleted. An equal key is not written, so that a restart makes no new snapshot.
 */
export async function upsertEntryKeyByDigest(queryable: Queryable, key: EntryKey): Promise<void> {
  const parameters = toParameters(key)
  const settled = await queryable.query(
    `SELECT FROM entry_keys k, (SELECT ${PLACEHOLDERS}) AS w (${COLUMNS})
      WHERE k.digest = w.digest AND (k.status = 'deleted' OR (${listed('k')}) IS NOT DISTINCT FROM (${listed('w')}))`,
    parameters,
  )
  if (settled.length > 0) return
  await queryable.query(
    `INSERT INTO entry_keys AS k (${COLUMNS}) VALUES (${PLACEHOLDERS})
      ON CONFLICT (digest) DO UPDATE SET (${DECLARED.join(', ')}, updated_at) = ROW (${listed('excluded')}, now())
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
}

/** Lists all keys that are not deleted, as the data plane sees them. Disabled keys are included, so that the error can say it. */
export async function listEntryKeysForSnapshot(
  queryable: Queryable,
  tenants: Tenants = NO_TENANTS,
): Promise<EntryKey[]> {
  const rows = await queryable.query<JoinedRow>(
    `SELECT ${COLUMNS.replace(/\w+/g, 'k.$&')}, (u.status IS NULL OR u.status = 'active') AND (e.status IS NULL OR e.status = 'active') AS owner_is_active,
        u.rpm AS user_rpm, u.tpm AS user_tpm, u.max_concurrency AS user_concurrency,
        e.rpm AS enterprise_rpm, e.tpm AS enterprise_tpm, e.max_concurrency AS enterprise_concurrency
      FROM entry_keys k LEFT JOIN users u ON u.id = k.user_id LEFT JOIN enterprises e ON e.id = k.enterprise_id
      WHERE k.status <> 'deleted' ORDER BY k.id`,
  )
  const keys = rows.map((row) => withBudgets(toEntryKey(row), row, tenants))
  return [...keys, ...(await predecessors(queryable, keys))]
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
  ]
}

/** A key is disabled when its user or its enterprise is disabled. */
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
  }
}

function withBudgets(key: EntryKey, row: EntryKeyRow, tenants: Tenants): EntryKey {
  const own = { moneyMicro: row.monthly_budget, tokens: row.monthly_tokens }
  const spender = { ...key, keyId: key.id }
  const budgets = limitsOf(spender, own, tenants)
  if (budgets.length === 0) return key
  const hasOwn = own.moneyMicro !== null || own.tokens !== null
  return { ...key, ...(hasOwn ? { budget: own } : {}), budgets, timeZone: timeZoneOf(spender, tenants) }
}
