import { Type } from 'typebox'
import { nullable } from '../nullable.ts'
import { Id, longListOf, LongPageQuery, ok, operation, Time } from '../operation.ts'

const Name = Type.Optional(Type.String({ minLength: 1, maxLength: 200 }))

export const AuditEntry = Type.Object({
  id: Id,
  time: Time,
  user_id: nullable(Type.String({ description: 'The caller; null: not logged in.' })),
  role: nullable(Type.String({ description: 'Role of the caller in the enterprise, or else on the platform.' })),
  operation: Type.String({ description: 'Its operationId in this document.' }),
  path: Type.String(),
  enterprise_id: nullable(Type.String()),
  target_id: nullable(Type.String({ description: 'Id of the object that was made, changed or deleted.' })),
  sent: nullable(Type.Object({}, { description: 'The body, without its secrets.', additionalProperties: true })),
  changes: nullable(
    Type.Array(
      Type.Object({
        field: Type.String({ description: 'Its names from the outside in, joined by dots.' }),
        old: Type.Unsafe<unknown>({ description: 'null: there was none.' }),
        new: Type.Unsafe<unknown>({ description: 'null: there is none any more.' }),
      }),
      { description: 'The fields that changed, without secrets. Null: none are known, as of a session or a refusal.' },
    ),
  ),
  address: Type.String(),
  request_id: Type.String(),
  outcome: Type.Enum(['done', 'refused'], {
    description: 'refused: the caller had no permission, or could not log in.',
  }),
  error_code: nullable(Type.String()),
})

const AuditQuery = {
  ...LongPageQuery,
  from: Type.Optional(Time),
  to: Type.Optional(Time),
  user_id: Name,
  operation: Name,
  target: Type.Optional(Type.String({ description: 'Id of the object.', minLength: 1, maxLength: 200 })),
  outcome: Type.Optional(AuditEntry.properties.outcome),
}

export const AUDIT = {
  listEnterpriseAudit: operation({
    method: 'GET',
    path: '/v1/enterprise/{id}/audit',
    tag: 'Enterprises',
    summary: 'Who changed what in the enterprise, and who was refused; newest first',
    access: 'audit.read',
    query: Type.Object(AuditQuery),
    answer: ok(longListOf(AuditEntry)),
  }),
  adminAudit: operation({
    method: 'GET',
    path: '/v1/admin/audit',
    tag: 'Platform',
    summary: 'Who changed what, and who was refused; newest first',
    access: 'platform-admin',
    query: Type.Object({
      ...AuditQuery,
      enterprise_id: Name,
      access: Type.Optional(
        Type.Enum(['platform-admin'], {
          description:
            'Only operations that admins of the platform alone may call: what was changed of the platform itself.',
        }),
      ),
    }),
    answer: ok(longListOf(AuditEntry)),
  }),
} as const
