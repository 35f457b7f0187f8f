import { Type } from 'typebox'
import { nullable } from '../nullable.ts'
import { ShownSpend } from '../spend.ts'
import { created, Id, Name, NOTHING, ok, operation, Time } from '../operation.ts'
import { Budgets, Limits, ModelBudgets, ShownModelBudgets } from './enterprises.ts'

export const Department = Type.Object({
  id: Id,
  name: Type.String(),
  parent_id: nullable(Type.String()),
  monthly_budget: nullable(Type.Integer()),
  monthly_tokens: nullable(Type.Integer()),
  ...ShownModelBudgets,
  rpm: nullable(Type.Integer({ description: 'Over all keys of the department and of those below it.' })),
  tpm: nullable(Type.Integer()),
  max_concurrency: nullable(Type.Integer()),
  spend: ShownSpend,
  members: Type.Integer({ description: 'Members of the department itself.', minimum: 0 }),
  created_at: Time,
})

const Parent = Type.Optional(
  nullable(Type.String({ description: 'Null: directly below the enterprise.', minLength: 1 })),
)

export const DEPARTMENTS = {
  listDepartments: operation({
    method: 'GET',
    path: '/v1/enterprise/{id}/departments',
    tag: 'Departments',
    summary: 'All departments: a tree by parent_id',
    access: 'departments.read',
    answer: ok(Type.Object({ data: Type.Array(Department) })),
  }),
  createDepartment: operation({
    method: 'POST',
    path: '/v1/enterprise/{id}/departments',
    tag: 'Departments',
    summary: 'Make a department; its spend counts against the departments above it too',
    access: 'departments.manage',
    body: Type.Object({ name: Name, parent_id: Parent, ...Limits, ...Budgets, ...ModelBudgets }),
    answer: created(Department),
  }),
  getDepartment: operation({
    method: 'GET',
    path: '/v1/enterprise/{id}/departments/{departmentId}',
    tag: 'Departments',
    summary: 'One department',
    access: 'departments.read',
    answer: ok(Department),
  }),
  updateDepartment: operation({
    method: 'PUT',
    path: '/v1/enterprise/{id}/departments/{departmentId}',
    tag: 'Departments',
    summary: 'Change a department, or move it',
    access: 'departments.manage',
    body: Type.Object({ name: Type.Optional(Name), parent_id: Parent, ...Limits, ...Budgets, ...ModelBudgets }),
    answer: ok(Department),
  }),
  deleteDepartment: operation({
    method: 'DELETE',
    path: '/v1/enterprise/{id}/departments/{departmentId}',
    tag: 'Departments',
    summary: 'Delete a department that has no members, keys and departments below it',
    access: 'departments.manage',
    answer: NOTHING,
  }),
} as const
