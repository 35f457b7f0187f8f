import { Type } from 'typebox'
import { NOTHING, ok, operation } from '../operation.ts'
import { Code, OldPassword } from './session.ts'

export const RecoveryCodes = Type.Object({
  recovery_codes: Type.Array(Type.String(), { description: 'Each works once in place of a code.' }),
})

/** One-time passwords as a second factor. */
export const TOTP = {
  enrolTotp: operation({
    method: 'POST',
    path: '/api/auth/totp',
    tag: 'Session',
    summary: 'Begin with one-time passwords: a secret for an authenticator, to be confirmed with a code of it',
    access: 'user',
    isIdempotent: false,
    body: Type.Object({ password: OldPassword }),
    answer: ok(
      Type.Object({
        secret: Type.String({ description: 'Base32, for authenticators without a camera.' }),
        uri: Type.String({ description: 'An otpauth:// address, to be shown as a QR code.' }),
      }),
    ),
  }),
  confirmTotp: operation({
    method: 'POST',
    path: '/api/auth/totp/confirm',
    tag: 'Session',
    summary: 'Turn one-time passwords on: log-ins need a code from now on. The recovery codes are shown only once.',
    access: 'user',
    isIdempotent: false,
    body: Type.Object({ code: Code }),
    answer: ok(RecoveryCodes),
  }),
  renewRecoveryCodes: operation({
    method: 'POST',
    path: '/api/auth/totp/recovery-codes',
    tag: 'Session',
    summary: 'Replace the recovery codes, with the password or a code; earlier ones no longer work',
    access: 'user',
    isIdempotent: false,
    body: Type.Object({ password: Type.Optional(OldPassword), code: Type.Optional(Code) }),
    answer: ok(RecoveryCodes),
  }),
  disableTotp: operation({
    method: 'POST',
    path: '/api/auth/totp/disable',
    tag: 'Session',
    summary: 'Turn one-time passwords off',
    access: 'user',
    isIdempotent: false,
    body: Type.Object({ password: OldPassword, code: Code }),
    answer: NOTHING,
  }),
  adminResetTotp: operation({
    method: 'DELETE',
    path: '/v1/admin/users/{id}/totp',
    tag: 'Platform',
    summary: 'Turn the one-time passwords of a user off, who has lost the authenticator and the recovery codes',
    access: 'platform-admin',
    answer: NOTHING,
  }),
} as const
