import { Type } from 'typebox'
import { ok, operation, REDIRECT } from '../operation.ts'
import { Session } from './session.ts'

const Sent = (description: string) => Type.Optional(Type.String({ description, maxLength: 4_000 }))

/** Log-in through an OpenID provider. */
export const OIDC = {
  oidcStart: operation({
    method: 'GET',
    path: '/api/auth/oidc/start',
    tag: 'Session',
    summary: 'Send the browser to the OpenID provider to log in',
    access: 'everyone',
    answer: REDIRECT,
  }),
  oidcCallback: operation({
    method: 'GET',
    path: '/api/auth/oidc/callback',
    tag: 'Session',
    summary:
      'Where the OpenID provider sends the browser back. It goes on to /signed-in of the console, with #code= or #error=.',
    access: 'everyone',
    query: Type.Object(
      {
        code: Sent('The code of the provider.'),
        state: Sent('As the provider got it.'),
        error: Sent('Why the provider refused.'),
      },
      // Providers add parameters of their own.
      { additionalProperties: Type.String({ maxLength: 4_000 }) },
    ),
    answer: REDIRECT,
  }),
  oidcToken: operation({
    method: 'POST',
    path: '/api/auth/oidc/token',
    tag: 'Session',
    summary: 'Begin the session with the code that the console got, once and within a minute, in the same browser',
    access: 'everyone',
    isChange: false,
    body: Type.Object({ code: Type.String({ minLength: 1, maxLength: 200 }) }),
    answer: ok(Session),
  }),
} as const
