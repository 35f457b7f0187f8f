import type { AiAnswer } from '../../shared/core/ai-request.ts'
import { GatewayError } from '../../shared/core/errors.ts'
import { failedOutcome } from './tool-source.ts'
import type { ApiError, Json, ToolOutcome } from './tool-source.ts'

/** A whole answer that is not a stream. */
const MAX_ANSWER_BYTES = 32 * 1024 * 1024

/** The outcome of an answer that is an error. */
export async function failureOf(answer: AiAnswer): Promise<ToolOutcome> {
  const { error } = (await jsonOf(answer)) as { readonly error?: ApiError }
  return failedOutcome(answer.status, error ?? unreadable(answer))
}

export async function jsonOf({ body }: AiAnswer): Promise<Json> {
  const chunks: Buffer[] = []
  let length = 0
  for await (const chunk of body) {
    length += chunk.length
    if (length > MAX_ANSWER_BYTES) throw new GatewayError('UPSTREAM_INVALID_ANSWER')
    chunks.push(chunk)
  }
  const value: unknown = JSON.parse(Buffer.concat(chunks).toString('utf8'))
  return typeof value === 'object' && value !== null ? (value as Json) : {}
}

function unreadable({ headers }: AiAnswer): ApiError {
  const { type, code, message } = new GatewayError('INTERNAL')
  return { type, code, message, param: null, request_id: headers.get('x-request-id') ?? '' }
}
