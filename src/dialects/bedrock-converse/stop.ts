import type { Stop, StopReason } from '../../shared/core/answer.ts'
import type { UpstreamFailure } from '../../shared/core/dialect.ts'
import { stopByCalls } from '../common/stop-by-calls.ts'
import { textOr } from '../common/fields.ts'
import { valueAt } from '../common/json-value.ts'

const REASONS: Readonly<Record<string, StopReason>> = {
  end_turn: 'end',
  tool_use: 'end',
  stop_sequence: 'stop-sequence',
  max_tokens: 'length',
  model_context_window_exceeded: 'context-window',
  guardrail_intervened: 'content-filter',
  content_filtered: 'content-filter',
  refusal: 'refusal',
}
/** The model wrote an output that is no answer. */
const MALFORMED: ReadonlySet<string> = new Set(['malformed_model_output', 'malformed_tool_use'])

export interface Said {
  /** The answer calls a tool of the client. */
  readonly hasCalls: boolean
  /** The answer has a block other than thinking. */
  readonly hasContent: boolean
}

/** Reads the stop reason; a failure when the model's output could not be used at all. */
export function readStop(reason: unknown, fields: unknown, { hasCalls, hasContent }: Said): Stop | UpstreamFailure {
  const native = textOr(reason, null)
  if (native !== null && MALFORMED.has(native) && !hasContent) {
    return { message: 'The output of the model cannot be used.', type: native }
  }
  const known = (native === null ? undefined : REASONS[native]) ?? 'end'
  return {
    reason: stopByCalls(known, hasCalls),
    native,
    sequence: textOr(valueAt(fields, 'stop_sequence'), null) ?? textOr(valueAt(fields, 'delta', 'stop_sequence'), null),
    details: null,
  }
}
