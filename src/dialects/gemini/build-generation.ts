import type { Target } from '../../shared/core/codec.ts'
import type { Conversation, OutputFormat } from '../../shared/core/conversation.ts'
import type { JsonObject } from '../../shared/core/json-object.ts'
import { put } from '../common/fields.ts'
import type { DroppedFields } from '../dropped-fields.ts'
import { buildThinking } from './build-thinking.ts'
import { cleanSchema } from './schema.ts'

/** Builds `generationConfig`. @param format null when an instruction asks for the answer's format */
export function buildGeneration(
  conversation: Conversation,
  target: Target,
  format: OutputFormat | null,
  droppedFields: DroppedFields,
): JsonObject {
  const { sampling } = conversation
  const config: Record<string, unknown> = {}
  if (target.takesSampling) {
    put(config, 'temperature', sampling.temperature)
    put(config, 'topP', sampling.topP)
  } else {
    droppedFields.dropValue('temperature', sampling.temperature)
    droppedFields.dropValue('top_p', sampling.topP)
  }
  if (target.takesTopK) put(config, 'topK', sampling.topK)
  else droppedFields.dropValue('top_k', sampling.topK)
  put(config, 'seed', sampling.seed)
  put(config, 'presencePenalty', sampling.presencePenalty)
  put(config, 'frequencyPenalty', sampling.frequencyPenalty)
  if (sampling.logprobs === true) droppedFields.drop('logprobs')
  droppedFields.dropValue('top_logprobs', sampling.topLogprobs)
  put(config, 'maxOutputTokens', maxTokensOf(conversation.maxTokens, target.maxOutputTokens))
  const stop = conversation.stop.filter((sequence) => sequence !== '')
  if (stop.length > 0) config['stopSequences'] = stop.slice(0, target.maxStopSequences)
  if (stop.length > target.maxStopSequences) droppedFields.drop('stop')
  put(config, 'thinkingConfig', buildThinking(conversation, target, droppedFields))
  if (format !== null && format.type !== 'text') config['responseMimeType'] = 'application/json'
  if (format?.type === 'schema') {
    const { schema, lossy } = cleanSchema(format.schema)
    config['responseSchema'] = schema
    if (lossy) droppedFields.drop('response_format.json_schema.schema')
  }
  return config
}

/** The limit includes thinking, as it does for clients. */
function maxTokensOf(wanted: number | null, most: number | null): number | null {
  return wanted === null || most === null ? wanted : Math.min(wanted, most)
}
