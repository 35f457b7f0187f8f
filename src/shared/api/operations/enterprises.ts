import { Type } from 'typebox'
import { CaptureField, ShownCapture } from '../capture.ts'
import { nounOrNull, nullable } from '../nullable.ts'
import { ShownSpend } from '../spend.ts'
import { created, Id, listOf, Name, NOTHING, ok, operation, PageQuery, Time } from '../operation.ts'

const MAX_COUNT = 2 ** 31 - 1

export const Role = Type.Enum(['owner', 'admin', 'finance', 'employee'])

/** Limits over all keys together, and budgets of a month. */
export const Limits = {
  rpm: Type.Optional(nullable(Type.Integer({ description: 'Requests per minute.', minimum: 0, maximum: MAX_COUNT }))),
  tpm: Type.Optional(
    nullable(Type.Integer({ description: 'Tokens per minute.', minimum: 0, maximum: Number.MAX_SAFE_INTEGER })),
  ),
  max_concurrency: Type.Optional(
    nullable(Type.Integer({ description: 'Requests at the same time.', minimum: 0, maximum: MAX_COUNT })),
  ),
}
export const Budgets = {
  monthly_budget: Type.Optional(
    nullable(Type.Integer({ description: 'Micro-units per month.', minimum: 0, maximum: Number.MAX_SAFE_INTEGER })),
  ),
  monthly_tokens: Type.Optional(
    nullable(Type.Integer({ description: 'Tokens per month.', minimum: 0, maximum: Number.MAX_SAFE_INTEGER })),
  ),
}

const ModelNames = Type.Array(Type.String({ minLength: 1, maxLength: 256 }), {
  description: 'Ids of models, ids that end in *, or ids of groups of models.',
  minItems: 1,
  maxItems: 100,
})
export const ModelBudgets = {
  model_budgets: Type.Optional(
    nullable(
      Type.Array(Type.Object({ models: ModelNames, ...Budgets }, { additionalProperties: false }), {
        description:
          'Budgets of a month for some models, beside the budget for all. They replace those that are set; null or an empty list: none.',
        maxItems: 50,
      }),
    ),
  ),
}
export const ShownModelBudgets = {
  model_budgets: Type.Array(
    Type.Object({
      models: Type.Array(Type.String()),
      monthly_budget: nullable(Type.Integer()),
      monthly_tokens: nullable(Type.Integer()),
    }),
    { description: 'Budgets for some models.' },
  ),
}

const PlatformBudget = {
  platform_monthly_budget: Type.Optional(
    nullable(
      Type.Integer({
        description: 'Micro-units per month. The enterprise cannot change it; the lower one of both budgets holds.',
        minimum: 0,
        maximum: Number.MAX_SAFE_INTEGER,
      }),
    ),
  ),
}

export const Enterprise = Type.Object({
  id: Id,
  name: Type.String(),
  status: Type.Enum(['active', 'disabled', 'deleted'], { description: 'deleted: only platform admins see it.' }),
  currency: Type.String({ description: 'ISO 4217.' }),
  time_zone: Type.String({ description: 'IANA name of the time zone in which its months begin.' }),
  is_prepaid: Type.Boolean({ description: 'Requests are refused when the wallet has no money.' }),
  rpm: nullable(Type.Integer()),
  tpm: nullable(Type.Integer()),
  max_concurrency: nullable(Type.Integer()),
  monthly_budget: nullable(Type.Integer()),
  monthly_tokens: nullable(Type.Integer()),
  platform_monthly_budget: nullable(Type.Integer({ description: 'Set by the platform, beside monthly_budget.' })),
  ...ShownModelBudgets,
  capture: nounOrNull(ShownCapture),
  spend: ShownSpend,
  created_at: Time,
  deleted_at: nullable(Time),
})

export const JoinRequest = Type.Object({
  id: Id,
  user: Type.Object({ id: Id, name: Type.String(), phone: nullable(Type.String()) }),
  message: nullable(Type.String()),
  status: Type.Enum(['pending', 'approved', 'rejected', 'cancelled']),
  reason: nullable(Type.String({ description: 'Why it was rejected, for the user.' })),
  created_at: Time,
})

/** The same for the user who asked. */
export const OwnJoinRequest = Type.Object({
  id: Id,
  enterprise: Type.Object({ id: Id, name: Type.String() }),
  message: JoinRequest.properties.message,
  status: JoinRequest.properties.status,
  reason: JoinRequest.properties.reason,
  created_at: Time,
})

