import { Type } from 'typebox'
import { nullable } from '../nullable.ts'
import { ShownSpend } from '../spend.ts'
import { created, Email, Id, listOf, NOTHING, ok, operation, PageQuery, Time } from '../operation.ts'
import { Budgets, Enterprise, Limits, ModelBudgets, Role, ShownModelBudgets } from './enterprises.ts'

export const Member = Type.Object({
  id: Id,
  user: Type.Object({ id: Id, name: Type.String(), phone: nullable(Type.String()) }),
  role: Role,
  status: Type.Enum(['active', 'disabled']),
  department_id: nullable(Type.String()),
  monthly_budget: nullable(Type.Integer()),
  monthly_tokens: nullable(Type.Integer()),
  ...ShownModelBudgets,
  rpm: nullable(Type.Integer({ description: 'Over all keys of the member.' })),
  tpm: nullable(Type.Integer()),
  max_concurrency: nullable(Type.Integer()),
  spend: ShownSpend,
  created_at: Time,
})

export const Invitation = Type.Object({
  id: Id,
  email: nullable(Type.String({ description: 'Only the user with this e-mail address can accept.' })),
  phone: nullable(Type.String({ description: 'Only the user with this phone number can accept. E.164.' })),
  role: Role,
  department_id: nullable(Type.String()),
  status: Type.Enum(['pending', 'accepted', 'expired', 'cancelled']),
  expires_at: Time,
  created_at: Time,
})

const Invited = Type.Object({
  ...Invitation.properties,
  token: Type.String(),
  mailed: Type.Boolean({ description: 'Whether the token is being mailed to the address.' }),
})

export const MEMBERS = {
  // Before the paths with `{id}`, which would match its last segment.
  acceptInvitation: operation({
    method: 'POST',
    path: '/v1/enterprise/invitations/accept',
    tag: 'Members',
    summary: 'Become a member by the token of an invitation to your own e-mail address or phone number',
    access: 'user',
    body: Type.Object({ token: Type.String({ minLength: 1, maxLength: 200 }) }),
    answer: ok(Type.Object({ enterprise: Enterprise, role: Role })),
  }),
  listMembers: operation({
    method: 'GET',
    path: '/v1/enterprise/{id}/members',
    tag: 'Members',
    summary: 'The members',
    access: 'members.read',
    query: Type.Object({
      ...PageQuery,
      search: Type.Optional(
        Type.String({ description: 'A part of the name or of the phone number.', minLength: 2, maxLength: 100 }),
      ),
      department_id: Type.Optional(Id),
    }),
    answer: ok(listOf(Member)),
  }),
  invite: operation({
    method: 'POST',
    path: '/v1/enterprise/{id}/members/invite',
    tag: 'Members',
    summary:
      'Invite the user of an e-mail address or phone number; the token is shown only once, and mailed when mail is configured',
    access: 'members.manage',
    body: Type.Object({
      email: Type.Optional({ ...Email, description: 'Either email or phone.' }),
      phone: Type.Optional(
        Type.String({
          description: 'With its country code. Either email or phone.',
          minLength: 5,
          maxLength: 32,
          examples: ['+12025550100'],
        }),
      ),
      role: Role,
      department_id: Type.Optional(nullable(Id)),
    }),
    answer: created(Invited),
  }),
  listInvitations: operation({
    method: 'GET',
    path: '/v1/enterprise/{id}/invitations',
    tag: 'Members',
    summary: 'The invitations',
    access: 'members.manage',
    query: Type.Object(PageQuery),
    answer: ok(listOf(Invitation)),
  }),
  resendInvitation: operation({
    method: 'POST',
    path: '/v1/enterprise/{id}/invitations/{invitationId}/resend',
    tag: 'Members',
    summary:
      'Give an open or expired invitation a new token and another seven days; the token before is worth nothing any more',
    access: 'members.manage',
    answer: ok(Invited),
  }),
  cancelInvitation: operation({
    method: 'DELETE',
    path: '/v1/enterprise/{id}/invitations/{invitationId}',
    tag: 'Members',
    summary: 'Revoke an invitation: its token is worth nothing any more',
    access: 'members.manage',
    answer: NOTHING,
  }),
  getMember: operation({
    method: 'GET',
    path: '/v1/enterprise/{id}/members/{memberId}',
    tag: 'Members',
    summary: 'One member',
    access: 'members.read',
    answer: ok(Member),
  }),
  updateMember: operation({
    method: 'PUT',
    path: '/v1/enterprise/{id}/members/{memberId}',
    tag: 'Members',
    summary: 'Change a member; disabling one stops the keys of that member',
    access: 'members.manage',
    body: Type.Object({
      role: Type.Optional(Role),
      status: Type.Optional(Type.Enum(['active', 'disabled'])),
      department_id: Type.Optional(nullable(Id)),
      ...Limits,
      ...Budgets,
      ...ModelBudgets,
    }),
    answer: ok(Member),
  }),
  removeMember: operation({
    method: 'DELETE',
    path: '/v1/enterprise/{id}/members/{memberId}',
    tag: 'Members',
    summary: 'Remove a member; the keys of that member are off until somebody turns them on',
    access: 'members.manage',
    answer: NOTHING,
  }),
} as const
