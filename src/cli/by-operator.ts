import type { AuditEntry } from '../control/store/audit-log.ts'

/** Fields of audit log rows that commands write: the actor has access to the database and is no user of the gateway. */
export const BY_OPERATOR = {
  userId: null,
  role: 'operator',
  address: '',
  requestId: '',
  outcome: 'done',
  errorCode: null,
} as const satisfies Partial<AuditEntry>
