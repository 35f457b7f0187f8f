import { randomUUID } from 'node:crypto'
import type { Static } from 'typebox'
import { ALERT_KINDS } from '../../shared/api/alert-kinds.ts'
import type { AlertKind } from '../../shared/api/alert-kinds.ts'
import type {
  Alert as ShownAlert,
  AlertDelivery as ShownDelivery,
  ALERTS,
  NewAlert as ShownNewAlert,
} from '../../shared/api/operations/alerts.ts'
import type { BodyOf, QueryOf } from '../../shared/api/operation.ts'
import { GatewayError } from '../../shared/core/errors.ts'
import { generateWebhookSecret } from '../../shared/core/standard-webhooks.ts'
import type { UpstreamReach } from '../../shared/core/upstream-reach.ts'
import { endOfHours } from '../../shared/core/zoned-time.ts'
import type { Seal } from '../../shared/runtime/seal.ts'
import {
  countDeliveries,
  dropForGoneChannels,
  listDeliveries,
  moveHeld,
  readdressWaiting,
} from '../store/alert-deliveries.ts'
import type { Delivery, DeliveryPlace } from '../store/alert-deliveries.ts'
import {
  channelContext,
  countAlerts,
  deleteAlert,
  findAlert,
  insertAlert,
  listAlerts,
  lockAlerts,
  putChannels,
  rotateChannelSecret,
  updateAlert,
} from '../store/alerts.ts'
import type { Alert, AlertChannel, AlertScope, AlertSettings, ChannelChange } from '../store/alerts.ts'
import { findSummary, putSummary } from '../store/alert-summaries.ts'
import type { Database, Queryable } from '../store/database.ts'
import { findEnterprise } from '../store/enterprises.ts'
import type { Handlers } from './call.ts'
import { orNotFound } from './or-not-found.ts'
import { longPageOf, offsetOf, pageOf } from './pages.ts'

const MAX_ALERTS = 100
const DAY_SECONDS = 86_400
const NO_MAIL = 'This installation sends no e-mails: mail.smtp of the configuration file is not set.'

/** The outcome of a test message at one channel. */
interface ChannelTest {
  readonly channel: AlertChannel
  readonly ok: boolean
  readonly status: number | null
  readonly latencyMs: number
  readonly error: string | null
}

export interface AlertParts {
  /** Seals the secrets of webhooks. */
  readonly seal: Seal
  /** The addresses that webhooks may have. */
  readonly reach: UpstreamReach
  /** A mail server is configured. */
  readonly hasMail: boolean
  readonly test: (scope: AlertScope, alert: Alert, signal: AbortSignal) => Promise<ChannelTest[]>
}

type CreateBody = BodyOf<typeof ALERTS.adminCreateAlert>
type ChangeBody = BodyOf<typeof ALERTS.updateAlert>
type ChannelInput = CreateBody['channels'][number]

/** A channel with its secret, where that is new. */
interface Draft extends ChannelChange {
  readonly shown: string | null
}

