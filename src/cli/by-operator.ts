import type { AuditEntry } from '../control/store/audit-log.ts'

/** Of rows of the audit log: whoever has the database at hand, and is nobody that the gateway knows. */
export const BY_OPERATOR = {
  userId: null,
  role: 'operator',
  address: '',
  requestId: '',
  outcome: 'done',
  errorCode: null,
} as const satisfies Partial<AuditEntry>
