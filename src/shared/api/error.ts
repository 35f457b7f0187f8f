import { Type } from 'typebox'
import type { Static } from 'typebox'

/** All error types. Clients may rely on the list being closed. */
export const ErrorType = Type.Enum(
  [
    'invalid_request',
    'auth_error',
    'access_denied',
    'rate_limit',
    'quota_exhausted',
    'server_error',
    'service_unavailable',
  ],
  { description: 'The kind of error.' },
)
export type ErrorType = Static<typeof ErrorType>

/** The body of an error answer everywhere but on the messages paths. */
export const ErrorBody = Type.Object({
  error: Type.Object({
    type: ErrorType,
    message: Type.String({ description: 'For people: what is wrong and what to do.' }),
    code: Type.String({ description: 'The stable name of the error, e.g. RPM_EXCEEDED.' }),
    param: Type.Union([Type.String(), Type.Null()], { description: 'JSON pointer of the bad field.' }),
    request_id: Type.String({ description: 'The same as in X-Request-Id.' }),
  }),
})
export type ErrorBody = Static<typeof ErrorBody>

/** The body of an error answer on the messages paths. */
export const MessagesErrorBody = Type.Object({
  type: Type.Literal('error'),
  error: Type.Object({ type: ErrorType, message: Type.String() }),
  request_id: Type.String(),
})
export type MessagesErrorBody = Static<typeof MessagesErrorBody>
