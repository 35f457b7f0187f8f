import { Type } from 'typebox'
import { nullable } from '../nullable.ts'
import { created, Email, Id, listOf, Name, NOTHING, ok, operation, PageQuery, Time } from '../operation.ts'

export const User = Type.Object({
  id: Id,
  phone: nullable(Type.String({ description: 'E.164; null for users whom an OpenID provider brought.' })),
  name: Type.String(),
  email: nullable(Type.String({ description: 'Invitations to this address are for this user.' })),
  email_verified: Type.Boolean({ description: 'Whether the address is proven to belong to the user.' }),
  role: Type.Enum(['admin', 'user']),
  status: Type.Enum(['active', 'disabled', 'deleted']),
  created_at: Time,
  deleted_at: nullable(Time),
})

const Password = Type.String({ description: 'At least ten characters.', minLength: 10, maxLength: 200 })

export const USERS = {
  adminListUsers: operation({
    method: 'GET',
    path: '/v1/admin/users',
    tag: 'Platform',
    summary: 'The users',
    access: 'platform-admin',
    query: Type.Object({
      ...PageQuery,
      search: Type.Optional(Type.String({ description: 'A part of the name or phone.', minLength: 2, maxLength: 100 })),
      status: Type.Optional(
        Type.Enum(['active', 'disabled', 'deleted'], { description: 'Default: all but the deleted ones.' }),
      ),
      role: Type.Optional(Type.Enum(['user', 'admin'], { description: 'On the platform.' })),
    }),
    answer: ok(listOf(User)),
  }),
  adminCreateUser: operation({
    method: 'POST',
    path: '/v1/admin/users',
    tag: 'Platform',
    summary: 'Make a user',
    access: 'platform-admin',
    body: Type.Object({
      phone: Type.String({ minLength: 5, maxLength: 32, examples: ['+12025550100'] }),
      name: Name,
      password: Password,
      email: Type.Optional(Email),
      role: Type.Optional(Type.Enum(['admin', 'user'], { default: 'user' })),
    }),
    answer: created(User),
  }),
  adminGetUser: operation({
    method: 'GET',
    path: '/v1/admin/users/{id}',
    tag: 'Platform',
    summary: 'One user',
    access: 'platform-admin',
    answer: ok(User),
  }),
  adminUpdateUser: operation({
    method: 'PUT',
    path: '/v1/admin/users/{id}',
    tag: 'Platform',
    summary: 'Change a user; disabling one ends its sessions and stops its keys',
    access: 'platform-admin',
    body: Type.Object({
      name: Type.Optional(Name),
      email: Type.Optional(nullable(Email)),
      role: Type.Optional(Type.Enum(['admin', 'user'])),
      status: Type.Optional(Type.Enum(['active', 'disabled'])),
      password: Type.Optional(Password),
    }),
    answer: ok(User),
  }),
  adminDeleteUser: operation({
    method: 'DELETE',
    path: '/v1/admin/users/{id}',
    tag: 'Platform',
    summary:
      'Delete a user, for good: sessions, keys and memberships end at once, and the phone number and e-mail address are free again; the log stays. For platform admins',
    access: 'platform-admin',
    answer: NOTHING,
  }),
} as const
