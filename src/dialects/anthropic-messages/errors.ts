import type { GatewayError } from '../../core/errors.ts'

/** `{"type":"error","error":{"type","message"},"request_id"}`: there is no other place for the bad field's pointer. */
export function renderError(error: GatewayError, requestId: string): string {
  const { type, param } = error
  const message = param === null || error.message.includes(param) ? error.message : `${param}: ${error.message}`
  return JSON.stringify({ type: 'error', error: { type, message }, request_id: requestId })
}

/** The same as the last event of a stream; no `message_stop` follows it. */
export function renderErrorEvent(error: GatewayError, requestId: string): Buffer {
  return Buffer.from(`event: error\ndata: ${renderError(error, requestId)}\n\n`)
}
