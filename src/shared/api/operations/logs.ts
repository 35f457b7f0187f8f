import { Type } from 'typebox'
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

const Count = Type.Integer({ minimum: 0 })
const Text = nullable(Type.String())

export const LogEntry = Type.Object({
  id: Id,
  time: Time,
  user_id: Text,
  enterprise_id: Text,
  department_id: Text,
  member_id: Text,
  key_id: Text,
  key: nullable(Type.String({ description: 'Masked.' })),
  endpoint: Type.String(),
  dialect: Type.String({ description: 'Of the client.' }),
  model: nullable(Type.String({ description: 'As asked for.' })),
  served_model: Text,
  attempts: Count,
  status: nullable(Type.Integer({ description: 'Null where the process ended before the answer did.' })),
  error_type: Text,
  error_code: Text,
  stream: Type.Boolean(),
  aborted: Type.Boolean({ description: 'The client left before the end.' }),
  prompt_tokens: Count,
  completion_tokens: Count,
  cached_tokens: Count,
  reasoning_tokens: Count,
  cost: Type.Integer({ description: 'Micro-units.' }),
  settlement: Type.String({ description: 'How the tokens came to be known.' }),
  queue_us: Count,
  ttft_us: nullable(Count),
  total_us: Count,
  overhead_us: Count,
  user_agent: Type.String(),
  client_address: Type.String(),
  client_request_id: Text,
  trace_id: Text,
})

/** With what of upstreams is for admins alone. */
export const AdminLogEntry = Type.Object({ ...LogEntry.properties, provider_id: Text, upstream_key_id: Text })

export const LogDetail = Type.Object({
  ...AdminLogEntry.properties,
  attempts: Type.Array(Type.Unsafe<object>({ type: 'object' }), {
    description: 'Each with its upstream key, what came of it, and why this key was chosen and others were not.',
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