/** Alerts of enterprises and of the platform, their delivery log, and summaries. */
export function alertHandlers(database: Database, parts: AlertParts): Handlers<keyof typeof ALERTS> {
  const { seal, hasMail, test } = parts

  const list = async (scope: AlertScope, query: QueryOf<typeof ALERTS.listAlerts>) => {
    const { alerts, total } = await listAlerts(database, scope, offsetOf(query))
    return pageOf(alerts, total, query, rendered)
  }

  const create = async (scope: AlertScope, body: CreateBody): Promise<Static<typeof ShownNewAlert>> => {
    const { kind, channels } = body
    const settings = settingsOf(body, NO_SETTINGS)
    checkSettings(kind, scope, settings)
    const drafts = draftsOf(channels, [], parts)
    const id = `alert_${randomUUID()}`
    await database.transaction(async (tx) => {
      await lockAlerts(tx, scope)
      if ((await countAlerts(tx, scope)) >= MAX_ALERTS) {
        throw new GatewayError('CONFLICT', { message: `There are ${MAX_ALERTS} alerts already, which is the limit.` })
      }
      await insertAlert(tx, scope, { id, kind, ...settings })
      await putChannels(tx, id, drafts)
    })
    return renderedNew(orNotFound(await findAlert(database, scope, id)), drafts)
  }

  const update = async (scope: AlertScope, id: string, body: ChangeBody): Promise<Static<typeof ShownNewAlert>> => {
    const drafts = await database.transaction(async (tx) => {
      await lockAlerts(tx, scope)
      const alert = orNotFound(await findAlert(tx, scope, id))
      if (body.kind !== undefined && body.kind !== alert.kind) {
        const message = `The kind of an alert does not change: this one is ${alert.kind}. Make another alert.`
        throw new GatewayError('INVALID_FIELD', { message, param: '/kind' })
      }
      const settings = settingsOf(body, alert)
      checkSettings(alert.kind, scope, settings)
      await updateAlert(tx, scope, id, settings)
      const now = new Date()
      if (body.quiet !== undefined) await moveHeld(tx, id, await quietEnd(tx, scope, settings, now), now)
      if (!settings.enabled) await dropForGoneChannels(tx, id, [], 'The alert was disabled.', now)
      if (body.channels === undefined) return []
      const changed = draftsOf(body.channels, alert.channels, parts)
      await putChannels(tx, id, changed)
      const kept = changed.map((channel) => channel.id)
      await dropForGoneChannels(tx, id, kept, 'The channel was removed.', now)
      await readdressWaiting(tx, id)
      return changed
    })
    return renderedNew(orNotFound(await findAlert(database, scope, id)), drafts)
  }

  const remove = async (scope: AlertScope, id: string): Promise<null> => {
    if (!(await deleteAlert(database, scope, id))) throw new GatewayError('NOT_FOUND')
    await dropForGoneChannels(database, id, [], 'The alert was deleted.', new Date())
    return null
  }

  const find = async (scope: AlertScope, id: string): Promise<Alert> => orNotFound(await findAlert(database, scope, id))

  const tryOut = async (scope: AlertScope, id: string, signal: AbortSignal) => {
    const tests = await test(scope, await find(scope, id), signal)
    return {
      ok: tests.every(({ ok }) => ok),
      channels: tests.map(({ channel, ok, status, latencyMs, error }) => ({
        ...renderedChannel(channel),
        ...{ ok, status, latency_ms: latencyMs, error },
      })),
    }
  }

  const rotate = async (
    scope: AlertScope,
    ids: { readonly alertId: string; readonly channelId: string },
    { grace_seconds: graceSeconds = DAY_SECONDS }: BodyOf<typeof ALERTS.rotateAlertSecret>,
  ) => {
    const secret = generateWebhookSecret()
    const sealed = seal.seal(Buffer.from(secret), channelContext(ids.channelId))
    const oldUntil = graceSeconds === 0 ? null : new Date(Date.now() + graceSeconds * 1000)
    if (!(await rotateChannelSecret(database, scope, ids, sealed, oldUntil))) throw new GatewayError('NOT_FOUND')
    return { channel_id: ids.channelId, secret, old_secret_until: oldUntil?.toISOString() ?? null }
  }

  const deliveries = (scope: AlertScope, query: QueryOf<typeof ALERTS.listAlertDeliveries>) => {
    const filter = { alertId: query.alert_id, status: query.status }
    return longPageOf(
      query,
      {
        read: (stretch) => listDeliveries(database, scope, filter, stretch),
        count: (most) => countDeliveries(database, scope, filter, most),
        cursorOf,
        placeOf,
      },
      renderedDelivery,
    )
  }

  return {
    listAlerts: ({ params, query }) => list(params.id, query),
    createAlert: ({ params, body }) => create(params.id, body),
    getAlert: async ({ params }) => rendered(await find(params.id, params.alertId)),
    updateAlert: ({ params, body }) => update(params.id, params.alertId, body),
    deleteAlert: ({ params }) => remove(params.id, params.alertId),
    testAlert: ({ params, signal }) => tryOut(params.id, params.alertId, signal),
    rotateAlertSecret: ({ params, body }) => rotate(params.id, params, body),
    listAlertDeliveries: ({ params, query }) => deliveries(params.id, query),

    getSummary: async ({ params }) => renderedSummary(await findSummary(database, params.id)),

    updateSummary: async ({ params, body }) => {
      const known = renderedSummary(await findSummary(database, params.id))
      const { frequency = known.frequency, recipients = known.recipients } = body
      if (frequency !== 'off' && recipients.length === 0) {
        const message = 'recipients must name somebody who gets the summary.'
        throw new GatewayError('INVALID_FIELD', { message, param: '/recipients' })
      }
      if (frequency !== 'off' && !hasMail) {
        throw new GatewayError('INVALID_FIELD', { message: NO_MAIL, param: '/frequency' })
      }
      await putSummary(database, params.id, { frequency, recipients: [...new Set(recipients)] })
      return renderedSummary(await findSummary(database, params.id))
    },

    adminListAlerts: ({ query }) => list(null, query),
    adminCreateAlert: ({ body }) => create(null, body),
    adminGetAlert: async ({ params }) => rendered(await find(null, params.id)),
    adminUpdateAlert: ({ params, body }) => update(null, params.id, body),
    adminDeleteAlert: ({ params }) => remove(null, params.id),
    adminTestAlert: ({ params, signal }) => tryOut(null, params.id, signal),
    adminRotateAlertSecret: ({ params, body }) =>
      rotate(null, { alertId: params.id, channelId: params.channelId }, body),
    adminListAlertDeliveries: ({ query }) => deliveries(null, query),
  }
}

