import type { Stop, StopReason } from '../../core/answer.ts'
import { stopByCalls } from '../stop-by-calls.ts'

const READ: Readonly<Record<string, StopReason>> = {
  stop: 'end',
  length: 'length',
  tool_calls: 'tool-calls',
  function_call: 'tool-calls',
  content_filter: 'content-filter',
}

const WRITTEN: Readonly<Record<StopReason, string>> = {
  end: 'stop',
  'stop-sequence': 'stop',
  length: 'length',
  'context-window': 'length',
  'tool-calls': 'tool_calls',
  'content-filter': 'content_filter',
  refusal: 'content_filter',
  pause: 'stop',
}

/** Reasons that are not known count as a natural end; one that refuses says `stop`. */
export function readStop(native: string | null, hasCalls: boolean, refuses: boolean): Stop {
  const reason = stopByCalls((native === null ? null : READ[native]) ?? 'end', hasCalls)
  return { reason: reason === 'end' && refuses ? 'refusal' : reason, native, sequence: null, details: null }
}

export function writeStop({ reason }: Stop): string {
  return WRITTEN[reason]
}
