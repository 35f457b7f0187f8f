import { randomUUID } from 'node:crypto'
import { ALERT_KINDS } from '../../shared/api/alert-kinds.ts'
import { endOfHours } from '../../shared/core/zoned-time.ts'
import type { Alert, AlertChannel, AlertScope, WatchedAlert } from '../store/alerts.ts'
import type { NewDelivery } from '../store/alert-deliveries.ts'
import { oneLine } from './amounts.ts'
import type { Reading } from './crossing.ts'

/** A message is tried for this time. */
const TRIED_MS = 86_400_000

/** One thing to tell, for all channels of an alert. */
export interface AlertEvent {
  readonly id: string
  /** The kind of the alert, or `test`. */
  readonly kind: string
  readonly subject: string
  readonly message: string
  readonly atMs: number
  readonly data: Readonly<Record<string, unknown>>
}

/** An e-mail as a delivery holds it. */
export interface StoredLetter {
  readonly subject: string
  readonly text: string
}

export function crossingEvent(
  alert: WatchedAlert,
  { subject, details }: Reading,
  level: number,
  nowMs: number,
): AlertEvent {
  const { type, id, name, say, thresholdOf, shownValue } = details
  const { unit } = ALERT_KINDS[alert.kind]
  return {
    id: newEventId(),
    kind: alert.kind,
    subject,
    message: say(level),
    atMs: nowMs,
    data: {
      subject: { type, id, name },
      value: shownValue,
      threshold: unit === null ? null : (thresholdOf?.(level) ?? level),
      unit,
    },
  }
}

export function testEvent(alert: Alert, nowMs: number): AlertEvent {
  const message = `This is a test of the alert ${oneLine(alert.name ?? alert.id)}. Nothing has happened.`
  const data = { subject: null, value: null, threshold: null, unit: null }
  return { id: newEventId(), kind: 'test', subject: 'test', message, atMs: nowMs, data }
}

/** The message for one channel, to be sent now, or at the end of quiet hours. */
export function deliveryOf(
  event: AlertEvent,
  alert: Pick<Alert, 'id' | 'name' | 'kind' | 'quiet'>,
  channel: AlertChannel,
  to: { readonly enterpriseId: AlertScope; readonly timeZone: string },
): NewDelivery {
  const { atMs } = event
  const quietEndMs = alert.quiet === null ? null : endOfHours(alert.quiet, to.timeZone, atMs)
  const dueMs = quietEndMs ?? atMs
  return {
    id: `del_${randomUUID()}`,
    eventId: event.id,
    enterpriseId: to.enterpriseId,
    alertId: alert.id,
    channelId: channel.id,
    kind: event.kind,
    subject: event.subject,
    message: event.message,
    type: channel.type,
    address: channel.address,
    body:
      channel.type === 'webhook' ? payloadOf(event, alert, to.enterpriseId) : JSON.stringify(letterOf(event, alert)),
    status: quietEndMs === null ? 'pending' : 'held',
    nextAt: new Date(dueMs),
    expiresAt: new Date(dueMs + TRIED_MS),
    error: null,
    createdAt: new Date(atMs),
  }
}

function newEventId(): string {
  return `evt_${randomUUID()}`
}

/** In the form that Standard Webhooks recommends. */
function payloadOf(event: AlertEvent, alert: Pick<Alert, 'id' | 'name' | 'kind'>, enterpriseId: AlertScope): string {
  return JSON.stringify({
    type: `alert.${event.kind}`,
    timestamp: new Date(event.atMs).toISOString(),
    data: {
      event_id: event.id,
      alert_id: alert.id,
      alert_name: alert.name,
      kind: alert.kind,
      enterprise_id: enterpriseId,
      message: event.message,
      ...event.data,
    },
  })
}

/** Its subject contains no text that users chose. */
function letterOf({ kind, message, atMs }: AlertEvent, alert: Pick<Alert, 'id' | 'name'>): StoredLetter {
  const name = alert.name === null ? alert.id : `${oneLine(alert.name)} (${alert.id})`
  return {
    subject: `Sluice alert: ${kind.replaceAll('_', ' ')}`,
    text: [message, '', `Time: ${new Date(atMs).toISOString()}`, `Alert: ${name}`, ''].join('\n'),
  }
}
