import type { StopReason } from '../shared/core/answer.ts'

/** Whether tools are to be called is told by the calls, not by the upstream's word for it. */
export function stopByCalls(reason: StopReason, hasCalls: boolean): StopReason {
  if (hasCalls) return reason === 'end' || reason === 'stop-sequence' ? 'tool-calls' : reason
  return reason === 'tool-calls' ? 'end' : reason
}
