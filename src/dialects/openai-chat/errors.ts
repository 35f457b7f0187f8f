import type { GatewayError } from '../../shared/core/errors.ts'

/** `{"error":{"type","message","code","param","request_id"}}`. */
export function renderError(error: GatewayError, requestId: string): string {
  const { type, message, clientCode: code, param } = error
  return JSON.stringify({ error: { type, message, code, param, request_id: requestId } })
}

/** Writes the error as the last event of a stream. No `[DONE]` follows it. */
export function renderErrorEvent(error: GatewayError, requestId: string): Buffer {
  return Buffer.from(`data: ${renderError(error, requestId)}\n\n`)
}
