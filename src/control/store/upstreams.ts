import type { Stored } from '../../shared/config/upstream-book.ts'
import type { StoredModel, StoredModelGroup, StoredUpstream, StoredUpstreamKey } from '../../shared/config/stored.ts'
import type { JsonObject } from '../../shared/core/json-object.ts'
import type { ModelGroup } from '../../shared/core/model-names.ts'
import { maskedCredential } from '../../shared/core/masked-credential.ts'
import type { Seal } from '../../shared/runtime/seal.ts'
import type { Queryable } from './database.ts'
import { storableText } from './text.ts'

/** Names the key under which credentials of upstreams are sealed. */
export const UPSTREAM_SEAL = 'upstream credential'

interface UpstreamRow {
  readonly id: string
  readonly entry: JsonObject
  readonly headers: Buffer
  readonly enabled: boolean
  readonly createdAt: Date
  readonly updatedAt: Date
}

type KeyRow = Omit<StoredUpstreamKey, 'credential'> & { readonly credential: Buffer }

const TIMES = 'created_at AS "createdAt", updated_at AS "updatedAt"'
const UPSTREAM_FIELDS = `id, entry, headers, enabled, ${TIMES}`
const KEY_FIELDS = `id, upstream_id AS "upstreamId", name, credential, masked, weight, priority,
  max_concurrency AS "maxConcurrency", enabled, ${TIMES}`

/** Lists all stored upstreams, models and groups of models, the oldest first. */
export async function listStored(queryable: Queryable, seal: Seal): Promise<Stored> {
  const upstreams = await queryable.query<UpstreamRow>(
    `SELECT ${UPSTREAM_FIELDS} FROM upstreams ORDER BY created_at, id`,
  )
  const keys = await queryable.query<KeyRow>(`SELECT ${KEY_FIELDS} FROM upstream_keys ORDER BY created_at, id`)
  const byUpstream = new Map<string, StoredUpstreamKey[]>(upstreams.map(({ id }) => [id, []]))
  for (const key of keys) byUpstream.get(key.upstreamId)?.push(openedKey(key, seal))
  return {
    upstreams: upstreams.map((row) => openedUpstream(row, byUpstream.get(row.id) ?? [], seal)),
    models: await queryable.query<StoredModel>(`SELECT id, entry, ${TIMES} FROM model_entries ORDER BY created_at, id`),
    groups: await queryable.query<StoredModelGroup>(
      `SELECT id, models, ${TIMES} FROM model_groups ORDER BY created_at, id`,
    ),
  }
}

/** Makes other changes of upstreams, models and groups of models wait until the transaction ends. */
export async function lockStored(tx: Queryable): Promise<void> {
  await tx.query('LOCK TABLE upstreams, upstream_keys, model_entries, model_groups IN SHARE ROW EXCLUSIVE MODE')
}

/** Inserts or updates the upstream, without its keys. */
export async function putUpstream(
  queryable: Queryable,
  seal: Seal,
  upstream: Pick<StoredUpstream, 'id' | 'entry' | 'enabled'> & { readonly headers: Readonly<Record<string, string>> },
): Promise<void> {
  const { id, entry, headers, enabled } = upstream
  await queryable.query(
    `INSERT INTO upstreams (id, entry, headers, enabled) VALUES ($1, $2::jsonb, $3, $4)
      ON CONFLICT (id) DO UPDATE SET entry = excluded.entry, headers = excluded.headers, enabled = excluded.enabled,
        updated_at = now()`,
    [id, JSON.stringify(entry), sealedHeaders(id, headers, seal), enabled],
  )
}

/** Deletes the upstream with its keys. Returns false when there is no such upstream. */
export async function deleteUpstream(queryable: Queryable, id: string): Promise<boolean> {
  return (await queryable.query('DELETE FROM upstreams WHERE id = $1 RETURNING id', [id])).length > 0
}

export type UpstreamKeySettings = Pick<
  StoredUpstreamKey,
  'id' | 'upstreamId' | 'name' | 'weight' | 'priority' | 'maxConcurrency' | 'enabled'
>

/** Rejects with SQLSTATE 23505 when the id is taken. */
export async function insertUpstreamKey(
  queryable: Queryable,
  seal: Seal,
  key: UpstreamKeySettings & { readonly credential: string },
): Promise<void> {
  await queryable.query(
    `INSERT INTO upstream_keys (id, upstream_id, name, weight, priority, max_concurrency, enabled, credential, masked, created_at)
      VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, clock_timestamp())`,
    [...settingsOf(key), ...credentialOf(key.id, key.credential, seal)],
  )
}

