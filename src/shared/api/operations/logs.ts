import { Type } from 'typebox'
import type { TSchema, TUnsafe } from 'typebox'
import type { LOG_FIELDS, LogFieldsWith, LogFieldType, LogValue, NamedLogField } from '../../records/log-fields.ts'
import { LOG_FIELD_LIST } from '../../records/log-fields.ts'
import { nullable } from '../nullable.ts'
import { Id, longListOf, LongPageQuery, ok, operation, Time } from '../operation.ts'

const Search = Type.String({ minLength: 2, maxLength: 200 })

const Filter = {
  from: Type.Optional(Time),
  to: Type.Optional(Time),
  key_id: Type.Optional(Id),
  model: Type.Optional(Type.String({ minLength: 1, maxLength: 256 })),
  status: Type.Optional(Type.Integer({ minimum: 1, maximum: 999 })),
  error_type: Type.Optional(Type.String({ minLength: 1, maxLength: 64 })),
  user_agent: Type.Optional(Search),
  request_id: Type.Optional(Search),
  trace_id: Type.Optional(Type.String({ minLength: 1, maxLength: 64 })),
}

const LogQuery = Type.Object({ ...Filter, ...LongPageQuery })

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
}

type Shown = LogFieldsWith<{ readonly api: string }>
type ForAdmins = LogFieldsWith<{ readonly api: string; readonly adminsOnly: true }>
type Entry<Names extends Shown> = {
  [Name in Names as (typeof LOG_FIELDS)[Name]['api']]: TUnsafe<LogValue<Name, JsonTypes>>
}

export const LogEntry = Type.Object(propertiesOf<Exclude<Shown, ForAdmins>>(({ isForAdmins }) => !isForAdmins))

/** With the fields about upstreams that only admins see. */
export const AdminLogEntry = Type.Object(propertiesOf<Shown>(() => true))

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

export const LogDetail = Type.Object({
  ...AdminLogEntry.properties,
  attempts: Type.Array(Type.Unsafe<object>({ type: 'object' }), {
    description: 'Each attempt with its upstream key, its outcome, and why this key was chosen and others were not.',
  }),
})

export const LOGS = {
  listLogs: operation({
    method: 'GET',
    path: '/api/logs',
    tag: 'Request log',
    summary: 'Your requests, newest first',
    access: 'user',
    query: LogQuery,
    answer: ok(longListOf(LogEntry)),
  }),
  exportLogs: operation({
    method: 'GET',
    path: '/api/logs/export',
    tag: 'Request log',
    summary: 'Your requests as a file, newest first',
    access: 'user',
    query: Type.Object({
      ...Filter,
      format: Type.Optional(Type.Enum(['csv', 'ndjson'], { default: 'csv' })),
    }),
    answer: { status: 200, schema: null, media: ['text/csv', 'application/x-ndjson'] },
  }),
  getLog: operation({
    method: 'GET',
    path: '/api/logs/{id}',
    tag: 'Request log',
    summary: 'One of your requests',
    access: 'user',
    answer: ok(LogEntry),
  }),
  enterpriseLogs: operation({
    method: 'GET',
    path: '/v1/enterprise/{id}/logs',
    tag: 'Request log',
    summary: 'The requests of an enterprise, newest first',
    access: 'logs.read',
    query: LogQuery,
    answer: ok(longListOf(LogEntry)),
  }),
  adminListLogs: operation({
    method: 'GET',
    path: '/v1/admin/logs',
    tag: 'Platform',
    summary: 'The requests of everyone, newest first',
    access: 'platform-admin',
    query: LogQuery,
    answer: ok(longListOf(AdminLogEntry)),
  }),
  adminGetLog: operation({
    method: 'GET',
    path: '/v1/admin/logs/{id}',
    tag: 'Platform',
    summary: 'One request, with all its attempts',
    access: 'platform-admin',
    answer: ok(LogDetail),
  }),
} as const
