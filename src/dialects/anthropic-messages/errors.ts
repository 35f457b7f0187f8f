import type { GatewayError } from '../../shared/core/errors.ts'

const TOO_LONG = 'prompt is too long'

/** `{"type":"error","error":{"type","message"},"request_id"}`: there is no other place for the bad field's pointer. */
export function renderError(error: GatewayError, requestId: string): string {
  const { type, param } = error
  const text = textOf(error)
  const message = param === null || text.includes(param) ? text : `${param}: ${text}`
  return JSON.stringify({ type: 'error', error: { type, message }, request_id: requestId })
}

/** Clients shorten their conversation when a refusal begins with the words that the protocol's own service has for it. */
function textOf({ code, message }: GatewayError): string {
  if (code !== 'CONTEXT_LENGTH_EXCEEDED' || message.startsWith(TOO_LONG)) return message
  return `${TOO_LONG}: ${message}`
}

/** The same as the last event of a stream; no `message_stop` follows it. */
export function renderErrorEvent(error: GatewayError, requestId: string): Buffer {
  return Buffer.from(`event: error\ndata: ${renderError(error, requestId)}\n\n`)
}
