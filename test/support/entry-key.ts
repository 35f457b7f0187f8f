import type { EntryKey } from '../../src/core/snapshot.ts'

/** An entry key without restrictions, but for what is given. */
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
    limits: { requestsPerMinute: null, tokensPerMinute: null, concurrency: null },
    models: null,
    addresses: null,
    clients: null,
    ...members,
  }
}