const NO_SETTINGS: AlertSettings = {
  name: null,
  threshold: null,
  owners: null,
  minRequests: null,
  quiet: null,
  enabled: true,
}

/** A missing field keeps its value; null removes it. */
function settingsOf(body: ChangeBody, known: AlertSettings): AlertSettings {
  const { name, threshold, owners, min_requests: minRequests, quiet, enabled } = body
  return {
    name: name === undefined ? known.name : name,
    threshold: threshold === undefined ? known.threshold : threshold,
    owners: owners === undefined ? known.owners : owners,
    minRequests: minRequests === undefined ? known.minRequests : minRequests,
    quiet: quiet === undefined ? known.quiet : quiet,
    enabled: enabled ?? known.enabled,
  }
}

/** Throws INVALID_FIELD for a setting that the kind does not have, or that is out of its range. */
function checkSettings(kind: AlertKind, scope: AlertScope, settings: AlertSettings): void {
  const { threshold, owners, minRequests, quiet } = settings
  const invalid = (param: string, message: string): GatewayError =>
    new GatewayError('INVALID_FIELD', { param, message })
  const { range } = ALERT_KINDS[kind]
  if (threshold !== null && range === null) throw invalid('/threshold', `An alert of kind ${kind} has no threshold.`)
  if (threshold !== null && range !== null && (threshold < range.least || threshold > range.most)) {
    throw invalid('/threshold', `threshold must be between ${range.least} and ${range.most} for the kind ${kind}.`)
  }
  if (owners !== null && (kind !== 'budget' || scope === null)) {
    throw invalid('/owners', 'Only budget alerts of an enterprise have owners.')
  }
  if (minRequests !== null && kind !== 'error_rate' && kind !== 'latency') {
    throw invalid('/min_requests', 'Only alerts of the kinds error_rate and latency have min_requests.')
  }
  if (quiet !== null && quiet.from === quiet.to) {
    throw invalid('/quiet/to', 'quiet.to must differ from quiet.from. To send nothing at all, set enabled to false.')
  }
}

async function quietEnd(
  queryable: Queryable,
  scope: AlertScope,
  { quiet }: AlertSettings,
  now: Date,
): Promise<Date | null> {
  if (quiet === null) return null
  const enterprise = scope === null ? null : await findEnterprise(queryable, scope)
  const endMs = endOfHours(quiet, enterprise?.timeZone ?? 'UTC', now.getTime())
  return endMs === null ? null : new Date(endMs)
}

/** The channels as they are stored. A known one keeps its secret; it is known by its id, or by its address. */
function draftsOf(inputs: readonly ChannelInput[], known: readonly AlertChannel[], parts: AlertParts): Draft[] {
  const drafts: Draft[] = []
  for (const [index, input] of inputs.entries()) {
    const { type, address } = addressOf(input, `/channels/${index}`, parts)
    if (drafts.some((one) => one.type === type && one.address === address)) {
      throw new GatewayError('INVALID_FIELD', { message: 'This address is listed twice.', param: `/channels/${index}` })
    }
    const kept = known.find((one) => one.type === type && (one.id === input.id || one.address === address))
    const isFree = kept !== undefined && drafts.every(({ id }) => id !== kept.id)
    drafts.push(
      isFree ? { id: kept.id, type, address, secret: null, shown: null } : newDraft(type, address, parts.seal),
    )
  }
  return drafts
}

