import type { GatewayError } from '../../shared/core/errors.ts'
import type { JsonObject } from '../../shared/core/json-object.ts'

/** The codes that clients of streams act on. */
const CODES: Readonly<Partial<Record<GatewayError['code'], string>>> = {
  UPSTREAM_RATE_LIMITED: 'rate_limit_exceeded',
  UPSTREAM_OVERLOADED: 'server_is_overloaded',
  UPSTREAM_INVALID_REQUEST: 'invalid_prompt',
}

/** `error` of a failed response. */
export function responseError(error: GatewayError): JsonObject {
  const told = error.clientCode === error.code ? CODES[error.code] : error.clientCode
  return { code: told ?? 'server_error', message: error.message }
}

/** The `error` event as documented, plus the object that client libraries look for. */
export function errorEvent(error: GatewayError, requestId: string, sequenceNumber: number): string {
  const { type, message, clientCode: code, param } = error
  const event = {
    type: 'error',
    sequence_number: sequenceNumber,
    code,
    message,
    param,
    error: { type, message, code, param, request_id: requestId },
  }
  return `event: error\ndata: ${JSON.stringify(event)}\n\n`
}
