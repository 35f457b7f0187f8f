import { EVENT_STREAM, isChange, takesIdempotencyKey } from './operation.ts'
import type { OperationSpec } from './operation.ts'
import { resourceOf } from './operations/resource.ts'

type Json = Readonly<Record<string, unknown>>

const text = { type: 'string' } as const
const error = { 'application/json': { schema: { $ref: '#/components/schemas/Error' } } } as const
const retryAfter = { 'Retry-After': { $ref: '#/components/headers/RetryAfter' } } as const

const RESPONSES = {
  NotModified: { description: 'The resource has not changed: If-None-Match names its ETag.' },
  Conflict: {
    description:
      'The change contradicts the present state, the same request is still running, or the Idempotency-Key was used with another request.',
    content: error,
  },
  PreconditionFailed: {
    description: 'The resource has changed: If-Match does not name its present ETag.',
    content: error,
  },
  TooManyRequests: {
    description: 'Too many requests at the same time, or too many attempts.',
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
      description:
        'Requests with the same key and body take effect once within a day; a repetition gets the first answer again.',
      schema: { ...text, minLength: 1, maxLength: 255, pattern: '^[\\x21-\\x7e]+$' },
    },
    IfMatch: {
      name: 'If-Match',
      in: 'header',
      description: 'ETags of the resource to change. If it has another ETag by now, nothing changes.',
      schema: text,
    },
    IfNoneMatch: {
      name: 'If-None-Match',
      in: 'header',
      description: 'ETags of the resource that the client has already.',
      schema: text,
    },
    LastEventId: {
      name: 'Last-Event-ID',
      in: 'header',
      description:
        'The id of the last event that the client has from a stream that was lost. `ready` says whether it goes on from there.',
      schema: { ...text, maxLength: 64 },
    },
  },
  headers: {
    ETag: { description: 'Version of the resource, for If-Match and If-None-Match.', schema: text },
    IdempotentReplayed: { description: 'This is the answer to an earlier request.', schema: { enum: ['true'] } },
    RetryAfter: { description: 'Seconds until a retry makes sense.', schema: { type: 'integer', minimum: 1 } },
  },
} as const

/** The headers that an operation takes. */
export function headerParametersOf(spec: OperationSpec): readonly Json[] {
  const parameters: Json[] = []
  if (takesIdempotencyKey(spec)) parameters.push({ $ref: '#/components/parameters/IdempotencyKey' })
  if (resourceOf(spec) !== null) {
    parameters.push({ $ref: `#/components/parameters/${isChange(spec) ? 'IfMatch' : 'IfNoneMatch'}` })
  }
  if (spec.answer.media === EVENT_STREAM) parameters.push({ $ref: '#/components/parameters/LastEventId' })
  return parameters
}

/** The headers of a successful answer. */
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

/** The other answers that the headers of a request can cause. */
export function headerResponsesOf(spec: OperationSpec): Json {
  const hasResource = resourceOf(spec) !== null
  return {
    ...(hasResource && !isChange(spec) ? { 304: RESPONSES.NotModified } : {}),
    ...(takesIdempotencyKey(spec) ? { 409: RESPONSES.Conflict } : {}),
    ...(hasResource && isChange(spec) ? { 412: RESPONSES.PreconditionFailed } : {}),
    429: RESPONSES.TooManyRequests,
  }
}
