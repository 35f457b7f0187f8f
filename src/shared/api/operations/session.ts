import { Type } from 'typebox'
import { Id, Name, NOTHING, ok, operation } from '../operation.ts'

const Phone = Type.String({
  description: 'A phone number with its country code.',
  minLength: 5,
  maxLength: 32,
  examples: ['+12025550100'],
})
const NewPassword = Type.String({ description: 'At least ten characters.', minLength: 10, maxLength: 200 })
const OldPassword = Type.String({ minLength: 1, maxLength: 200 })

export const Membership = Type.Object({
  id: Id,
  name: Type.String(),
  role: Type.Enum(['owner', 'admin', 'finance', 'employee']),
})

export const Account = Type.Object({
  id: Id,
  phone: Type.String({ description: 'E.164.' }),
  name: Type.String(),
  role: Type.Enum(['admin', 'user'], { description: 'Role on the platform.' }),
  enterprises: Type.Array(Membership),
})

export const Session = Type.Object({
  token: Type.String({ description: 'Send it as Authorization: Bearer.' }),
  token_type: Type.Literal('Bearer'),
  expires_in: Type.Integer({ description: 'Seconds.' }),
  user: Account,
})

export const SESSION = {
  login: operation({
    method: 'POST',
    path: '/api/auth/login',
    tag: 'Session',
    summary: 'Log in',
    access: 'everyone',
    body: Type.Object({ phone: Phone, password: OldPassword }),
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
