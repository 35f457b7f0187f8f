import { Type } from 'typebox'
import { ALL_ALERT_KINDS, ENTERPRISE_ALERT_KINDS } from '../alert-kinds.ts'
import type { AlertKind } from '../alert-kinds.ts'
import { nullable } from '../nullable.ts'
import {
  created,
  Id,
  listOf,
  longListOf,
  LongPageQuery,
  Name,
  NOTHING,
  ok,
  operation,
  PageQuery,
  Time,
} from '../operation.ts'

const EMAIL = '^[^@\\s<>,;"]{1,64}@[^@\\s<>,;"]{1,190}$'
const OWNERS = ['enterprise', 'department', 'member', 'key'] as const

/** The outcomes of a delivery. */
export const DELIVERY_STATUSES = ['pending', 'held', 'delivered', 'failed', 'dropped'] as const

const Webhook = Type.String({
  description: 'https:// and a public address, unless alerts.private_webhooks lists the host.',
  minLength: 1,
  maxLength: 2_000,
  examples: ['https://hooks.example.com/sluice'],
})
const Mail = Type.String({
  description: 'An e-mail address.',
  pattern: EMAIL,
  maxLength: 254,
  examples: ['ops@example.com'],
})

const Clock = (description: string, example: string) =>
  Type.String({ description, pattern: '^([01][0-9]|2[0-3]):[0-5][0-9]$', examples: [example] })

const Quiet = Type.Object(
  {
    from: Clock('The first minute.', '22:00'),
    to: Clock('The first minute after.', '07:00'),
  },
  {
    description:
      'Hours of each day, in the time zone of the enterprise (of the platform: UTC). What begins then is sent at their end, or dropped when it is over by then. Null: none.',
  },
)

const Threshold = Type.Number({
  description:
    'budget, wallet: percent that is used (default: 50, 80 and 100); error_rate: percent of requests (10); latency: milliseconds of the mean time to the first byte (10 000); journal_behind: seconds (journal.alert_lag_ms); certificate: days that are left (14, 7 and 1). Null: the default.',
})

const Owners = Type.Array(Type.Enum([...OWNERS]), {
  description: 'Only of budget alerts of an enterprise: whose budgets count. Null: all.',
  minItems: 1,
  maxItems: OWNERS.length,
})

const MinRequests = Type.Integer({
  description:
    'Only of error_rate and latency: requests of the last five minutes below which nothing is said. Default: 20.',
  minimum: 1,
  maximum: 1_000_000,
})

const Enabled = Type.Boolean({ description: 'False: it watches nothing.' })

const Kind = (kinds: readonly AlertKind[]) => Type.Enum([...kinds], { description: 'What it watches.' })

const Channel = Type.Object({
  id: Id,
  webhook: nullable(Webhook),
  mail: nullable(Mail),
})

export const Alert = Type.Object({
  id: Id,
  name: nullable(Name),
  kind: Kind(ALL_ALERT_KINDS),
  threshold: nullable(Threshold),
  owners: nullable(Owners),
  min_requests: nullable(MinRequests),
  channels: Type.Array(Channel),
  quiet: nullable(Quiet),
  enabled: Enabled,
  firing: Type.Array(
    Type.Object({
      subject: Type.String({ description: 'As in its deliveries.' }),
      level: Type.Number({ description: 'The highest threshold that was crossed.' }),
    }),
    { description: 'What is beyond a threshold now.' },
  ),
  created_at: Time,
  updated_at: Time,
})

const Secret = nullable(
  Type.String({ description: 'The secret of a webhook that is new, shown this once. Null otherwise.' }),
)

/** An alert with the secrets of its new webhooks. */
export const NewAlert = Type.Object({
  ...Alert.properties,
  channels: Type.Array(Type.Object({ ...Channel.properties, secret: Secret })),
})

const ChannelInput = Type.Object({
  id: Type.Optional(Type.String({ description: 'Of a channel that is kept, with its secret.', maxLength: 200 })),
  webhook: Type.Optional(nullable(Webhook)),
  mail: Type.Optional(nullable(Mail)),
})

const Channels = Type.Array(ChannelInput, {
  description: 'Each is a webhook or an e-mail address.',
  minItems: 1,
  maxItems: 10,
  examples: [[{ webhook: 'https://hooks.example.com/sluice' }]],
})

