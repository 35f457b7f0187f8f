import type { UpstreamFailure } from '../shared/core/dialect.ts'
import { readFailureBody } from './failure.ts'

/** The `event:` name that both dialects give to a failure in a stream. */
export const EVENT_ERROR = Buffer.from('error')

/** What failed when an event's payload is not JSON. */
export const INVALID_EVENT: UpstreamFailure = { message: '', type: 'invalid_event' }

/** What failed when a stream ended before its answer did. */
export const TRUNCATED_STREAM: UpstreamFailure = { message: '', type: 'truncated' }

const DONE = Buffer.from('[DONE]')

/** The payload is the marker that ends a chat stream. */
export function isDone(bytes: Buffer, start: number, end: number): boolean {
  if (bytes[start] !== DONE[0] || end - start < DONE.length) return false
  return bytes.toString('latin1', start, end).trimEnd() === '[DONE]'
}

/** The failure that an error event reports. Its type is `error` when the provider named none. */
export function failureOfEvent(payload: Buffer): UpstreamFailure {
  const failure = readFailureBody(payload)
  return failure.type === '' ? { ...failure, type: 'error' } : failure
}

/** The value of a range that was walked already; null when it is not JSON after all. */
export function parseRange(bytes: Buffer, start: number, end: number): unknown {
  try {
    return JSON.parse(bytes.toString('utf8', start, end))
  } catch {
    return null
  }
}
