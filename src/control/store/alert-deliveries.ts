import type { AlertScope } from './alerts.ts'
import type { Queryable } from './database.ts'
import { storableText } from './text.ts'

export type DeliveryStatus = 'pending' | 'held' | 'delivered' | 'failed' | 'dropped'

/** A message for one channel. */
export interface NewDelivery {
  readonly id: string
  readonly eventId: string
  readonly enterpriseId: AlertScope
  /** Null: a summary. */
  readonly alertId: string | null
  readonly channelId: string | null
  readonly kind: string
  readonly subject: string
  readonly message: string
  readonly type: 'webhook' | 'mail'
  readonly address: string
  /** The payload of a webhook as it is signed, or an e-mail as JSON. */
  readonly body: string
  readonly status: DeliveryStatus
  readonly nextAt: Date | null
  readonly expiresAt: Date
  readonly error: string | null
  readonly createdAt: Date
}

export interface Delivery extends NewDelivery {
  readonly attempts: number
  readonly responseStatus: number | null
  readonly endedAt: Date | null
}

export interface DeliveryFilter {
  readonly alertId?: string | undefined
  readonly status?: DeliveryStatus | undefined
}

/** Deliveries of a scope, in the form of the index. */
const OF_SCOPE = `coalesce(enterprise_id, '') = coalesce($1::text, '')`
/** A delivery that waits. */
const WAITS = `status IN ('pending', 'held')`
const FIELDS = `id, event_id AS "eventId", enterprise_id AS "enterpriseId", alert_id AS "alertId", channel_id AS "channelId", kind,
  subject, message, type, address, body, status, attempts, next_at AS "nextAt", expires_at AS "expiresAt",
  response_status AS "responseStatus", error, created_at AS "createdAt", ended_at AS "endedAt"`

export async function insertDelivery(
  queryable: Queryable,
  delivery: NewDelivery,
  tried: Pick<Delivery, 'attempts' | 'responseStatus' | 'endedAt'> | null = null,
): Promise<void> {
  const { status, createdAt } = delivery
  const isOver = status === 'delivered' || status === 'failed' || status === 'dropped'
  await queryable.query(
    `INSERT INTO alert_deliveries (id, event_id, enterprise_id, alert_id, channel_id, kind, subject, message, type, address,
        body, status, next_at, expires_at, error, created_at, attempts, response_status, ended_at)
      VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19)`,
    [
      delivery.id,
      delivery.eventId,
      delivery.enterpriseId,
      delivery.alertId,
      delivery.channelId,
      delivery.kind,
      storableText(delivery.subject),
      storableText(delivery.message),
      delivery.type,
      delivery.address,
      storableText(delivery.body),
      status,
      delivery.nextAt,
      delivery.expiresAt,
      delivery.error,
      createdAt,
      tried?.attempts ?? 0,
      tried?.responseStatus ?? null,
      tried?.endedAt ?? (isOver ? createdAt : null),
    ],
  )
}

/** Counts the deliveries of a scope that wait. */
export async function countWaiting(queryable: Queryable, scope: AlertScope): Promise<number> {
  const [counted] = await queryable.query<{ count: number }>(
    `SELECT count(*)::int4 AS count FROM alert_deliveries WHERE ${WAITS} AND ${OF_SCOPE}`,
    [scope],
  )
  return counted?.count ?? 0
}

/** Counts the deliveries of test calls of a scope since a time. */
export async function countTestsSince(queryable: Queryable, scope: AlertScope, since: Date): Promise<number> {
  const [counted] = await queryable.query<{ count: number }>(
    `SELECT count(*)::int4 AS count FROM alert_deliveries WHERE ${OF_SCOPE}
        AND created_at > $2 AND kind = 'test'`,
    [scope, since],
  )
  return counted?.count ?? 0
}

/** Drops what is held of an alert and a subject: it is over, or there is something newer to tell. */
export async function dropHeld(
  tx: Queryable,
  of: { readonly alertId: string; readonly subject: string },
  reason: string,
  now: Date,
): Promise<void> {
  await tx.query(
    `UPDATE alert_deliveries SET status = 'dropped', error = $3, next_at = NULL, ended_at = $4
      WHERE status = 'held' AND alert_id = $1 AND subject = $2`,
    [of.alertId, storableText(of.subject), reason, now],
  )
}

/** Drops what waits for channels of an alert that are gone. @param kept the ids of the others; empty: the alert is gone */
export async function dropForGoneChannels(
  tx: Queryable,
  alertId: string,
  kept: readonly string[],
  reason: string,
  now: Date,
): Promise<void> {
  await tx.query(
    `UPDATE alert_deliveries SET status = 'dropped', error = $3, next_at = NULL, ended_at = $4
      WHERE ${WAITS} AND alert_id = $1 AND channel_id <> ALL ($2::text[])`,
    [alertId, kept, reason, now],
  )
}

/** Sends what waits for the channels of an alert to their present addresses. */
export async function readdressWaiting(tx: Queryable, alertId: string): Promise<void> {
  await tx.query(
    `UPDATE alert_deliveries d SET address = c.address FROM alert_channels c
      WHERE ${WAITS} AND d.alert_id = $1 AND c.alert_id = $1 AND c.id = d.channel_id AND c.address <> d.address`,
    [alertId],
  )
}

