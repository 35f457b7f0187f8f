import type { UpstreamFailure } from '../../shared/core/dialect.ts'
import { readFailureBody } from './failure.ts'

/** The `event:` name of a failure in a stream. Both dialects use it. */
export const EVENT_ERROR = Buffer.from('error')

/** The failure of an event whose payload is not JSON. */
export const INVALID_EVENT: UpstreamFailure = { message: '', type: 'invalid_event' }

/** The failure of a stream that ended before its answer did. */
export const TRUNCATED_STREAM: UpstreamFailure = { message: '', type: 'truncated' }

const DONE = Buffer.from('[DONE]')

/** Whether the payload is the marker that ends a chat stream. */
export function isDone(bytes: Buffer, start: number, end: number): boolean {
  if (bytes[start] !== DONE[0] || end - start < DONE.length) return false
  return bytes.toString('latin1', start, end).trimEnd() === '[DONE]'
}

/** The failure in an error event. Its type is `error` when the provider named none. */
export function failureOfEvent(payload: Buffer): UpstreamFailure {
  const failure = readFailureBody(payload)
  return failure.type === '' ? { ...failure, type: 'error' } : failure
}

/** Parses a range that was already walked; null when it is not valid JSON. */
export function parseRange(bytes: Buffer, start: number, end: number): unknown {
  try {
    return JSON.parse(bytes.toString('utf8', start, end))
  } catch {
    return null
  }
}
