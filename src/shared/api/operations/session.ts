import { Type } from 'typebox'
import { nullable } from '../nullable.ts'
import { Id, listOf, Name, NOTHING, ok, operation, PageQuery, Time } from '../operation.ts'

export const Phone = Type.String({
  description: 'A phone number with its country code.',
  minLength: 5,
  maxLength: 32,
  examples: ['+12025550100'],
})
export const NewPassword = Type.String({ description: 'At least ten characters.', minLength: 10, maxLength: 200 })
export const OldPassword = Type.String({ minLength: 1, maxLength: 200 })

export const Code = Type.String({
  description: 'Six digits of the authenticator, or a recovery code.',
  minLength: 6,
  maxLength: 40,
})

export const Membership = Type.Object({
  id: Id,
  name: Type.String(),
  role: Type.Enum(['owner', 'admin', 'finance', 'employee']),
})

export const Account = Type.Object({
  id: Id,
  phone: nullable(Type.String({ description: 'E.164; null for users whom an OpenID provider brought.' })),
  name: Type.String(),
  email: nullable(Type.String()),
  email_verified: Type.Boolean({ description: 'Whether the address is proven to belong to the user.' }),
  pending_email: nullable(Type.String({ description: 'The address that replaces `email` when the user verifies it.' })),
  totp: Type.Boolean({ description: 'Whether log-ins need a one-time password.' }),
  role: Type.Enum(['admin', 'user'], { description: 'Role on the platform.' }),
  enterprises: Type.Array(Membership),
  currency: Type.String({ description: 'The one currency of this installation, ISO 4217.' }),
})

export const Session = Type.Object({
  token: Type.String({ description: 'Send it as Authorization: Bearer.' }),
  token_type: Type.Literal('Bearer'),
  expires_in: Type.Integer({ description: 'Seconds.' }),
  user: Account,
})

export const UserSession = Type.Object({
  id: Id,
  current: Type.Boolean({ description: 'Whether it is the session of this call.' }),
  user_agent: Type.String(),
  address: Type.String({ description: 'IP address of the last use.' }),
  created_at: Time,
  last_used_at: Type.String({ description: 'ISO 8601, UTC; exact to a minute.', format: 'date-time' }),
  expires_at: Time,
})

export const SESSION = {
  login: operation({
    method: 'POST',
    path: '/api/auth/login',
    tag: 'Session',
    summary: 'Log in. Users with one-time passwords also send a code; without it the error code is CODE_REQUIRED.',
    access: 'everyone',
    body: Type.Object({ phone: Phone, password: OldPassword, code: Type.Optional(Code) }),
    isChange: false,
    answer: ok(Session),
  }),
  register: operation({
    method: 'POST',
    path: '/api/auth/register',
    tag: 'Session',
    summary: 'Make an account, where registration is open or an invitation is given',
    access: 'everyone',
    body: Type.Object({
      phone: Phone,
      password: NewPassword,
      name: Name,
      invitation_token: Type.Optional(Type.String({ minLength: 1, maxLength: 200 })),
    }),
    answer: ok(Session),
  }),
  logout: operation({
    method: 'POST',
    path: '/api/auth/logout',
    tag: 'Session',
    summary: 'End this session: its token is not valid any more',
    access: 'user',
    answer: NOTHING,
  }),
  listSessions: operation({
    method: 'GET',
    path: '/api/auth/sessions',
    tag: 'Session',
    summary: 'The sessions of the logged-in user, the last used first',
    access: 'user',
    query: Type.Object(PageQuery),
    answer: ok(listOf(UserSession)),
  }),
  endSession: operation({
    method: 'DELETE',
    path: '/api/auth/sessions/{id}',
    tag: 'Session',
    summary: 'End one session: its token is not valid any more',
    access: 'user',
    answer: NOTHING,
  }),
  me: operation({
    method: 'GET',
    path: '/api/auth/me',
    tag: 'Session',
    summary: 'The logged-in user',
    access: 'user',
    answer: ok(Account),
  }),
  changePassword: operation({
    method: 'PUT',
    path: '/api/auth/password',
    tag: 'Session',
    summary: 'Change the password; all other sessions end',
    access: 'user',
    body: Type.Object({ old_password: OldPassword, new_password: NewPassword }),
    answer: ok(Session),
  }),
} as const