function newDraft(type: AlertChannel['type'], address: string, seal: Seal): Draft {
  const id = `chan_${randomUUID()}`
  if (type === 'mail') return { id, type, address, secret: null, shown: null }
  const shown = generateWebhookSecret()
  return { id, type, address, secret: seal.seal(Buffer.from(shown), channelContext(id)), shown }
}

function addressOf(
  { webhook, mail }: ChannelInput,
  at: string,
  { reach, hasMail }: AlertParts,
): Pick<AlertChannel, 'type' | 'address'> {
  const isMail = typeof mail === 'string'
  if (isMail === (typeof webhook === 'string')) {
    throw new GatewayError('INVALID_FIELD', {
      message: 'A channel is either {"webhook": "https://…"} or {"mail": "somebody@example.com"}.',
      param: at,
    })
  }
  if (isMail) {
    if (!hasMail) throw new GatewayError('INVALID_FIELD', { message: NO_MAIL, param: `${at}/mail` })
    return { type: 'mail', address: mail }
  }
  const refuse = (reason: string): GatewayError =>
    new GatewayError('INVALID_FIELD', { message: `webhook ${reason}.`, param: `${at}/webhook` })
  if (typeof webhook !== 'string' || !URL.canParse(webhook))
    throw refuse('must be an address like https://hooks.example.com/sluice')
  const url = new URL(webhook)
  if (url.protocol !== 'https:' && url.protocol !== 'http:') throw refuse('must begin with https://')
  if (url.username !== '' || url.password !== '') throw refuse('must not hold a user or password')
  if (url.hash !== '') throw refuse('must not hold a fragment')
  const refusal = reach.refusalOf(url)
  if (refusal !== null) throw refuse(refusal)
  return { type: 'webhook', address: url.href }
}

function rendered(alert: Alert): Static<typeof ShownAlert> {
  return {
    id: alert.id,
    name: alert.name,
    kind: alert.kind,
    threshold: alert.threshold,
    owners: alert.owners === null ? null : [...alert.owners],
    min_requests: alert.minRequests,
    channels: alert.channels.map(renderedChannel),
    quiet: alert.quiet,
    enabled: alert.enabled,
    firing: [...alert.firing],
    created_at: alert.createdAt.toISOString(),
    updated_at: alert.updatedAt.toISOString(),
  }
}

function renderedNew(alert: Alert, drafts: readonly Draft[]): Static<typeof ShownNewAlert> {
  const secrets = new Map(drafts.map(({ id, shown }) => [id, shown]))
  const { channels, ...shown } = rendered(alert)
  return { ...shown, channels: channels.map((channel) => ({ ...channel, secret: secrets.get(channel.id) ?? null })) }
}

function renderedChannel({ id, type, address }: AlertChannel): {
  id: string
  webhook: string | null
  mail: string | null
} {
  return { id, webhook: type === 'webhook' ? address : null, mail: type === 'mail' ? address : null }
}

function renderedSummary(settings: Awaited<ReturnType<typeof findSummary>>) {
  return { frequency: settings?.frequency ?? ('off' as const), recipients: [...(settings?.recipients ?? [])] }
}

function renderedDelivery(delivery: Delivery): Static<typeof ShownDelivery> {
  const { type, address, status } = delivery
  const waits = status === 'pending' || status === 'held'
  return {
    id: delivery.id,
    event_id: delivery.eventId,
    alert_id: delivery.alertId,
    kind: delivery.kind,
    subject: delivery.subject,
    message: delivery.message,
    webhook: type === 'webhook' ? address : null,
    mail: type === 'mail' ? address : null,
    status,
    attempts: delivery.attempts,
    next_attempt_at: waits ? (delivery.nextAt?.toISOString() ?? null) : null,
    response_status: delivery.responseStatus,
    error: delivery.error,
    created_at: delivery.createdAt.toISOString(),
    ended_at: delivery.endedAt?.toISOString() ?? null,
  }
}

function cursorOf({ createdAt, id }: Delivery): string {
  return Buffer.from(JSON.stringify([createdAt.getTime(), id])).toString('base64url')
}

function placeOf(cursor: string): DeliveryPlace {
  const [atMs, id] = JSON.parse(Buffer.from(cursor, 'base64url').toString()) as unknown[]
  if (typeof id !== 'string' || !Number.isSafeInteger(atMs)) throw new RangeError('the cursor is not valid')
  return { createdAt: new Date(atMs as number), id }
}
