import type { ENTERPRISE_KEYS } from '../../shared/api/operations/enterprise-keys.ts'
import { GatewayError } from '../../shared/core/errors.ts'
import type { Database } from '../store/database.ts'
import { holdDepartment } from '../store/departments.ts'
import { insertEntryKey } from '../store/entry-keys.ts'
import { holdMember } from '../store/members.ts'
import { changeOwnedKey, deleteOwnedKey, findOwnedKey, listOwnedKeys, toggleOwnedKey } from '../store/owned-keys.ts'
import type { KeyOwner } from '../store/owned-keys.ts'
import type { Handlers } from './call.ts'
import { checkRoomForKey, keyChangeOf, newEntryKey, renderedEnterpriseKey, rotateKey } from './entry-keys.ts'
import type { KeyParts } from './entry-keys.ts'
import type { ModelBudgets } from './model-budgets.ts'
import { orNotFound } from './or-not-found.ts'
import { offsetOf, pageOf } from './pages.ts'

/** The entry keys of an enterprise. */
export function enterpriseKeyHandlers(
  database: Database,
  parts: KeyParts,
  modelBudgets: ModelBudgets,
): Handlers<keyof typeof ENTERPRISE_KEYS> {
  const of = (enterpriseId: string): KeyOwner => ({ kind: 'enterprise', enterpriseId })

  /** The department and the member of a key must belong to the key's enterprise. A key is not given to one that is being removed. */
  const checkPlaces = async (
    enterpriseId: string,
    body: { readonly department_id?: string | null; readonly member_id?: string | null },
  ): Promise<void> => {
    const { department_id: departmentId, member_id: memberId } = body
    if (typeof departmentId === 'string' && !(await holdDepartment(database, enterpriseId, departmentId))) {
      throw new GatewayError('INVALID_FIELD', { message: 'There is no such department.', param: '/department_id' })
    }
    if (typeof memberId === 'string' && !(await holdMember(database, enterpriseId, memberId))) {
      throw new GatewayError('INVALID_FIELD', { message: 'There is no such member.', param: '/member_id' })
    }
  }

  return {
    listEnterpriseKeys: async ({ params, query }) => {
      const { department_id: departmentId, member_id: memberId } = query
      const filter = { ...query, departmentId, memberId }
      const { keys, total } = await listOwnedKeys(database, of(params.id), offsetOf(query), filter)
      return pageOf(keys, total, query, renderedEnterpriseKey)
    },

    createEnterpriseKey: async ({ params, body }) => {
      await checkPlaces(params.id, body)
      const { secret, entry, capture } = await newEntryKey(of(params.id), body, parts)
      const ownModelBudgets = (await modelBudgets.read(body)) ?? []
      await checkRoomForKey(database, of(params.id))
      await insertEntryKey(database, { ...entry, ownModelBudgets }, capture)
      const key = orNotFound(await findOwnedKey(database, of(params.id), entry.id))
      return { ...renderedEnterpriseKey(key), key: secret }
    },

    getEnterpriseKey: async ({ params }) =>
      renderedEnterpriseKey(orNotFound(await findOwnedKey(database, of(params.id), params.keyId))),

    updateEnterpriseKey: async ({ params, body }) => {
      await checkPlaces(params.id, body)
      const { id: enterpriseId, keyId } = params
      const budgets = await modelBudgets.read(body)
      const change = { ...(await keyChangeOf(body, parts)), modelBudgets: budgets }
      const changed = orNotFound(await changeOwnedKey(database, of(enterpriseId), keyId, change))
      await modelBudgets.countEarlier({ owner: 'key', id: keyId, enterpriseId }, budgets)
      return renderedEnterpriseKey(changed)
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
      const { key, secret } = await rotateKey(database, of(params.id), params.keyId, {
        ...body,
        hashSecret: parts.keyHash,
      })
      return { ...renderedEnterpriseKey(key), key: secret }
    },
  }
}
