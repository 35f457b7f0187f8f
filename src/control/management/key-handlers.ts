import type { KEYS } from '../../shared/api/operations/keys.ts'
import { GatewayError } from '../../shared/core/errors.ts'
import type { Database } from '../store/database.ts'
import { insertEntryKey } from '../store/entry-keys.ts'
import { changeOwnedKey, deleteOwnedKey, findOwnedKey, listOwnedKeys, toggleOwnedKey } from '../store/owned-keys.ts'
import type { KeyOwner } from '../store/owned-keys.ts'
import type { Caller, Handlers } from './call.ts'
import { checkRoomForKey, keyChangeOf, newEntryKey, renderedKey, rotateKey } from './entry-keys.ts'
import type { KeyParts } from './entry-keys.ts'
import { orNotFound } from './or-not-found.ts'
import { offsetOf, pageOf } from './pages.ts'

/** A user's own entry keys. */
export function keyHandlers(database: Database, parts: KeyParts): Handlers<keyof typeof KEYS> {
  const own = (caller: Caller): KeyOwner => ({ kind: 'user', userId: caller.userId })
  return {
    listKeys: async ({ query, caller }) => {
      const { keys, total } = await listOwnedKeys(database, own(caller), offsetOf(query), query)
      return pageOf(keys, total, query, renderedKey)
    },

    createKey: async ({ body, caller }) => {
      const { secret, entry, capture } = await newEntryKey(own(caller), body, parts)
      await checkRoomForKey(database, own(caller))
      await insertEntryKey(database, entry, capture)
      return { ...renderedKey(orNotFound(await findOwnedKey(database, own(caller), entry.id))), key: secret }
    },

    getKey: async ({ params, caller }) => renderedKey(orNotFound(await findOwnedKey(database, own(caller), params.id))),

    updateKey: async ({ params, body, caller }) =>
      renderedKey(orNotFound(await changeOwnedKey(database, own(caller), params.id, await keyChangeOf(body, parts)))),

    deleteKey: async ({ params, caller }) => {
      if (!(await deleteOwnedKey(database, own(caller), params.id))) throw new GatewayError('NOT_FOUND')
      return null
    },

    toggleKey: async ({ params, body, caller }) =>
      renderedKey(orNotFound(await toggleOwnedKey(database, own(caller), params.id, body.enabled ?? null))),

    rotateKey: async ({ params, body, caller }) => {
      const { key, secret } = await rotateKey(database, own(caller), params.id, { ...body, hashSecret: parts.keyHash })
      return { ...renderedKey(key), key: secret }
    },
  }
}
