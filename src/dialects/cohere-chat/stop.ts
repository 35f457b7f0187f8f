import type { Stop, StopReason } from '../../shared/core/answer.ts'
import type { UpstreamFailure } from '../../shared/core/dialect.ts'
import { stopByCalls } from '../common/stop-by-calls.ts'
import { textOr } from '../common/fields.ts'

const REASONS: Readonly<Record<string, StopReason>> = {
  COMPLETE: 'end',
  TOOL_CALL: 'end',
  STOP_SEQUENCE: 'stop-sequence',
  MAX_TOKENS: 'length',
}
const FAILED: ReadonlySet<string> = new Set(['ERROR', 'TIMEOUT'])

/** Reads the stop reason; a failure when generating the answer went wrong. */
export function readStop(reason: unknown, error: unknown, hasCalls: boolean): Stop | UpstreamFailure {
  const native = textOr(reason, null)
  if (native !== null && FAILED.has(native)) return { message: textOr(error, ''), type: native }
  const known = (native === null ? undefined : REASONS[native]) ?? 'end'
  return { reason: stopByCalls(known, hasCalls), native, sequence: null, details: null }
}
