import type { Target } from '../../shared/core/codec.ts'
import type { Conversation } from '../../shared/core/conversation.ts'
import type { DroppedFields } from '../dropped-fields.ts'

const HIGHEST_TEMPERATURE = 1

/** Adds temperature, top_p, top_k and stop sequences, as far as the model takes them. */
export function buildSampling(
  body: Record<string, unknown>,
  { sampling, stop }: Conversation,
  target: Target,
  droppedFields: DroppedFields,
  thinks: boolean,
): void {
  const takes = target.takesSampling && !thinks
  if (sampling.temperature !== null) {
    if (!takes || sampling.temperature > HIGHEST_TEMPERATURE) droppedFields.drop('temperature')
    if (takes) body['temperature'] = Math.min(sampling.temperature, HIGHEST_TEMPERATURE)
  }
  if (sampling.topP !== null) {
    if (takes && (sampling.temperature === null || target.takesTemperatureWithTopP)) body['top_p'] = sampling.topP
    else droppedFields.drop('top_p')
  }
  if (sampling.topK !== null) {
    if (takes && target.takesTopK) body['top_k'] = sampling.topK
    else droppedFields.drop('top_k')
  }
  droppedFields.dropValue('seed', sampling.seed)
  droppedFields.dropValue('presence_penalty', sampling.presencePenalty)
  droppedFields.dropValue('frequency_penalty', sampling.frequencyPenalty)
  droppedFields.dropValue('logprobs', sampling.logprobs === false ? null : sampling.logprobs)
  droppedFields.dropValue('top_logprobs', sampling.topLogprobs)
  const sequences = stop.filter((sequence) => sequence.trim() !== '')
  if (sequences.length < stop.length) droppedFields.drop('stop')
  if (sequences.length > 0) body['stop_sequences'] = sequences
}
