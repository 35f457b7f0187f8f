import type { UpstreamFailure } from '../../shared/core/dialect.ts'
import { failureOf } from '../common/failure.ts'
import { objects, textOr } from '../common/fields.ts'
import { asObject } from '../common/json-value.ts'

const ERROR_INFO = 'google.rpc.ErrorInfo'

/**
 * Reads an error of the service. Its type is the reason when one is told: the status does not tell a bad key from any other
 * 400. Otherwise its type is the status (`RESOURCE_EXHAUSTED`).
 */
export function geminiFailure(value: unknown): UpstreamFailure {
  const failure = failureOf(value)
  const error = errorOf(value)
  if (error === null) return failure.type === '' ? { ...failure, type: 'invalid_answer' } : failure
  const type = textOr(detailOf(error, ERROR_INFO)?.['reason'], '') || textOr(error['status'], '') || failure.type
  return { message: failure.message, type }
}

/** A stream without SSE has its errors in an array. */
function errorOf(value: unknown): Readonly<Record<string, unknown>> | null {
  return asObject(asObject(Array.isArray(value) ? value[0] : value)?.['error'])
}

function detailOf(
  error: Readonly<Record<string, unknown>>,
  type: string,
): Readonly<Record<string, unknown>> | undefined {
  return objects(error['details']).find((detail) => textOr(detail['@type'], '').endsWith(type))
}
