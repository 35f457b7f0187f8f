import { NO_LIMITS } from '../../src/shared/core/snapshot.ts'
import type { EntryKey } from '../../src/shared/core/snapshot.ts'

/** An entry key without restrictions, with the given members. */
export function entryKey(members: Partial<EntryKey> = {}): EntryKey {
  return {
    id: 'key',
    digest: 'digest',
    masked: 'sk-Test…test',
    name: 'Test',
    enabled: true,
    expiresAtMs: null,
    userId: null,
    enterpriseId: null,
    departmentId: null,
    memberId: null,
    limits: NO_LIMITS,
    userLimits: NO_LIMITS,
    enterpriseLimits: NO_LIMITS,
    models: null,
    addresses: null,
    clients: null,
    ...members,
  }
}
