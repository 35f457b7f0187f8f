import type { Stop, StopReason } from '../../shared/core/answer.ts'
import { stopByCalls } from '../common/stop-by-calls.ts'

/** `failed`: the model's output could not be used. */
const REASONS: Readonly<Record<string, StopReason | 'failed'>> = {
  STOP: 'end',
  MAX_TOKENS: 'length',
  SAFETY: 'content-filter',
  RECITATION: 'content-filter',
  LANGUAGE: 'content-filter',
  BLOCKLIST: 'content-filter',
  PROHIBITED_CONTENT: 'content-filter',
  SPII: 'content-filter',
  MODEL_ARMOR: 'content-filter',
  IMAGE_SAFETY: 'content-filter',
  IMAGE_PROHIBITED_CONTENT: 'content-filter',
  IMAGE_RECITATION: 'content-filter',
  IMAGE_OTHER: 'content-filter',
  NO_IMAGE: 'content-filter',
  MALFORMED_FUNCTION_CALL: 'failed',
  UNEXPECTED_TOOL_CALL: 'failed',
  TOO_MANY_TOOL_CALLS: 'failed',
  MISSING_THOUGHT_SIGNATURE: 'failed',
  MALFORMED_RESPONSE: 'failed',
  OTHER: 'failed',
}

/** Some clients of the service write enums as their numbers. From 6 on, the service's two APIs number differently. */
const NUMBERED: readonly (string | null)[] = [
  null,
  'STOP',
  'MAX_TOKENS',
  'SAFETY',
  'RECITATION',
  'OTHER',
  'BLOCKLIST',
  'PROHIBITED_CONTENT',
  'SPII',
]

/** The service's finish reason; null when the answer has not finished. */
export function readFinish(value: unknown): string | null {
  if (typeof value === 'number') return value === 0 ? null : (NUMBERED[value] ?? String(value))
  return typeof value === 'string' && value !== '' && value !== 'FINISH_REASON_UNSPECIFIED' ? value : null
}

/**
 * Reads why an answer ended; null when it failed and has no content. An unknown reason counts as a natural end.
 * @param finish null when a whole answer gave no reason
 */
export function stopOf(
  finish: string | null,
  { hasContent, hasCalls }: { readonly hasContent: boolean; readonly hasCalls: boolean },
): Stop | null {
  const reason = (finish === null ? null : REASONS[finish]) ?? 'end'
  if (reason === 'failed' && !hasContent) return null
  return {
    reason: stopByCalls(reason === 'failed' ? 'end' : reason, hasCalls),
    native: finish,
    sequence: null,
    details: null,
  }
}
