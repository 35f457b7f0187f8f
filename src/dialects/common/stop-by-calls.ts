import type { StopReason } from '../../shared/core/answer.ts'

/** The calls decide whether tools are to be called, not the upstream's stop reason. */
export function stopByCalls(reason: StopReason, hasCalls: boolean): StopReason {
  if (hasCalls) return reason === 'end' || reason === 'stop-sequence' ? 'tool-calls' : reason
  return reason === 'tool-calls' ? 'end' : reason
}
