import { Type } from 'typebox'
import type { TSchema, TUnsafe } from 'typebox'
import type { LOG_FIELDS, LogFieldsWith, LogFieldType, LogValue, NamedLogField } from '../../records/log-fields.ts'
import { LOG_FIELD_LIST } from '../../records/log-fields.ts'
import { MAX_TAGS } from '../../records/tag-limits.ts'
import { nounOrNull, nullable } from '../nullable.ts'
import { Bodies } from '../capture.ts'
import { EVENT_STREAM, Id, longListOf, LongPageQuery, NOTHING, ok, operation, Time } from '../operation.ts'

const Search = Type.String({ minLength: 2, maxLength: 200 })

const Model = Type.String({ minLength: 1, maxLength: 256 })

/** Tags are separated from their names by a colon; the array is a parameter that is repeated. */
const Tag = Type.Array(Type.String({ pattern: '^[^:]{1,64}:[\\s\\S]{1,64}$', examples: ['team:red'] }), {
  description: 'name:value of a tag; the first colon ends the name. Repeated: requests that have all of them.',
  minItems: 1,
  maxItems: MAX_TAGS,
  examples: [['team:red']],
})

/** The filters of requests, here and in statistics. */
export const DimensionFilter = {
  key_id: Type.Optional(Id),
  model: Type.Optional(Model),
  endpoint: Type.Optional(Type.String({ minLength: 1, maxLength: 64, examples: ['chat.completions'] })),
  status: Type.Optional(
    Type.Integer({ description: '0: the process ended before the answer did.', minimum: 0, maximum: 999 }),
  ),
  tag: Type.Optional(Tag),
}
export const OwnFilter = { ...DimensionFilter, enterprise_id: Type.Optional(Id) }
export const EnterpriseFilter = {
  ...DimensionFilter,
  department_id: Type.Optional(Id),
  member_id: Type.Optional(Id),
  user_id: Type.Optional({ ...Id, description: "The user's own keys, and keys that were issued to the user." }),
}
export const PlatformFilter = {
  ...EnterpriseFilter,
  enterprise_id: Type.Optional(Id),
  provider_id: Type.Optional(Id),
  upstream_key_id: Type.Optional(Id),
}

const RowFilter = {
  from: Type.Optional(Time),
  to: Type.Optional(Time),
  error_type: Type.Optional(Type.String({ minLength: 1, maxLength: 64 })),
  user_agent: Type.Optional(Search),
  request_id: Type.Optional(Search),
  trace_id: Type.Optional(Type.String({ minLength: 1, maxLength: 64 })),
}

const Format = Type.Optional(Type.Enum(['csv', 'ndjson'], { default: 'csv' }))

const WithBodies = {
  bodies: Type.Optional(
    Type.Boolean({
      description:
        'Show captured bodies too. Needs the right log.read_bodies, and leaves a row in the audit log. In files: request_body and answer_body.',
      default: false,
    }),
  ),
}

const FILE = { status: 200, schema: null, media: ['text/csv', 'application/x-ndjson'] } as const

const SCHEMAS = {
  id: () => Id,
  time: () => Time,
  text: (options) => Type.String(options),
  flag: (options) => Type.Boolean(options),
  status: (options) => nullable(Type.Integer(options)),
  count: (options) => Type.Integer({ ...options, minimum: 0 }),
  money: (options) => Type.Integer(options),
  /** The number of attempts. */
  attempts: (options) => Type.Integer({ ...options, minimum: 0 }),
  tags: (options) => Type.Record(Type.String(), Type.String(), options),
} as const satisfies Record<LogFieldType, (options: { description?: string }) => TSchema>

/** The types of fields in JSON. */
interface JsonTypes {
  readonly id: string
  readonly time: string
  readonly text: string
  readonly flag: boolean
  readonly status: number | null
  readonly count: number
  readonly money: number
  readonly attempts: number
  readonly tags: Readonly<Record<string, string>>
}

