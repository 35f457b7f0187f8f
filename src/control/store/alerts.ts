import type { AlertKind } from '../../shared/api/alert-kinds.ts'
import type { BudgetOwner } from '../../shared/core/budget.ts'
import type { DailyHours } from '../../shared/core/zoned-time.ts'
import type { Queryable } from './database.ts'
import { storableText } from './text.ts'

/** An enterprise, or null: the platform. */
export type AlertScope = string | null

export type AlertOwner = Exclude<BudgetOwner, 'wallet'>

export interface AlertChannel {
  readonly id: string
  readonly type: 'webhook' | 'mail'
  /** A URL or an e-mail address. */
  readonly address: string
}

export interface AlertSettings {
  readonly name: string | null
  readonly threshold: number | null
  readonly owners: readonly AlertOwner[] | null
  readonly minRequests: number | null
  readonly quiet: DailyHours | null
  readonly enabled: boolean
}

export interface Alert extends AlertSettings {
  readonly id: string
  readonly kind: AlertKind
  readonly channels: readonly AlertChannel[]
  /** Each subject that is beyond a threshold, once, whatever nodes see it. */
  readonly firing: ReadonlyArray<{ readonly subject: string; readonly level: number }>
  readonly createdAt: Date
  readonly updatedAt: Date
}

/** An alert of an active enterprise or of the platform, as it is checked. */
export interface WatchedAlert extends Alert {
  readonly enterpriseId: AlertScope
  readonly timeZone: string
  /** The alert was checked once. */
  readonly baselined: boolean
}

/** A channel to be stored. A webhook has a sealed secret; null keeps the stored one. */
export interface ChannelChange extends AlertChannel {
  readonly secret: Buffer | null
}

const CHANNELS = `coalesce((SELECT json_agg(json_build_object('id', c.id, 'type', c.type, 'address', c.address) ORDER BY c.place)
  FROM alert_channels c WHERE c.alert_id = a.id), '[]'::json) AS channels`
/** At most this many are told. */
const MAX_FIRING = 100
const FIRING = `coalesce((SELECT json_agg(json_build_object('subject', s.subject, 'level', s.level) ORDER BY s.subject) FROM (
    SELECT subject, max(level) AS level FROM alert_states WHERE alert_id = a.id GROUP BY subject ORDER BY subject LIMIT ${MAX_FIRING}
  ) s), '[]'::json) AS firing`
const FIELDS = `a.id, a.name, a.kind, a.threshold, a.owners, a.min_requests AS "minRequests", a.quiet, a.enabled,
  a.created_at AS "createdAt", a.updated_at AS "updatedAt", ${CHANNELS}, ${FIRING}`

export async function listAlerts(
  queryable: Queryable,
  scope: AlertScope,
  page: { readonly offset: number; readonly limit: number },
): Promise<{ readonly alerts: Alert[]; readonly total: number }> {
  const alerts = await queryable.query<Alert>(
    `SELECT ${FIELDS} FROM alerts a WHERE a.enterprise_id IS NOT DISTINCT FROM $1::text
      ORDER BY a.created_at DESC, a.id LIMIT $2 OFFSET $3`,
    [scope, page.limit, page.offset],
  )
  return { alerts, total: await countAlerts(queryable, scope) }
}

export async function countAlerts(queryable: Queryable, scope: AlertScope): Promise<number> {
  const [counted] = await queryable.query<{ total: number }>(
    'SELECT count(*)::int4 AS total FROM alerts WHERE enterprise_id IS NOT DISTINCT FROM $1::text',
    [scope],
  )
  return counted?.total ?? 0
}

export async function findAlert(queryable: Queryable, scope: AlertScope, id: string): Promise<Alert | null> {
  const [row] = await queryable.query<Alert>(
    `SELECT ${FIELDS} FROM alerts a WHERE a.enterprise_id IS NOT DISTINCT FROM $1::text AND a.id = $2`,
    [scope, id],
  )
  return row ?? null
}

/** Makes other changes of the scope's alerts wait until the transaction ends. */
export async function lockAlerts(tx: Queryable, scope: AlertScope): Promise<void> {
  await tx.query('SELECT pg_advisory_xact_lock(hashtextextended($1, 0))', [JSON.stringify(['alerts', scope])])
}

export async function insertAlert(
  queryable: Queryable,
  scope: AlertScope,
  alert: AlertSettings & Pick<Alert, 'id' | 'kind'>,
): Promise<void> {
  const { id, kind, ...settings } = alert
  await queryable.query(
    `INSERT INTO alerts (id, enterprise_id, kind, name, threshold, owners, min_requests, quiet, enabled)
      VALUES ($1, $2, $3, $4, $5, $6::text[], $7, $8::jsonb, $9)`,
    [id, scope, kind, ...valuesOf(settings)],
  )
}

