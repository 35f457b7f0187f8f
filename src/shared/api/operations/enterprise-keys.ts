import { Type } from 'typebox'
import { nullable } from '../nullable.ts'
import { created, Id, listOf, NOTHING, ok, operation } from '../operation.ts'
import { Budgets, ModelBudgets, ShownModelBudgets } from './enterprises.ts'
import { Key, KeyListQuery, KEYS, NewKey } from './keys.ts'

const Owner = {
  department_id: Type.Optional(nullable(Id)),
  member_id: Type.Optional(nullable(Id)),
}

export const EnterpriseKey = Type.Object({
  ...Key.properties,
  monthly_budget: nullable(Type.Integer()),
  monthly_tokens: nullable(Type.Integer()),
  ...ShownModelBudgets,
  department_id: nullable(Type.String()),
  member_id: nullable(Type.String()),
})

const { createKey, updateKey, toggleKey, rotateKey } = KEYS

export const NewEnterpriseKey = Type.Object({ ...EnterpriseKey.properties, key: NewKey.properties.key })

/** Keys of one enterprise that are not deleted. */
export const MAX_ENTERPRISE_KEYS = 50_000

export const ENTERPRISE_KEYS = {
  listEnterpriseKeys: operation({
    method: 'GET',
    path: '/v1/enterprise/{id}/keys',
    tag: 'Enterprise keys',
    summary: 'The keys of the enterprise',
    access: 'keys.read',
    query: Type.Object({ ...KeyListQuery, department_id: Type.Optional(Id), member_id: Type.Optional(Id) }),
    answer: ok(listOf(EnterpriseKey)),
  }),
  createEnterpriseKey: operation({
    method: 'POST',
    path: '/v1/enterprise/{id}/keys',
    tag: 'Enterprise keys',
    summary: 'Make a key of the enterprise, which has at most 50 000',
    access: 'keys.manage',
    body: Type.Object({ ...createKey.body.properties, ...Budgets, ...ModelBudgets, ...Owner }),
    answer: created(NewEnterpriseKey),
  }),
  getEnterpriseKey: operation({
    method: 'GET',
    path: '/v1/enterprise/{id}/keys/{keyId}',
    tag: 'Enterprise keys',
    summary: 'One key of the enterprise',
    access: 'keys.read',
    answer: ok(EnterpriseKey),
  }),
  updateEnterpriseKey: operation({
    method: 'PUT',
    path: '/v1/enterprise/{id}/keys/{keyId}',
    tag: 'Enterprise keys',
    summary: 'Change a key of the enterprise',
    access: 'keys.manage',
    body: Type.Object({ ...updateKey.body.properties, ...Budgets, ...ModelBudgets, ...Owner }),
    answer: ok(EnterpriseKey),
  }),
  deleteEnterpriseKey: operation({
    method: 'DELETE',
    path: '/v1/enterprise/{id}/keys/{keyId}',
    tag: 'Enterprise keys',
    summary: 'Delete a key of the enterprise, for good',
    access: 'keys.manage',
    answer: NOTHING,
  }),
  toggleEnterpriseKey: operation({
    method: 'PUT',
    path: '/v1/enterprise/{id}/keys/{keyId}/toggle',
    tag: 'Enterprise keys',
    summary: 'Turn a key of the enterprise off, or on again',
    access: 'keys.manage',
    body: toggleKey.body,
    answer: ok(EnterpriseKey),
  }),
  rotateEnterpriseKey: operation({
    method: 'POST',
    path: '/v1/enterprise/{id}/keys/{keyId}/rotate',
    tag: 'Enterprise keys',
    summary: 'Give a key of the enterprise a new secret; the old secret stays valid for the grace period',
    access: 'keys.manage',
    body: rotateKey.body,
    answer: ok(NewEnterpriseKey),
  }),
} as const
