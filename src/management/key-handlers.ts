import { randomUUID } from 'node:crypto'
import type { Static } from 'typebox'
import type { Key, KEYS } from '../api/operations/keys.ts'
import type { BodyOf } from '../api/operation.ts'
import { isAddressRange } from '../config/address.ts'
import { digestApiKey, generateApiKey, maskApiKey } from '../core/api-key.ts'
import { GatewayError } from '../core/errors.ts'
import { NO_LIMITS } from '../core/snapshot.ts'
import type { Database } from '../store/database.ts'
import { insertEntryKey } from '../store/entry-keys.ts'
import {
  changeOwnedKey,
  deleteOwnedKey,
  findOwnedKey,
  listOwnedKeys,
  rotateOwnedKey,
  toggleOwnedKey,
} from '../store/owned-keys.ts'
import type { KeyChange, KeyOwner, OwnedKey } from '../store/owned-keys.ts'
import type { Caller, Handlers } from './call.ts'
import { offsetOf, pageOf } from './pages.ts'

const DAY_SECONDS = 86_400

/** A user's own entry keys. */
export function keyHandlers(database: Database, secret: Buffer): Handlers<keyof typeof KEYS> {
  const own = (caller: Caller): KeyOwner => ({ kind: 'user', userId: caller.userId })
  return {
    listKeys: async ({ query, caller }) => {
      const { keys, total } = await listOwnedKeys(database, own(caller), offsetOf(query))
      return pageOf(keys, total, query, rendered)
    },

    createKey: async ({ body, caller }) => {
      const key = generateApiKey()
      const id = `key_${randomUUID()}`
      const change = changeOf(body)
      await insertEntryKey(database, {
        id,
        digest: digestApiKey(key, secret),
        masked: maskApiKey(key),
        name: body.name,
        enabled: true,
        expiresAtMs: change.expiresAt?.getTime() ?? null,
        userId: caller.userId,
        enterpriseId: null,
        departmentId: null,
        memberId: null,
        limits: {
          requestsPerMinute: body.rpm ?? null,
          tokensPerMinute: body.tpm ?? null,
          concurrency: body.max_concurrency ?? null,
        },
        userLimits: NO_LIMITS,
        enterpriseLimits: NO_LIMITS,
        models: body.models ?? null,
        addresses: body.ip_allow ?? null,
        clients: body.client_allow ?? null,
      })
      return { ...rendered(found(await findOwnedKey(database, own(caller), id))), key }
    },

    getKey: async ({ params, caller }) => rendered(found(await findOwnedKey(database, own(caller), params.id))),

    updateKey: async ({ params, body, caller }) =>
      rendered(found(await changeOwnedKey(database, own(caller), params.id, changeOf(body)))),

    deleteKey: async ({ params, caller }) => {
      if (!(await deleteOwnedKey(database, own(caller), params.id))) throw new GatewayError('NOT_FOUND')
      return null
    },

    toggleKey: async ({ params, body, caller }) =>
      rendered(found(await toggleOwnedKey(database, own(caller), params.id, body.enabled ?? null))),

    rotateKey: async ({ params, body, caller }) => {
      const key = generateApiKey()
      const oldUntil = new Date(Date.now() + (body.grace_seconds ?? DAY_SECONDS) * 1000)
      const fresh = { digest: digestApiKey(key, secret), masked: maskApiKey(key), oldUntil }
      const rotated = await database.transaction((tx) => rotateOwnedKey(tx, own(caller), params.id, fresh))
      return { ...rendered(found(rotated)), key }
    },
  }
}

type Changes = BodyOf<typeof KEYS.updateKey>

/** Throws INVALID_FIELD for an address that is none. */
function changeOf(body: Changes): KeyChange {
  for (const [index, range] of (body.ip_allow ?? []).entries()) {
    if (isAddressRange(range)) continue
    throw new GatewayError('INVALID_FIELD', {
      message: `ip_allow[${index}] must be an address or a CIDR range, like 10.0.0.0/8.`,
      param: `/ip_allow/${index}`,
    })
  }
  const { expires_at: expiresAt } = body
  return {
    name: body.name,
    rpm: body.rpm,
    tpm: body.tpm,
    maxConcurrency: body.max_concurrency,
    models: body.models,
    addresses: body.ip_allow,
    clients: body.client_allow,
    expiresAt: typeof expiresAt === 'string' ? new Date(expiresAt) : expiresAt,
  }
}

function rendered(key: OwnedKey): Static<typeof Key> {
  return {
    id: key.id,
    name: key.name,
    key_masked: key.masked,
    enabled: key.status === 'enabled',
    rpm: key.rpm,
    tpm: key.tpm,
    max_concurrency: key.maxConcurrency,
    models: key.models,
    ip_allow: key.addresses,
    client_allow: key.clients,
    expires_at: key.expiresAt?.toISOString() ?? null,
    created_at: key.createdAt.toISOString(),
    updated_at: key.updatedAt.toISOString(),
  }
}

function found(key: OwnedKey | null): OwnedKey {
  if (key === null) throw new GatewayError('NOT_FOUND')
  return key
}