/** Changes when what is held of an alert is sent; null: at once. */
export async function moveHeld(tx: Queryable, alertId: string, until: Date | null, now: Date): Promise<void> {
  await tx.query(
    `UPDATE alert_deliveries SET status = CASE WHEN $2::timestamptz IS NULL THEN 'pending' ELSE 'held' END,
        next_at = coalesce($2, $3), expires_at = expires_at + (coalesce($2, $3) - next_at)
      WHERE status = 'held' AND alert_id = $1`,
    [alertId, until, now],
  )
}

export interface DeliveryClaim {
  readonly now: Date
  readonly leaseUntil: Date
  readonly most: number
  /** Deliveries of one enterprise, or of the platform, that may be under way at a time. */
  readonly mostOfScope: number
  /** One entry for each delivery under way: its enterprise, or '' for the platform. */
  readonly running: readonly string[]
}

/**
 * Takes deliveries that are due, the oldest first. Nobody else takes them before `leaseUntil`; then they are due again, as after an
 * end of this process.
 */
export function claimDeliveries(
  queryable: Queryable,
  { now, leaseUntil, most, mostOfScope, running }: DeliveryClaim,
): Promise<Delivery[]> {
  return queryable.query<Delivery>(
    `UPDATE alert_deliveries SET attempts = attempts + 1, next_at = $2, status = 'pending'
      WHERE ${WAITS} AND next_at <= $1 AND id IN (
        SELECT id FROM (
          SELECT id, next_at, row_number() OVER (PARTITION BY enterprise_id ORDER BY next_at, id) AS place,
            $5 - cardinality(array_positions($4::text[], coalesce(enterprise_id, ''))) AS free
          FROM alert_deliveries
          WHERE ${WAITS} AND next_at <= $1
        ) AS due WHERE place <= free ORDER BY next_at, id LIMIT $3
      )
      RETURNING ${FIELDS}`,
    [now, leaseUntil, most, running, mostOfScope],
  )
}

/**
 * Stores the outcome of an attempt. A delivery that was dropped meanwhile is told as delivered when it was. One that is over has the address
 * of the attempt, also when the channel has got another one meanwhile.
 */
export async function setOutcome(
  queryable: Queryable,
  { id, address }: Pick<Delivery, 'id' | 'address'>,
  outcome: {
    readonly status: 'pending' | 'delivered' | 'failed' | 'dropped'
    readonly nextAt: Date | null
    readonly responseStatus: number | null
    readonly error: string | null
    readonly endedAt: Date | null
  },
): Promise<void> {
  const { status, nextAt, responseStatus, error, endedAt } = outcome
  await queryable.query(
    `UPDATE alert_deliveries SET status = $2, next_at = $3, response_status = $4, error = $5, ended_at = $6,
        address = CASE WHEN $2 = 'pending' THEN address ELSE $7 END
      WHERE id = $1 AND (status = 'pending' OR $2 = 'delivered')`,
    [id, status, nextAt, responseStatus, error === null ? null : storableText(error), endedAt, address],
  )
}

/** Whether a delivery waits, or a summary is to be mailed some time. */
export async function hasWork(queryable: Queryable): Promise<boolean> {
  const [found] = await queryable.query<{ any: boolean }>(
    `SELECT EXISTS (SELECT FROM alert_deliveries WHERE ${WAITS})
        OR EXISTS (SELECT FROM alert_summaries WHERE frequency <> 'off') AS any`,
  )
  return found?.any === true
}

export type DeliveryPlace = Pick<Delivery, 'id' | 'createdAt'>

const MATCHING = `WHERE ${OF_SCOPE} AND ($2::text IS NULL OR alert_id = $2)
  AND ($3::text IS NULL OR status = $3)`

/** Lists the newest first; `after` is the last delivery of the page before. */
export function listDeliveries(
  queryable: Queryable,
  scope: AlertScope,
  filter: DeliveryFilter,
  page: { readonly limit: number; readonly after: DeliveryPlace | null; readonly offset?: number },
): Promise<Delivery[]> {
  const { limit, after, offset = 0 } = page
  return queryable.query<Delivery>(
    `SELECT ${FIELDS} FROM alert_deliveries ${MATCHING} AND ($4::timestamptz IS NULL OR (created_at, id) < ($4, $5))
      ORDER BY created_at DESC, id DESC LIMIT $6 OFFSET $7`,
    [scope, ...valuesOf(filter), after?.createdAt ?? null, after?.id ?? null, limit, offset],
  )
}

/** Counts the deliveries, up to `most`. */
export async function countDeliveries(
  queryable: Queryable,
  scope: AlertScope,
  filter: DeliveryFilter,
  most: number,
): Promise<number> {
  const [counted] = await queryable.query<{ count: number }>(
    `SELECT count(*)::int4 AS count FROM (SELECT 1 FROM alert_deliveries ${MATCHING} LIMIT $4) AS counted`,
    [scope, ...valuesOf(filter), most],
  )
  return counted?.count ?? 0
}

/** Deletes deliveries that are over and older. */
export async function removeDeliveriesBefore(queryable: Queryable, before: Date): Promise<void> {
  await queryable.query(`DELETE FROM alert_deliveries WHERE created_at < $1 AND NOT (${WAITS})`, [before])
}

function valuesOf({ alertId, status }: DeliveryFilter): unknown[] {
  return [alertId === undefined ? null : storableText(alertId), status ?? null]
}
