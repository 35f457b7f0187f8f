import { Type } from 'typebox'
import { nullable } from '../nullable.ts'
import { Email, NOTHING, ok, operation } from '../operation.ts'
import { Account, NewPassword, OldPassword, Phone } from './session.ts'

const MailedToken = Type.String({ description: 'The token of the e-mail.', minLength: 1, maxLength: 200 })

export const SignInMethods = Type.Object({
  password: Type.Boolean({ description: 'POST /api/auth/login' }),
  registration: Type.Boolean({
    description: 'Whether POST /api/auth/register makes accounts without an invitation.',
  }),
  password_reset: Type.Boolean({
    description: 'Whether Sluice mails links: POST /api/auth/password/forgot and PUT /api/auth/email.',
  }),
  oidc: nullable(
    Type.Object(
      {
        label: Type.String({ description: 'Name of the OpenID provider, for a button.' }),
        start_path: Type.String({ description: 'Where the browser goes to log in, on the host of this API.' }),
      },
      { description: 'Null: there is no OpenID provider.' },
    ),
  ),
})

/** The operations of users on their e-mail address. */
export const ACCOUNT = {
  signInMethods: operation({
    method: 'GET',
    path: '/api/auth/methods',
    tag: 'Session',
    summary: 'Which ways to sign in are on, for a console that shows them',
    access: 'everyone',
    answer: ok(SignInMethods),
  }),
  forgotPassword: operation({
    method: 'POST',
    path: '/api/auth/password/forgot',
    tag: 'Session',
    summary:
      'Mail a link that resets the password to the verified address of the user; the answer does not say whether there is one. Give phone or email.',
    access: 'everyone',
    isChange: false,
    body: Type.Object({ phone: Type.Optional(Phone), email: Type.Optional(Email) }),
    answer: NOTHING,
  }),
  resetPassword: operation({
    method: 'POST',
    path: '/api/auth/password/reset',
    tag: 'Session',
    summary: 'Set a new password with the token of an e-mail; all sessions of the user end',
    access: 'everyone',
    body: Type.Object({ token: MailedToken, new_password: NewPassword }),
    answer: NOTHING,
  }),
  changeEmail: operation({
    method: 'PUT',
    path: '/api/auth/email',
    tag: 'Session',
    summary:
      'Change the e-mail address: the new one replaces the old one when it is verified with the token that is mailed to it. Null removes the address at once.',
    access: 'user',
    body: Type.Object({ email: nullable(Email), password: OldPassword }),
    answer: ok(Account),
  }),
  verifyEmail: operation({
    method: 'POST',
    path: '/api/auth/email/verify',
    tag: 'Session',
    summary: 'Verify an e-mail address with the token that was mailed to it, as the user who entered the address',
    access: 'user',
    body: Type.Object({ token: MailedToken }),
    answer: NOTHING,
  }),
} as const
