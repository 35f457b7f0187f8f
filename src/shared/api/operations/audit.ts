import { Type } from 'typebox'
import { nullable } from '../nullable.ts'
import { Id, longListOf, LongPageQuery, ok, operation, Time } from '../operation.ts'

const Name = Type.Optional(Type.String({ minLength: 1, maxLength: 200 }))

export const AuditEntry = Type.Object({
  id: Id,
  time: Time,
  user_id: nullable(Type.String({ description: 'Who; null: nobody was logged in.' })),
  role: nullable(Type.String({ description: 'In the enterprise, or else on the platform.' })),
  operation: Type.String({ description: 'Its operationId in this document.' }),
  path: Type.String(),
  enterprise_id: nullable(Type.String()),
  target_id: nullable(Type.String({ description: 'What was made, changed or deleted.' })),
  sent: nullable(Type.Object({}, { description: 'The body, without its secrets.', additionalProperties: true })),
  address: Type.String(),
  request_id: Type.String(),
  outcome: Type.Enum(['done', 'refused'], { description: 'refused: the caller may not, or could not log in.' }),
  error_code: nullable(Type.String()),
})

export const AUDIT = {
  adminAudit: operation({
    method: 'GET',
    path: '/v1/admin/audit',
    tag: 'Platform',
    summary: 'Who changed what, and who was refused; newest first',
    access: 'platform-admin',
    query: Type.Object({
      ...LongPageQuery,
      from: Type.Optional(Time),
      to: Type.Optional(Time),
      user_id: Name,
      enterprise_id: Name,
      operation: Name,
      target: Type.Optional(Type.String({ description: 'Its id.', minLength: 1, maxLength: 200 })),
    }),
    answer: ok(longListOf(AuditEntry)),
  }),
} as const
