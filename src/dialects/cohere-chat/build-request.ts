import type { BuiltRequest, Target } from '../../shared/core/codec.ts'
import type { Conversation, OutputFormat } from '../../shared/core/conversation.ts'
import type { JsonObject } from '../../shared/core/json-object.ts'
import { put, putExtra } from '../common/fields.ts'
import { schemaInstruction } from '../common/format-instruction.ts'
import { refuseLostChoice } from '../common/hosted-tools.ts'
import { DroppedFields } from '../dropped-fields.ts'
import { budgetOf, effortOf } from '../common/reasoning-effort.ts'
import { FREE_TEXT_PARAMETERS, ToolNames, toolsLeft } from '../common/tool-names.ts'
import { buildMessages } from './build-messages.ts'

const NO_PARAMETERS: JsonObject = { type: 'object', properties: {} }
const HIGHEST_TEMPERATURE = 1

/** Builds a body of POST v2/chat from a conversation. */
export function buildRequest(conversation: Conversation, target: Target): BuiltRequest {
  const droppedFields = new DroppedFields(conversation.from)
  const names = new ToolNames()
  const extra = droppedFields.loseExtra(conversation, target.passFields)
  if (conversation.choices !== null && conversation.choices > 1) droppedFields.lose('n')
  const tools = buildTools(conversation, names, droppedFields)
  // The service takes a format or tools, not both.
  const instruction =
    conversation.format?.type === 'schema' && (tools.length > 0 || target.schemaOutput !== 'native')
      ? schemaInstruction(conversation.format.schema)
      : null

  const body: Record<string, unknown> = { model: target.model, stream: target.stream }
  body['messages'] = buildMessages(conversation, target, names, droppedFields, instruction)
  if (tools.length > 0) body['tools'] = tools
  if (tools.length > 0) put(body, 'tool_choice', toolChoice(conversation, droppedFields))
  const { maxTokens } = conversation
  const most = target.maxOutputTokens
  put(body, 'max_tokens', maxTokens === null || most === null ? maxTokens : Math.min(maxTokens, most))
  buildSampling(body, conversation, target, droppedFields)
  buildThinking(body, conversation, target, droppedFields)
  if (instruction === null && tools.length === 0) put(body, 'response_format', responseFormat(conversation.format))
  if (conversation.parallelToolCalls === false && tools.length > 0) droppedFields.drop('parallel_tool_calls')
  droppedFields.dropValue('user', conversation.user)
  droppedFields.dropValue('metadata', conversation.metadata)
  droppedFields.dropValue('service_tier', conversation.serviceTier)
  droppedFields.dropValue('cache_control', conversation.cache)
  putExtra(body, extra)
  return { body, dropped: droppedFields.dropped, restoration: names.restoration }
}

/** Declares only the tools that the choice names: the dialect can force a call, but not a call of a certain tool. */
function buildTools(conversation: Conversation, names: ToolNames, droppedFields: DroppedFields): JsonObject[] {
  const { tools, toolChoice: choice } = conversation
  refuseLostChoice(conversation, droppedFields)
  const built: JsonObject[] = []
  for (const tool of toolsLeft(tools, choice)) {
    if (tool.type === 'native') {
      droppedFields.lose('tools.native', `tools.${tool.kind}`)
      continue
    }
    if (choice?.type === 'tool' && tool.name !== choice.name) continue
    const definition: Record<string, unknown> = { name: names.upstream(tool.name) }
    put(definition, 'description', tool.description)
    if (tool.type === 'custom') {
      names.declare(tool.name, 'custom')
      droppedFields.dropValue('tools.custom.format', tool.format)
      definition['parameters'] = FREE_TEXT_PARAMETERS
    } else {
      if (tool.legacy) names.declare(tool.name, 'legacy')
      if (tool.strict === true) droppedFields.lose('tools.strict')
      if (tool.cache !== null) droppedFields.lose('content.cache_control')
      for (const name of Object.keys(tool.extra ?? {})) if (name !== 'type') droppedFields.drop(`tools.${name}`)
      definition['parameters'] = tool.parameters === null ? NO_PARAMETERS : { type: 'object', ...tool.parameters }
    }
    built.push({ type: 'function', function: definition })
  }
  return built
}

function toolChoice({ toolChoice: choice }: Conversation, droppedFields: DroppedFields): string | null {
  switch (choice?.type) {
    case 'none':
      return 'NONE'
    case 'required':
      return 'REQUIRED'
    case 'tool':
      droppedFields.drop('tools')
      return 'REQUIRED'
    case 'allowed':
      return choice.required ? 'REQUIRED' : null
    default:
      return null
  }
}

function buildSampling(
  body: Record<string, unknown>,
  { sampling, stop }: Conversation,
  target: Target,
  droppedFields: DroppedFields,
): void {
  const { temperature, topP, topK } = sampling
  if (temperature !== null && temperature > HIGHEST_TEMPERATURE) droppedFields.drop('temperature')
  if (target.takesSampling) {
    put(body, 'temperature', temperature === null ? null : Math.min(temperature, HIGHEST_TEMPERATURE))
    put(body, 'p', topP)
    put(body, 'k', topK)
  } else {
    droppedFields.dropValue('temperature', temperature)
    droppedFields.dropValue('top_p', topP)
    droppedFields.dropValue('top_k', topK)
  }
  put(body, 'seed', sampling.seed)
  buildPenalty(body, 'presence_penalty', sampling.presencePenalty, droppedFields)
  buildPenalty(body, 'frequency_penalty', sampling.frequencyPenalty, droppedFields)
  droppedFields.dropValue('logprobs', sampling.logprobs === false ? null : sampling.logprobs)
  droppedFields.dropValue('top_logprobs', sampling.topLogprobs)
  if (stop.length > target.maxStopSequences) droppedFields.drop('stop')
  if (stop.length > 0) body['stop_sequences'] = stop.slice(0, target.maxStopSequences)
}

/** The service takes penalties between 0 and 1. */
function buildPenalty(
  body: Record<string, unknown>,
  name: 'presence_penalty' | 'frequency_penalty',
  penalty: number | null,
  droppedFields: DroppedFields,
): void {
  if (penalty === null) return
  const bound = Math.min(Math.max(penalty, 0), 1)
  if (bound !== penalty) droppedFields.drop(name)
  body[name] = bound
}

function buildThinking(
  body: Record<string, unknown>,
  { reasoning }: Conversation,
  target: Target,
  droppedFields: DroppedFields,
): void {
  const effort = reasoning === null ? null : effortOf(reasoning)
  if (reasoning === null || effort === null) return
  if (target.reasoning === 'none') {
    if (effort !== 'none') droppedFields.drop('reasoning_effort')
    return
  }
  if (effort === 'none') {
    body['thinking'] = { type: 'disabled' }
    return
  }
  const budget = budgetOf(reasoning)
  body['thinking'] = { type: 'enabled', ...(budget === null ? null : { token_budget: budget }) }
}

function responseFormat(format: OutputFormat | null): JsonObject | null {
  if (format === null || format.type === 'text') return null
  return { type: 'json_object', ...(format.type === 'schema' ? { json_schema: format.schema } : null) }
}