export const ENTERPRISES = {
  // Before the paths with `{id}`, which would match its last segment.
  searchEnterprises: operation({
    method: 'GET',
    path: '/v1/enterprise/search',
    tag: 'Enterprises',
    summary: 'Enterprises whose owner or admin has this phone number',
    access: 'user',
    query: Type.Object({ phone: Type.String({ minLength: 5, maxLength: 32 }) }),
    answer: ok(Type.Object({ data: Type.Array(Type.Object({ id: Id, name: Type.String() })) })),
  }),
  listOwnJoinRequests: operation({
    method: 'GET',
    path: '/v1/enterprise/join-requests',
    tag: 'Enterprises',
    summary: 'Your requests to become a member, newest first',
    access: 'user',
    query: Type.Object(PageQuery),
    answer: ok(listOf(OwnJoinRequest)),
  }),
  adminListEnterprises: operation({
    method: 'GET',
    path: '/v1/admin/enterprises',
    tag: 'Platform',
    summary: 'The enterprises',
    access: 'platform-admin',
    query: Type.Object({
      ...PageQuery,
      search: Type.Optional(Type.String({ description: 'A part of the name.', minLength: 2, maxLength: 100 })),
      status: Type.Optional(
        Type.Enum(['active', 'disabled', 'deleted'], { description: 'Default: all but the deleted ones.' }),
      ),
    }),
    answer: ok(listOf(Enterprise)),
  }),
  adminCreateEnterprise: operation({
    method: 'POST',
    path: '/v1/admin/enterprises',
    tag: 'Platform',
    summary: 'Make an enterprise',
    access: 'platform-admin',
    body: Type.Object({
      name: Name,
      owner_phone: Type.Optional(
        Type.String({ description: 'Phone number of the user who becomes the owner.', minLength: 5, maxLength: 32 }),
      ),
      currency: Type.Optional(
        Type.String({
          description: 'That of this installation, which is the default.',
          pattern: '^[A-Z]{3}$',
          examples: ['USD'],
        }),
      ),
      time_zone: Type.Optional(Type.String({ minLength: 1, maxLength: 64, default: 'UTC' })),
      is_prepaid: Type.Optional(Type.Boolean({ default: false })),
      ...Limits,
      ...Budgets,
      ...ModelBudgets,
      ...PlatformBudget,
      ...CaptureField,
    }),
    answer: created(Enterprise),
  }),
  adminGetEnterprise: operation({
    method: 'GET',
    path: '/v1/admin/enterprises/{id}',
    tag: 'Platform',
    summary: 'One enterprise',
    access: 'platform-admin',
    answer: ok(Enterprise),
  }),
  adminUpdateEnterprise: operation({
    method: 'PUT',
    path: '/v1/admin/enterprises/{id}',
    tag: 'Platform',
    summary: 'Change an enterprise; disabling it stops its keys',
    access: 'platform-admin',
    body: Type.Object({
      name: Type.Optional(Name),
      status: Type.Optional(Type.Enum(['active', 'disabled'])),
      time_zone: Type.Optional(Type.String({ minLength: 1, maxLength: 64 })),
      is_prepaid: Type.Optional(Type.Boolean()),
      ...Limits,
      ...Budgets,
      ...ModelBudgets,
      ...PlatformBudget,
      ...CaptureField,
    }),
    answer: ok(Enterprise),
  }),
  adminDeleteEnterprise: operation({
    method: 'DELETE',
    path: '/v1/admin/enterprises/{id}',
    tag: 'Platform',
    summary:
      'Delete an enterprise, for good: its keys and its invitations end at once; its books and its log stay. For platform admins',
    access: 'platform-admin',
    answer: NOTHING,
  }),
  getEnterprise: operation({
    method: 'GET',
    path: '/v1/enterprise/{id}',
    tag: 'Enterprises',
    summary: 'An enterprise that you belong to',
    access: 'enterprise.read',
    answer: ok(Enterprise),
  }),
  updateEnterprise: operation({
    method: 'PUT',
    path: '/v1/enterprise/{id}',
    tag: 'Enterprises',
    summary: 'Change its name, its time zone, its own budget or its capture of bodies',
    access: 'enterprise.update',
    body: Type.Object({
      name: Type.Optional(Name),
      time_zone: Type.Optional(Type.String({ minLength: 1, maxLength: 64 })),
      ...Budgets,
      ...ModelBudgets,
      ...CaptureField,
    }),
    answer: ok(Enterprise),
  }),
  deleteEnterprise: operation({
    method: 'DELETE',
    path: '/v1/enterprise/{id}',
    tag: 'Enterprises',
    summary:
      'Delete the enterprise, for good: its keys and its invitations end at once; platform admins still see its books and its log. For owners',
    access: 'enterprise.delete',
    answer: NOTHING,
  }),
  leaveEnterprise: operation({
    method: 'DELETE',
    path: '/v1/enterprise/{id}/membership',
    tag: 'Enterprises',
    summary: 'Leave the enterprise: your keys in it are off until somebody turns them on. The last owner cannot leave',
    access: 'enterprise.read',
    answer: NOTHING,
  }),
  askToJoin: operation({
    method: 'POST',
    path: '/v1/enterprise/{id}/join-requests',
    tag: 'Enterprises',
    summary: 'Ask to become a member',
    access: 'user',
    body: Type.Object({ message: Type.Optional(Type.String({ maxLength: 500 })) }),
    answer: created(JoinRequest),
  }),
  listJoinRequests: operation({
    method: 'GET',
    path: '/v1/enterprise/{id}/join-requests',
    tag: 'Enterprises',
    summary: 'Requests to become a member, newest first',
    access: 'members.manage',
    query: Type.Object({ ...PageQuery, status: Type.Optional(JoinRequest.properties.status) }),
    answer: ok(listOf(JoinRequest)),
  }),
  approveJoinRequest: operation({
    method: 'POST',
    path: '/v1/enterprise/{id}/join-requests/{requestId}/approve',
    tag: 'Enterprises',
    summary: 'Approve a request: the user becomes a member',
    access: 'members.manage',
    body: Type.Object({
      role: Type.Optional({ ...Role, default: 'employee' }),
      department_id: Type.Optional(nullable(Id)),
    }),
    answer: ok(JoinRequest),
  }),
  rejectJoinRequest: operation({
    method: 'POST',
    path: '/v1/enterprise/{id}/join-requests/{requestId}/reject',
    tag: 'Enterprises',
    summary: 'Reject a request',
    access: 'members.manage',
    body: Type.Object({
      reason: Type.Optional(nullable(Type.String({ description: 'Shown to the user.', maxLength: 500 }))),
    }),
    answer: ok(JoinRequest),
  }),
  withdrawJoinRequest: operation({
    method: 'DELETE',
    path: '/v1/enterprise/{id}/join-requests/{requestId}',
    tag: 'Enterprises',
    summary: 'Withdraw your request',
    access: 'user',
    answer: NOTHING,
  }),
} as const