type Shown = LogFieldsWith<{ readonly api: string }>
type ForAdmins = LogFieldsWith<{ readonly api: string; readonly adminsOnly: true }>
type Entry<Names extends Shown> = {
  [Name in Names as (typeof LOG_FIELDS)[Name]['api']]: TUnsafe<LogValue<Name, JsonTypes>>
}

const Captured = {
  captured: Type.Boolean({
    description: 'There are captured bodies; bodies=true shows them to callers with the right.',
  }),
}

export const LogEntry = Type.Object({
  ...propertiesOf<Exclude<Shown, ForAdmins>>(({ isForAdmins }) => !isForAdmins),
  ...Captured,
})

/** With the fields about upstreams that only admins see. */
export const AdminLogEntry = Type.Object({ ...propertiesOf<Shown>(() => true), ...Captured })

function propertiesOf<Names extends Shown>(isShown: (field: NamedLogField) => boolean): Entry<Names> {
  const properties = LOG_FIELD_LIST.filter(isShown).flatMap((field) =>
    field.api === null ? [] : [[field.api, schemaOf(field)] as const],
  )
  return Object.fromEntries(properties) as Entry<Names>
}

function schemaOf({ type, isNullable, about }: NamedLogField): TSchema {
  const schema = SCHEMAS[type](about === null ? {} : { description: about })
  return isNullable ? nullable(schema) : schema
}

const ShownBodies = { bodies: Type.Optional(nounOrNull(Bodies)) }

export const LogEntryWithBodies = Type.Object({ ...LogEntry.properties, ...ShownBodies })

export const LogDetail = Type.Object({
  ...AdminLogEntry.properties,
  attempts: Type.Array(Type.Unsafe<object>({ type: 'object' }), {
    description: 'Each attempt with its upstream key, its outcome, and why this key was chosen and others were not.',
  }),
  ...ShownBodies,
})

/**
 * Events: `ready`; `requests` with the entries of the list, newest first, and how many more there were; `now` with the load of the
 * platform; `end` with the reason. Comments keep the stream alive.
 */
const EVENTS = { status: 200, schema: null, media: EVENT_STREAM } as const

