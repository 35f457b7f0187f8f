import type { Stop, StopReason } from '../../shared/core/answer.ts'
import type { UpstreamFailure } from '../../shared/core/dialect.ts'
import type { JsonObject } from '../../shared/core/json-object.ts'
import { failureOf } from '../common/failure.ts'
import { asObject } from '../common/json-value.ts'
import { stopByCalls } from '../common/stop-by-calls.ts'

const READ: Readonly<Record<string, StopReason>> = {
  stop: 'end',
  length: 'length',
  tool_calls: 'tool-calls',
  function_call: 'tool-calls',
  content_filter: 'content-filter',
  // Mistral: the model's context is full.
  model_length: 'length',
  // Hosts that hand on the words of another dialect.
  max_tokens: 'length',
  MAX_TOKENS: 'length',
  SAFETY: 'content-filter',
  // Z.ai: the content filter.
  sensitive: 'content-filter',
}

/** Finish reasons of failed answers, as OpenRouter, DeepSeek, Z.ai and vLLM send them. */
const FAILED: ReadonlySet<string> = new Set(['error', 'insufficient_system_resource', 'network_error', 'abort'])

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

/** The failure of a choice; null when it did not fail. */
export function failureOfChoice(choice: JsonObject): UpstreamFailure | null {
  const finish = choice['finish_reason']
  if (typeof finish !== 'string' || !FAILED.has(finish)) return null
  const { message, type } = failureOf(asObject(choice['error']))
  return { message, type: type === '' ? finish : type }
}

/** The first failure among the choices; null when there is none. */
export function failureOfChoices(choices: readonly unknown[]): UpstreamFailure | null {
  for (const choice of choices) {
    const object = asObject(choice)
    const failure = object === null ? null : failureOfChoice(object)
    if (failure !== null) return failure
  }
  return null
}

/** Whether the quoted finish reason in `bytes[start, end)` means that the answer failed. */
export function isFailedFinish(bytes: Buffer, start: number, end: number): boolean {
  return FAILED.has(bytes.toString('latin1', start + 1, end - 1))
}

/** An unknown reason counts as a natural end. An answer that refuses has the reason `stop`. */
export function readStop(native: string | null, hasCalls: boolean, refuses: boolean): Stop {
  const reason = stopByCalls((native === null ? null : READ[native]) ?? 'end', hasCalls)
  return { reason: reason === 'end' && refuses ? 'refusal' : reason, native, sequence: null, details: null }
}

export function writeStop({ reason }: Stop): string {
  return WRITTEN[reason]
}
