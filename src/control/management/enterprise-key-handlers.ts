import type { ENTERPRISE_KEYS } from '../../shared/api/operations/enterprise-keys.ts'
import { GatewayError } from '../../shared/core/errors.ts'
import type { Database } from '../store/database.ts'
import { findDepartment } from '../store/departments.ts'
import { insertEntryKey } from '../store/entry-keys.ts'
import { findMember } from '../store/members.ts'
import { changeOwnedKey, deleteOwnedKey, findOwnedKey, listOwnedKeys, toggleOwnedKey } from '../store/owned-keys.ts'
import type { KeyOwner } from '../store/owned-keys.ts'
import type { Handlers } from './call.ts'
import { keyChangeOf, newEntryKey, renderedEnterpriseKey, rotateKey } from './entry-keys.ts'
import { orNotFound } from './or-not-found.ts'
import { offsetOf, pageOf } from './pages.ts'

/** The entry keys of an enterprise. */
export function enterpriseKeyHandlers(database: Database, hashSecret: Buffer): Handlers<keyof typeof ENTERPRISE_KEYS> {
  const of = (enterpriseId: string): KeyOwner => ({ kind: 'enterprise', enterpriseId })

  /** The department and the member of a key must belong to the key's enterprise. */
  const checkPlaces = async (
    enterpriseId: string,
    body: { readonly department_id?: string | null; readonly member_id?: string | null },
  ): Promise<void> => {
    const { department_id: departmentId, member_id: memberId } = body
    if (typeof departmentId === 'string' && (await findDepartment(database, enterpriseId, departmentId)) === null) {
      throw new GatewayError('INVALID_FIELD', { message: 'There is no such department.', param: '/department_id' })
    }
    if (typeof memberId === 'string' && (await findMember(database, enterpriseId, memberId)) === null) {
      throw new GatewayError('INVALID_FIELD', { message: 'There is no such member.', param: '/member_id' })
    }
  }

  return {
    listEnterpriseKeys: async ({ params, query }) => {
      const { keys, total } = await listOwnedKeys(database, of(params.id), offsetOf(query))
      return pageOf(keys, total, query, renderedEnterpriseKey)
    },

    createEnterpriseKey: async ({ params, body }) => {
      await checkPlaces(params.id, body)
      const { secret, entry } = newEntryKey(of(params.id), body, hashSecret)
      await insertEntryKey(database, entry)
      const key = orNotFound(await findOwnedKey(database, of(params.id), entry.id))
      return { ...renderedEnterpriseKey(key), key: secret }
    },

    getEnterpriseKey: async ({ params }) =>
      renderedEnterpriseKey(orNotFound(await findOwnedKey(database, of(params.id), params.keyId))),

    updateEnterpriseKey: async ({ params, body }) => {
      await checkPlaces(params.id, body)
      const changed = await changeOwnedKey(database, of(params.id), params.keyId, keyChangeOf(body))
      return renderedEnterpriseKey(orNotFound(changed))
    },

    deleteEnterpriseKey: async ({ params }) => {
      if (!(await deleteOwnedKey(database, of(params.id), params.keyId))) throw new GatewayError('NOT_FOUND')
      return null
    },

    toggleEnterpriseKey: async ({ params, body }) =>
      renderedEnterpriseKey(
        orNotFound(await toggleOwnedKey(database, of(params.id), params.keyId, body.enabled ?? null)),
      ),

    rotateEnterpriseKey: async ({ params, body }) => {
      const { key, secret } = await rotateKey(database, of(params.id), params.keyId, { ...body, hashSecret })
      return { ...renderedEnterpriseKey(key), key: secret }
    },
  }
}