/** Returns false when there is no such alert. */
export async function updateAlert(
  queryable: Queryable,
  scope: AlertScope,
  id: string,
  settings: AlertSettings,
): Promise<boolean> {
  const rows = await queryable.query(
    `UPDATE alerts SET name = $3, threshold = $4, owners = $5::text[], min_requests = $6, quiet = $7::jsonb, enabled = $8,
        updated_at = clock_timestamp()
      WHERE enterprise_id IS NOT DISTINCT FROM $1::text AND id = $2 RETURNING id`,
    [scope, id, ...valuesOf(settings)],
  )
  return rows.length > 0
}

/** Returns false when there is no such alert. */
export async function deleteAlert(queryable: Queryable, scope: AlertScope, id: string): Promise<boolean> {
  const rows = await queryable.query(
    'DELETE FROM alerts WHERE enterprise_id IS NOT DISTINCT FROM $1::text AND id = $2 RETURNING id',
    [scope, id],
  )
  return rows.length > 0
}

/** Replaces the channels of an alert. Those that stay keep their secrets. */
export async function putChannels(tx: Queryable, alertId: string, channels: readonly ChannelChange[]): Promise<void> {
  await tx.query('DELETE FROM alert_channels WHERE alert_id = $1 AND id <> ALL ($2::text[])', [
    alertId,
    channels.map(({ id }) => id),
  ])
  for (const [place, { id, type, address, secret }] of channels.entries()) {
    const values = [id, alertId, place, storableText(address)]
    const isKept = await tx.query(
      'UPDATE alert_channels SET place = $3, address = $4 WHERE id = $1 AND alert_id = $2 RETURNING id',
      values,
    )
    if (isKept.length > 0) continue
    await tx.query(
      'INSERT INTO alert_channels (id, alert_id, place, address, type, secret) VALUES ($1, $2, $3, $4, $5, $6)',
      [...values, type, secret],
    )
  }
}

/** Replaces the secret of a webhook; the old one stays until `oldUntil`. Returns false when the alert has no such webhook. */
export async function rotateChannelSecret(
  queryable: Queryable,
  scope: AlertScope,
  ids: { readonly alertId: string; readonly channelId: string },
  secret: Buffer,
  oldUntil: Date | null,
): Promise<boolean> {
  const rows = await queryable.query(
    `UPDATE alert_channels c SET secret = $4, old_secret_until = $5,
        old_secret = CASE WHEN $5::timestamptz IS NULL THEN NULL ELSE c.secret END
      FROM alerts a WHERE a.id = c.alert_id AND a.enterprise_id IS NOT DISTINCT FROM $1::text AND a.id = $2
        AND c.id = $3 AND c.type = 'webhook' RETURNING c.id`,
    [scope, ids.alertId, ids.channelId, secret, oldUntil],
  )
  return rows.length > 0
}

export interface ChannelSecrets {
  readonly secret: Buffer | null
  readonly oldSecret: Buffer | null
  readonly oldSecretUntil: Date | null
}

/** The sealed secrets of channels, by id. Channels that are gone are left out. */
export async function findChannelSecrets(
  queryable: Queryable,
  ids: readonly string[],
): Promise<ReadonlyMap<string, ChannelSecrets & { readonly address: string }>> {
  const rows = await queryable.query<ChannelSecrets & { readonly id: string; readonly address: string }>(
    `SELECT id, address, secret, old_secret AS "oldSecret", old_secret_until AS "oldSecretUntil" FROM alert_channels
      WHERE id = ANY ($1::text[])`,
    [ids],
  )
  return new Map(rows.map((row) => [row.id, row]))
}

/** The sealing context of a webhook's secret: it opens in no other row. */
export function channelContext(channelId: string): Buffer {
  return Buffer.from(`channel ${channelId}`)
}

/** All alerts that are to be checked. */
export function listWatchedAlerts(queryable: Queryable): Promise<WatchedAlert[]> {
  return queryable.query<WatchedAlert>(
    `SELECT ${FIELDS}, a.enterprise_id AS "enterpriseId", coalesce(e.time_zone, 'UTC') AS "timeZone", a.baselined
      FROM alerts a LEFT JOIN enterprises e ON e.id = a.enterprise_id
      WHERE a.enabled AND (a.enterprise_id IS NULL OR e.status = 'active') ORDER BY a.id`,
  )
}

/** Locks an alert for a change of its states. Returns false when it is gone, disabled, or was changed since it was read. */
export async function lockWatchedAlert(tx: Queryable, { id, updatedAt }: WatchedAlert): Promise<boolean> {
  const rows = await tx.query('SELECT id FROM alerts WHERE id = $1 AND enabled AND updated_at = $2 FOR UPDATE', [
    id,
    updatedAt,
  ])
  return rows.length > 0
}

export async function setBaselined(tx: Queryable, alertId: string): Promise<void> {
  await tx.query('UPDATE alerts SET baselined = true WHERE id = $1', [alertId])
}

function valuesOf({ name, threshold, owners, minRequests, quiet, enabled }: AlertSettings): unknown[] {
  return [
    name === null ? null : storableText(name),
    threshold,
    owners,
    minRequests,
    quiet === null ? null : JSON.stringify(quiet),
    enabled,
  ]
}
