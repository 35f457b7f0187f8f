import { Type } from 'typebox'
import { nullable } from '../nullable.ts'
import { ShownSpend } from '../spend.ts'
import { created, Id, listOf, NOTHING, ok, operation, PageQuery, Time } from '../operation.ts'
import { Budgets, Enterprise } from './enterprises.ts'

const Role = Type.Enum(['owner', 'admin', 'finance', 'employee'])

export const Member = Type.Object({
  id: Id,
  user: Type.Object({ id: Id, name: Type.String(), phone: Type.String() }),
  role: Role,
  status: Type.Enum(['active', 'disabled']),
  department_id: nullable(Type.String()),
  monthly_budget: nullable(Type.Integer()),
  monthly_tokens: nullable(Type.Integer()),
  spend: ShownSpend,
  created_at: Time,
})

export const Invitation = Type.Object({
  id: Id,
  email: Type.String(),
  role: Role,
  department_id: nullable(Type.String()),
  status: Type.Enum(['pending', 'accepted', 'expired', 'cancelled']),
  expires_at: Time,
  created_at: Time,
})

export const MEMBERS = {
  // Before the paths with `{id}`, which would match its last segment.
  acceptInvitation: operation({
    method: 'POST',
    path: '/v1/enterprise/invitations/accept',
    tag: 'Members',
    summary: 'Become a member by the token of an invitation',
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
    query: Type.Object(PageQuery),
    answer: ok(listOf(Member)),
  }),
  invite: operation({
    method: 'POST',
    path: '/v1/enterprise/{id}/members/invite',
    tag: 'Members',
    summary: 'Invite somebody; the token is shown only once, and mailed when mail is configured',
    access: 'members.manage',
    body: Type.Object({
      email: Type.String({ pattern: '^[^@\\s]{1,64}@[^@\\s]{1,190}$', examples: ['ada@example.com'], maxLength: 254 }),
      role: Role,
      department_id: Type.Optional(nullable(Id)),
    }),
    answer: created(
      Type.Object({
        ...Invitation.properties,
        token: Type.String(),
        mailed: Type.Boolean({ description: 'Whether the token is being mailed to the address.' }),
      }),
    ),
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
  cancelInvitation: operation({
    method: 'DELETE',
    path: '/v1/enterprise/{id}/invitations/{invitationId}',
    tag: 'Members',
    summary: 'Cancel an invitation',
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
    summary: 'Change a member',
    access: 'members.manage',
    body: Type.Object({
      role: Type.Optional(Role),
      status: Type.Optional(Type.Enum(['active', 'disabled'])),
      department_id: Type.Optional(nullable(Id)),
      ...Budgets,
    }),
    answer: ok(Member),
  }),
  removeMember: operation({
    method: 'DELETE',
    path: '/v1/enterprise/{id}/members/{memberId}',
    tag: 'Members',
    summary: 'Remove a member; the keys of that member are turned off',
    access: 'members.manage',
    answer: NOTHING,
  }),
} as const
