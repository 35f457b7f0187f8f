import { isChange, takesIdempotencyKey } from './operation.ts'
import type { OperationSpec } from './operation.ts'
import { resourceOf } from './operations/resource.ts'

type Json = Readonly<Record<string, unknown>>

const text = { type: 'string' } as const
const error = { 'application/json': { schema: { $ref: '#/components/schemas/Error' } } } as const
const retryAfter = { 'Retry-After': { $ref: '#/components/headers/RetryAfter' } } as const

const RESPONSES = {
  NotModified: { description: 'It is what If-None-Match names.' },
  Conflict: {
    description:
      'It cannot be so, the same request is still being worked on, or another was sent with this Idempotency-Key.',
    content: error,
  },
  PreconditionFailed: { description: 'It is not any more what If-Match names.', content: error },
  TooManyRequests: {
    description: 'Too many at the same time, or too many attempts.',
    headers: retryAfter,
    content: error,
  },
} as const satisfies Record<string, Json>

/** The headers of operations by their names. */
export const HEADER_COMPONENTS = {
  parameters: {
    IdempotencyKey: {
      name: 'Idempotency-Key',
      in: 'header',
      description: 'The same one with the same body is done once within a day, and gets the first answer again.',
      schema: { ...text, minLength: 1, maxLength: 255, pattern: '^[\\x21-\\x7e]+$' },
    },
    IfMatch: {
      name: 'If-Match',
      in: 'header',
      description: 'ETags of what is to be changed; nothing is when it is something else by now.',
      schema: text,
    },
    IfNoneMatch: { name: 'If-None-Match', in: 'header', description: 'ETags of what is known already.', schema: text },
  },
  headers: {
    ETag: { description: 'Stands for what is shown, for If-Match and If-None-Match.', schema: text },
    IdempotentReplayed: { description: 'This is the answer to an earlier request.', schema: { enum: ['true'] } },
    RetryAfter: { description: 'Seconds.', schema: { type: 'integer', minimum: 1 } },
  },
} as const

/** The headers that an operation takes. */
export function headerParametersOf(spec: OperationSpec): readonly Json[] {
  const parameters: Json[] = []
  if (takesIdempotencyKey(spec)) parameters.push({ $ref: '#/components/parameters/IdempotencyKey' })
  if (resourceOf(spec) !== null) {
    parameters.push({ $ref: `#/components/parameters/${isChange(spec) ? 'IfMatch' : 'IfNoneMatch'}` })
  }
  return parameters
}

/** The headers of its answer when it is done. */
export function answerHeadersOf(spec: OperationSpec): Json {
  const hasTag = resourceOf(spec) !== null && spec.answer.schema !== null
  const headers = {
    ...(hasTag ? { ETag: { $ref: '#/components/headers/ETag' } } : {}),
    ...(takesIdempotencyKey(spec)
      ? { 'Idempotent-Replayed': { $ref: '#/components/headers/IdempotentReplayed' } }
      : {}),
  }
  return Object.keys(headers).length === 0 ? {} : { headers }
}

/** The other answers that come of headers. */
export function headerResponsesOf(spec: OperationSpec): Json {
  const hasResource = resourceOf(spec) !== null
  return {
    ...(hasResource && !isChange(spec) ? { 304: RESPONSES.NotModified } : {}),
    ...(takesIdempotencyKey(spec) ? { 409: RESPONSES.Conflict } : {}),
    ...(hasResource && isChange(spec) ? { 412: RESPONSES.PreconditionFailed } : {}),
    429: RESPONSES.TooManyRequests,
  }
}
