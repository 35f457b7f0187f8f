import type { Static } from 'typebox'
import type { AUDIT, AuditEntry } from '../../shared/api/operations/audit.ts'
import { OPERATIONS } from '../../shared/api/operations/index.ts'
import type { OperationSpec, QueryOf } from '../../shared/api/operation.ts'
import { countAuditEntries, listAuditEntries } from '../store/audit-log.ts'
import type { AuditRow } from '../store/audit-log.ts'
import type { Queryable } from '../store/database.ts'
import { storableText } from '../store/text.ts'
import type { Handlers } from './call.ts'
import { longPageOf } from './pages.ts'

const OF_PLATFORM_ADMINS = Object.entries<OperationSpec>(OPERATIONS)
  .filter(([, { access }]) => access === 'platform-admin')
  .map(([name]) => name)

/** The audit log, of an enterprise and of the platform. */
export function auditHandlers(database: Queryable): Handlers<keyof typeof AUDIT> {
  const list = (
    query: QueryOf<typeof AUDIT.listEnterpriseAudit>,
    enterpriseId: string | undefined,
    operations?: readonly string[],
  ) => {
    const { from, to, operation, outcome } = query
    const filter = {
      from: from === undefined ? undefined : new Date(from),
      to: to === undefined ? undefined : new Date(to),
      operation: textOf(operation),
      operations,
      userId: textOf(query.user_id),
      enterpriseId: textOf(enterpriseId),
      targetId: textOf(query.target),
      outcome,
    }
    return longPageOf(
      query,
      {
        read: (stretch) => listAuditEntries(database, filter, stretch),
        count: (most) => countAuditEntries(database, filter, most),
        cursorOf,
        placeOf,
      },
      rendered,
    )
  }
  return {
    listEnterpriseAudit: ({ params, query }) => list(query, params.id),
    adminAudit: ({ query }) =>
      list(query, query.enterprise_id, query.access === undefined ? undefined : OF_PLATFORM_ADMINS),
  }
}

function rendered(row: AuditRow): Static<typeof AuditEntry> {
  return {
    id: `audit_${row.id}`,
    time: row.at.toISOString(),
    user_id: row.userId,
    role: row.role,
    operation: row.operation,
    path: row.path,
    enterprise_id: row.enterpriseId,
    target_id: row.targetId,
    sent: row.sent === null ? null : { ...row.sent },
    changes: row.changes,
    address: row.address,
    request_id: row.requestId,
    outcome: row.outcome,
    error_code: row.errorCode,
  }
}

function textOf(text: string | undefined): string | undefined {
  return text === undefined ? undefined : storableText(text)
}

function cursorOf({ id, at }: AuditRow): string {
  return Buffer.from(JSON.stringify([at.toISOString(), id])).toString('base64url')
}

function placeOf(cursor: string): { id: number; at: Date } {
  const [at, id] = JSON.parse(Buffer.from(cursor, 'base64url').toString()) as unknown[]
  if (typeof at === 'string' && Number.isSafeInteger(id) && !Number.isNaN(Date.parse(at))) {
    return { id: id as number, at: new Date(at) }
  }
  throw new RangeError('the cursor is not valid')
}