const Settings = {
  name: Type.Optional(nullable(Name)),
  threshold: Type.Optional(nullable(Threshold)),
  owners: Type.Optional(nullable(Owners)),
  min_requests: Type.Optional(nullable(MinRequests)),
  quiet: Type.Optional(nullable(Quiet)),
  enabled: Type.Optional(Enabled),
}

const NewBody = (kinds: readonly AlertKind[]) => Type.Object({ kind: Kind(kinds), channels: Channels, ...Settings })
const ChangeBody = Type.Object({
  kind: Type.Optional({ ...Kind(ALL_ALERT_KINDS), description: 'Stays what it is.' }),
  channels: Type.Optional(Channels),
  ...Settings,
})

/** One attempt for each channel, with its outcome. */
const TestAnswer = Type.Object({
  ok: Type.Boolean({ description: 'All channels took the message.' }),
  channels: Type.Array(
    Type.Object({
      ...Channel.properties,
      ok: Type.Boolean(),
      status: nullable(Type.Integer({ description: 'HTTP status of the receiver; null: there was none.' })),
      latency_ms: Type.Integer({ minimum: 0 }),
      error: nullable(Type.String()),
    }),
  ),
})

const RotateBody = Type.Object({
  grace_seconds: Type.Optional(
    Type.Integer({
      description: 'How long messages are signed with the old secret too.',
      minimum: 0,
      maximum: 604_800,
      default: 86_400,
    }),
  ),
})

const NewSecret = Type.Object({
  channel_id: Id,
  secret: Type.String({ description: 'Shown this once.' }),
  old_secret_until: nullable({ ...Time, description: 'Until then the old one signs too. Null: it does not.' }),
})

export const AlertDelivery = Type.Object({
  id: Id,
  event_id: Type.String({ description: 'The webhook-id: the same for all attempts and channels of one message.' }),
  alert_id: nullable(Type.String({ description: 'Null: a summary.' })),
  kind: Type.String({ description: 'The kind of the alert, test or summary.' }),
  subject: Type.String({ description: 'What crossed its threshold.' }),
  message: Type.String(),
  webhook: nullable(Type.String()),
  mail: nullable(Type.String()),
  status: Type.Enum([...DELIVERY_STATUSES], {
    description:
      'pending: to be sent, or sent again; held: quiet hours; failed: tried for a day; dropped: over before it was sent, or nobody to send it to.',
  }),
  attempts: Type.Integer({ minimum: 0 }),
  next_attempt_at: nullable(Time),
  response_status: nullable(Type.Integer({ description: 'HTTP status of the last attempt.' })),
  error: nullable(Type.String({ description: 'Why the last attempt failed, or why it was dropped.' })),
  created_at: Time,
  ended_at: nullable(Time),
})

const DeliveriesQuery = Type.Object({
  ...LongPageQuery,
  alert_id: Type.Optional(Id),
  status: Type.Optional(Type.Enum([...DELIVERY_STATUSES])),
})

export const SummaryMail = Type.Object({
  frequency: Type.Enum(['off', 'daily', 'weekly'], {
    description: 'Sent at 08:00 in the time zone of the enterprise, of yesterday or, on Mondays, of the week before.',
  }),
  recipients: Type.Array(Mail, { maxItems: 20 }),
})

