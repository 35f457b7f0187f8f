import type { DeclaredKey } from '../../shared/config/shape.ts'
import { digestApiKey, maskApiKey } from '../../shared/core/api-key.ts'
import { NO_LIMITS } from '../../shared/core/snapshot.ts'
import type { EntryKey } from '../../shared/core/snapshot.ts'

const ID_LENGTH = 24

/** Returns the row of an entry key from the configuration. Its id derives from the key, so it is the same on every node. */
export function declaredEntryKey(declared: DeclaredKey, secret: Buffer): EntryKey {
  const digest = digestApiKey(declared.key, secret)
  return {
    id: `key_${digest.slice(0, ID_LENGTH)}`,
    digest,
    masked: maskApiKey(declared.key),
    name: declared.name,
    enabled: declared.enabled,
    expiresAtMs: declared.expiresAtMs,
    userId: null,
    enterpriseId: declared.enterpriseId,
    departmentId: null,
    memberId: null,
    limits: declared.limits,
    budget: declared.budget,
    ownModelBudgets: declared.modelBudgets,
    userLimits: NO_LIMITS,
    enterpriseLimits: NO_LIMITS,
    models: declared.models,
    addresses: declared.addresses,
    clients: declared.clients,
    tools: declared.tools,
  }
}