/** Returns false when the upstream has no such key. @param credential null keeps the stored one */
export async function updateUpstreamKey(
  queryable: Queryable,
  seal: Seal,
  key: UpstreamKeySettings,
  credential: string | null,
): Promise<boolean> {
  const [sealed, masked] = credential === null ? [null, null] : credentialOf(key.id, credential, seal)
  const rows = await queryable.query(
    `UPDATE upstream_keys SET name = $3, weight = $4, priority = $5, max_concurrency = $6, enabled = $7,
        credential = coalesce($8, credential), masked = coalesce($9, masked), updated_at = now()
      WHERE id = $1 AND upstream_id = $2 RETURNING id`,
    [...settingsOf(key), sealed, masked],
  )
  return rows.length > 0
}

/** False when the upstream has no such key. */
export async function deleteUpstreamKey(queryable: Queryable, upstreamId: string, keyId: string): Promise<boolean> {
  const rows = await queryable.query('DELETE FROM upstream_keys WHERE id = $1 AND upstream_id = $2 RETURNING id', [
    storableText(keyId),
    upstreamId,
  ])
  return rows.length > 0
}

/** Inserts or updates models; does not write equal ones. */
export async function putModels(
  queryable: Queryable,
  models: ReadonlyArray<Pick<StoredModel, 'id' | 'entry'>>,
): Promise<void> {
  await queryable.query(
    `INSERT INTO model_entries AS m (id, entry)
      SELECT id, entry::jsonb FROM unnest($1::text[], $2::text[]) AS n (id, entry)
      ON CONFLICT (id) DO UPDATE SET entry = excluded.entry, updated_at = now() WHERE m.entry <> excluded.entry`,
    [models.map(({ id }) => id), models.map(({ entry }) => JSON.stringify(entry))],
  )
}

/** Returns false when there is no such model. */
export async function deleteModel(queryable: Queryable, id: string): Promise<boolean> {
  return (await queryable.query('DELETE FROM model_entries WHERE id = $1 RETURNING id', [storableText(id)])).length > 0
}

export async function deleteOtherModels(queryable: Queryable, kept: readonly string[]): Promise<void> {
  await queryable.query('DELETE FROM model_entries WHERE id <> ALL ($1::text[])', [kept])
}

export async function putModelGroup(queryable: Queryable, { id, models }: ModelGroup): Promise<void> {
  await queryable.query(
    `INSERT INTO model_groups AS g (id, models) VALUES ($1, $2::text[])
      ON CONFLICT (id) DO UPDATE SET models = excluded.models, updated_at = now() WHERE g.models <> excluded.models`,
    [id, models],
  )
}

/** Returns false when there is no such group. */
export async function deleteModelGroup(queryable: Queryable, id: string): Promise<boolean> {
  return (await queryable.query('DELETE FROM model_groups WHERE id = $1 RETURNING id', [storableText(id)])).length > 0
}

function settingsOf(key: UpstreamKeySettings): unknown[] {
  return [key.id, key.upstreamId, key.name, key.weight, key.priority, key.maxConcurrency, key.enabled]
}

function credentialOf(keyId: string, credential: string, seal: Seal): [sealed: Buffer, masked: string] {
  return [seal.seal(Buffer.from(credential), keyOf(keyId)), maskedCredential(credential)]
}

function openedUpstream(row: UpstreamRow, keys: readonly StoredUpstreamKey[], seal: Seal): StoredUpstream {
  return { ...row, headers: openedHeaders(row, seal), keys }
}

/** An empty list of headers is stored unsealed, so that nothing needs to be opened. */
function sealedHeaders(id: string, headers: Readonly<Record<string, string>>, seal: Seal): Buffer {
  if (Object.keys(headers).length === 0) return Buffer.alloc(0)
  return seal.seal(Buffer.from(JSON.stringify(headers)), headersOf(id))
}

function openedHeaders({ id, headers }: UpstreamRow, seal: Seal): StoredUpstream['headers'] {
  if (headers.length === 0) return {}
  const opened = seal.open(headers, headersOf(id))
  return opened === null ? null : (JSON.parse(opened.toString('utf8')) as Record<string, string>)
}

function openedKey(row: KeyRow, seal: Seal): StoredUpstreamKey {
  return { ...row, credential: seal.open(row.credential, keyOf(row.id))?.toString('utf8') ?? null }
}

/** The sealing context: a value that is sealed for one row opens in no other row. */
function headersOf(id: string): Buffer {
  return Buffer.from(`headers ${id}`)
}

function keyOf(id: string): Buffer {
  return Buffer.from(`key ${id}`)
}