export const ALERTS = {
  listAlertDeliveries: operation({
    method: 'GET',
    path: '/v1/enterprise/{id}/alerts/deliveries',
    tag: 'Alerts',
    summary: 'Messages of alerts and summaries with their outcome, newest first',
    access: 'alerts.read',
    query: DeliveriesQuery,
    answer: ok(longListOf(AlertDelivery)),
  }),
  listAlerts: operation({
    method: 'GET',
    path: '/v1/enterprise/{id}/alerts',
    tag: 'Alerts',
    summary: 'The alerts of the enterprise',
    access: 'alerts.read',
    query: Type.Object(PageQuery),
    answer: ok(listOf(Alert)),
  }),
  createAlert: operation({
    method: 'POST',
    path: '/v1/enterprise/{id}/alerts',
    tag: 'Alerts',
    summary: 'Make an alert of the enterprise; secrets of webhooks are shown once',
    access: 'alerts.manage',
    body: NewBody(ENTERPRISE_ALERT_KINDS),
    answer: created(NewAlert),
  }),
  getAlert: operation({
    method: 'GET',
    path: '/v1/enterprise/{id}/alerts/{alertId}',
    tag: 'Alerts',
    summary: 'One alert',
    access: 'alerts.read',
    answer: ok(Alert),
  }),
  updateAlert: operation({
    method: 'PUT',
    path: '/v1/enterprise/{id}/alerts/{alertId}',
    tag: 'Alerts',
    summary: 'Change an alert; channels that are new get their secrets',
    access: 'alerts.manage',
    body: ChangeBody,
    answer: ok(NewAlert),
  }),
  deleteAlert: operation({
    method: 'DELETE',
    path: '/v1/enterprise/{id}/alerts/{alertId}',
    tag: 'Alerts',
    summary: 'Delete an alert; what waits to be sent is dropped',
    access: 'alerts.manage',
    answer: NOTHING,
  }),
  testAlert: operation({
    method: 'POST',
    path: '/v1/enterprise/{id}/alerts/{alertId}/test',
    tag: 'Alerts',
    summary: 'Send a test message to every channel, once, and tell what came of it',
    access: 'alerts.manage',
    isChange: false,
    answer: ok(TestAnswer),
  }),
  rotateAlertSecret: operation({
    method: 'POST',
    path: '/v1/enterprise/{id}/alerts/{alertId}/channels/{channelId}/rotate',
    tag: 'Alerts',
    summary: 'Give a webhook a new secret; the old one signs too for the grace period',
    access: 'alerts.manage',
    body: RotateBody,
    answer: ok(NewSecret),
  }),
  getSummary: operation({
    method: 'GET',
    path: '/v1/enterprise/{id}/summary',
    tag: 'Alerts',
    summary: 'Whether a summary is mailed, and to whom',
    access: 'alerts.read',
    answer: ok(SummaryMail),
  }),
  updateSummary: operation({
    method: 'PUT',
    path: '/v1/enterprise/{id}/summary',
    tag: 'Alerts',
    summary: 'Have a summary mailed: requests, spend, top models, errors',
    access: 'alerts.manage',
    body: Type.Object({
      frequency: Type.Optional(SummaryMail.properties.frequency),
      recipients: Type.Optional(SummaryMail.properties.recipients),
    }),
    answer: ok(SummaryMail),
  }),
  adminListAlertDeliveries: operation({
    method: 'GET',
    path: '/v1/admin/alerts/deliveries',
    tag: 'Alerts',
    summary: 'Messages of the alerts of the platform with their outcome, newest first',
    access: 'platform-admin',
    query: DeliveriesQuery,
    answer: ok(longListOf(AlertDelivery)),
  }),
  adminListAlerts: operation({
    method: 'GET',
    path: '/v1/admin/alerts',
    tag: 'Alerts',
    summary: 'The alerts of the platform',
    access: 'platform-admin',
    query: Type.Object(PageQuery),
    answer: ok(listOf(Alert)),
  }),
  adminCreateAlert: operation({
    method: 'POST',
    path: '/v1/admin/alerts',
    tag: 'Alerts',
    summary: 'Make an alert of the platform; secrets of webhooks are shown once',
    access: 'platform-admin',
    body: NewBody(ALL_ALERT_KINDS),
    answer: created(NewAlert),
  }),
  adminGetAlert: operation({
    method: 'GET',
    path: '/v1/admin/alerts/{id}',
    tag: 'Alerts',
    summary: 'One alert of the platform',
    access: 'platform-admin',
    answer: ok(Alert),
  }),
  adminUpdateAlert: operation({
    method: 'PUT',
    path: '/v1/admin/alerts/{id}',
    tag: 'Alerts',
    summary: 'Change an alert of the platform; channels that are new get their secrets',
    access: 'platform-admin',
    body: ChangeBody,
    answer: ok(NewAlert),
  }),
  adminDeleteAlert: operation({
    method: 'DELETE',
    path: '/v1/admin/alerts/{id}',
    tag: 'Alerts',
    summary: 'Delete an alert of the platform; what waits to be sent is dropped',
    access: 'platform-admin',
    answer: NOTHING,
  }),
  adminTestAlert: operation({
    method: 'POST',
    path: '/v1/admin/alerts/{id}/test',
    tag: 'Alerts',
    summary: 'Send a test message to every channel, once, and tell what came of it',
    access: 'platform-admin',
    isChange: false,
    answer: ok(TestAnswer),
  }),
  adminRotateAlertSecret: operation({
    method: 'POST',
    path: '/v1/admin/alerts/{id}/channels/{channelId}/rotate',
    tag: 'Alerts',
    summary: 'Give a webhook a new secret; the old one signs too for the grace period',
    access: 'platform-admin',
    body: RotateBody,
    answer: ok(NewSecret),
  }),
} as const
