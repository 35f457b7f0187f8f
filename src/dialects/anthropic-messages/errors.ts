import type { GatewayError } from '../../shared/core/errors.ts'

const TOO_LONG = 'prompt is too long'

/**
 * `{"type":"error","error":{"type","message"},"request_id"}`. The message holds the bad field's pointer: there is no other
 * place.
 */
export function renderError(error: GatewayError, requestId: string): string {
  const { type, param } = error
  const text = textOf(error)
  const message = param === null || text.includes(param) ? text : `${param}: ${text}`
  return JSON.stringify({ type: 'error', error: { type, message }, request_id: requestId })
}

/** Begins as the refusal of the protocol's own service does: clients then shorten their conversation. */
function textOf({ code, message }: GatewayError): string {
  if (code !== 'CONTEXT_LENGTH_EXCEEDED' || message.startsWith(TOO_LONG)) return message
  return `${TOO_LONG}: ${message}`
}

/** Writes the error as the last event of a stream. No `message_stop` follows it. */
export function renderErrorEvent(error: GatewayError, requestId: string): Buffer {
  return Buffer.from(`event: error\ndata: ${renderError(error, requestId)}\n\n`)
}
