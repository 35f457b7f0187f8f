import type { Stop, StopReason } from '../../shared/core/answer.ts'
import type { JsonObject } from '../../shared/core/json-object.ts'
import { stopByCalls } from '../common/stop-by-calls.ts'

const READ: Readonly<Record<string, StopReason>> = {
  end_turn: 'end',
  stop_sequence: 'stop-sequence',
  max_tokens: 'length',
  model_context_window_exceeded: 'context-window',
  tool_use: 'tool-calls',
  refusal: 'refusal',
  pause_turn: 'pause',
}

const WRITTEN: Readonly<Record<StopReason, string>> = {
  end: 'end_turn',
  'stop-sequence': 'stop_sequence',
  length: 'max_tokens',
  'context-window': 'model_context_window_exceeded',
  'tool-calls': 'tool_use',
  'content-filter': 'refusal',
  refusal: 'refusal',
  pause: 'pause_turn',
}

/** An unknown reason counts as a natural end. */
export function readStop(
  native: string | null,
  sequence: string | null,
  details: JsonObject | null,
  hasCalls: boolean,
): Stop {
  return { reason: stopByCalls((native === null ? null : READ[native]) ?? 'end', hasCalls), native, sequence, details }
}

/** A stop at an unknown sequence counts as a natural end. */
export function writeStop({ reason, sequence }: Stop): string {
  return reason === 'stop-sequence' && sequence === null ? WRITTEN.end : WRITTEN[reason]
}
