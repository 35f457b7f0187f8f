import type { Stop, StopReason } from '../../shared/core/answer.ts'
import type { JsonObject } from '../../shared/core/json-object.ts'

interface Status {
  readonly status: 'completed' | 'incomplete'
  readonly incomplete_details: JsonObject | null
}

const COMPLETED: Status = { status: 'completed', incomplete_details: null }
const TOO_LONG: Status = { status: 'incomplete', incomplete_details: { reason: 'max_output_tokens' } }
const FILTERED: Status = { status: 'incomplete', incomplete_details: { reason: 'content_filter' } }

const STATUSES: Readonly<Record<StopReason, Status>> = {
  end: COMPLETED,
  'stop-sequence': COMPLETED,
  length: TOO_LONG,
  'context-window': TOO_LONG,
  'tool-calls': COMPLETED,
  'content-filter': FILTERED,
  refusal: FILTERED,
  pause: COMPLETED,
}

/** A refusal with its own text is a completed answer. */
export function statusOf({ reason }: Stop, refuses: boolean): Status {
  return reason === 'refusal' && refuses ? COMPLETED : STATUSES[reason]
}