export const LOGS = {
  listLogs: operation({
    method: 'GET',
    path: '/api/logs',
    tag: 'Request log',
    summary: 'Your requests, newest first: those of your keys, and of keys that were issued to you',
    access: 'user',
    query: Type.Object({ ...OwnFilter, ...RowFilter, ...LongPageQuery }),
    answer: ok(longListOf(LogEntry)),
  }),
  exportLogs: operation({
    method: 'GET',
    path: '/api/logs/export',
    tag: 'Request log',
    summary: 'Your requests as a file, newest first',
    access: 'user',
    bodiesAccess: 'user',
    query: Type.Object({ ...OwnFilter, ...RowFilter, format: Format, ...WithBodies }),
    answer: FILE,
  }),
  streamLogs: operation({
    method: 'GET',
    path: '/api/logs/stream',
    tag: 'Request log',
    summary: 'Your requests as they end, as server-sent events',
    access: 'user',
    query: Type.Object({ ...OwnFilter, ...RowFilter }),
    answer: EVENTS,
  }),
  getLog: operation({
    method: 'GET',
    path: '/api/logs/{id}',
    tag: 'Request log',
    summary: 'One of your requests',
    access: 'user',
    bodiesAccess: 'user',
    query: Type.Object(WithBodies),
    answer: ok(LogEntryWithBodies),
  }),
  enterpriseLogs: operation({
    method: 'GET',
    path: '/v1/enterprise/{id}/logs',
    tag: 'Request log',
    summary: 'The requests of an enterprise, newest first',
    access: 'logs.read',
    query: Type.Object({ ...EnterpriseFilter, ...RowFilter, ...LongPageQuery }),
    answer: ok(longListOf(LogEntry)),
  }),
  exportEnterpriseLogs: operation({
    method: 'GET',
    path: '/v1/enterprise/{id}/logs/export',
    tag: 'Request log',
    summary: 'The requests of an enterprise as a file, newest first',
    access: 'logs.read',
    bodiesAccess: 'log.read_bodies',
    query: Type.Object({ ...EnterpriseFilter, ...RowFilter, format: Format, ...WithBodies }),
    answer: FILE,
  }),
  streamEnterpriseLogs: operation({
    method: 'GET',
    path: '/v1/enterprise/{id}/logs/stream',
    tag: 'Request log',
    summary: 'The requests of an enterprise as they end, as server-sent events',
    access: 'logs.read',
    query: Type.Object({ ...EnterpriseFilter, ...RowFilter }),
    answer: EVENTS,
  }),
  getEnterpriseLog: operation({
    method: 'GET',
    path: '/v1/enterprise/{id}/logs/{logId}',
    tag: 'Request log',
    summary: 'One request of an enterprise',
    access: 'logs.read',
    bodiesAccess: 'log.read_bodies',
    query: Type.Object(WithBodies),
    answer: ok(LogEntryWithBodies),
  }),
  adminListLogs: operation({
    method: 'GET',
    path: '/v1/admin/logs',
    tag: 'Platform',
    summary: 'The requests of everyone, newest first',
    access: 'platform-admin',
    query: Type.Object({ ...PlatformFilter, ...RowFilter, ...LongPageQuery }),
    answer: ok(longListOf(AdminLogEntry)),
  }),
  adminExportLogs: operation({
    method: 'GET',
    path: '/v1/admin/logs/export',
    tag: 'Platform',
    summary: 'The requests of everyone as a file, newest first',
    access: 'platform-admin',
    bodiesAccess: 'platform-admin',
    query: Type.Object({ ...PlatformFilter, ...RowFilter, format: Format, ...WithBodies }),
    answer: FILE,
  }),
  adminLive: operation({
    method: 'GET',
    path: '/v1/admin/live',
    tag: 'Platform',
    summary: 'The requests of everyone as they end, and the load every second, as server-sent events',
    access: 'platform-admin',
    query: Type.Object({ ...PlatformFilter, ...RowFilter }),
    answer: EVENTS,
  }),
  adminGetLog: operation({
    method: 'GET',
    path: '/v1/admin/logs/{id}',
    tag: 'Platform',
    summary: 'One request, with all its attempts',
    access: 'platform-admin',
    bodiesAccess: 'platform-admin',
    query: Type.Object(WithBodies),
    answer: ok(LogDetail),
  }),
  eraseAllBodies: operation({
    method: 'DELETE',
    path: '/api/logs/bodies',
    tag: 'Request log',
    summary: 'Erase all captured bodies of your own keys, for good',
    access: 'user',
    answer: NOTHING,
  }),
  eraseBodies: operation({
    method: 'DELETE',
    path: '/api/logs/{id}/bodies',
    tag: 'Request log',
    summary: 'Erase the captured bodies of one of your requests, for good',
    access: 'user',
    answer: NOTHING,
  }),
  eraseAllEnterpriseBodies: operation({
    method: 'DELETE',
    path: '/v1/enterprise/{id}/logs/bodies',
    tag: 'Request log',
    summary: 'Erase all captured bodies of an enterprise, for good. For owners',
    access: 'log.erase_bodies',
    answer: NOTHING,
  }),
  eraseEnterpriseBodies: operation({
    method: 'DELETE',
    path: '/v1/enterprise/{id}/logs/{logId}/bodies',
    tag: 'Request log',
    summary: 'Erase the captured bodies of one request of an enterprise, for good. For owners',
    access: 'log.erase_bodies',
    answer: NOTHING,
  }),
  adminEraseBodies: operation({
    method: 'DELETE',
    path: '/v1/admin/logs/{id}/bodies',
    tag: 'Platform',
    summary: 'Erase the captured bodies of one request, for good',
    access: 'platform-admin',
    answer: NOTHING,
  }),
} as const
