import type { BuiltRequest, Target } from '../../shared/core/codec.ts'
import type { Conversation, OutputFormat } from '../../shared/core/conversation.ts'
import type { JsonObject } from '../../shared/core/json-object.ts'
import { put, putExtra } from '../fields.ts'
import { schemaInstruction } from '../format-instruction.ts'
import { refuseLostChoice } from '../hosted-tools.ts'
import { LossReport } from '../losses.ts'
import { budgetOf, effortOf } from '../reasoning-effort.ts'
import { FREE_TEXT_PARAMETERS, ToolNames, toolsLeft } from '../tool-names.ts'
import { buildMessages } from './build-messages.ts'

const NO_PARAMETERS: JsonObject = { type: 'object', properties: {} }
const HIGHEST_TEMPERATURE = 1

/** A conversation as a body of POST v2/chat. */
export function buildRequest(conversation: Conversation, target: Target): BuiltRequest {
  const losses = new LossReport(conversation.from)
  const names = new ToolNames()
  const extra = losses.loseExtra(conversation, target.passFields)
  if (conversation.choices !== null && conversation.choices > 1) losses.lose('n')
  const tools = buildTools(conversation, names, losses)
  // A format and tools exclude each other.
  const instruction =
    conversation.format?.type === 'schema' && (tools.length > 0 || target.schemaOutput !== 'native')
      ? schemaInstruction(conversation.format.schema)
      : null

  const body: Record<string, unknown> = { model: target.model, stream: target.stream }
  body['messages'] = buildMessages(conversation, target, names, losses, instruction)
  if (tools.length > 0) body['tools'] = tools
  if (tools.length > 0) put(body, 'tool_choice', toolChoice(conversation, losses))
  const { maxTokens } = conversation
  const most = target.maxOutputTokens
  put(body, 'max_tokens', maxTokens === null || most === null ? maxTokens : Math.min(maxTokens, most))
  buildSampling(body, conversation, target, losses)
  buildThinking(body, conversation, target, losses)
  if (instruction === null && tools.length === 0) put(body, 'response_format', responseFormat(conversation.format))
  if (conversation.parallelToolCalls === false && tools.length > 0) losses.drop('parallel_tool_calls')
  losses.dropValue('user', conversation.user)
  losses.dropValue('metadata', conversation.metadata)
  losses.dropValue('service_tier', conversation.serviceTier)
  losses.dropValue('cache_control', conversation.cache)
  putExtra(body, extra)
  return { body, dropped: losses.dropped, restoration: names.restoration }
}

/** With `allowed`, or a tool by name, those are the only ones: the dialect can force a call, but not which. */
function buildTools(conversation: Conversation, names: ToolNames, losses: LossReport): JsonObject[] {
  const { tools, toolChoice: choice } = conversation
  refuseLostChoice(conversation, losses)
  const built: JsonObject[] = []
  for (const tool of toolsLeft(tools, choice)) {
    if (tool.type === 'native') {
      losses.lose('tools.native', `tools.${tool.kind}`)
      continue
    }
    if (choice?.type === 'tool' && tool.name !== choice.name) continue
    const definition: Record<string, unknown> = { name: names.upstream(tool.name) }
    put(definition, 'description', tool.description)
    if (tool.type === 'custom') {
      names.declare(tool.name, 'custom')
      losses.dropValue('tools.custom.format', tool.format)
      definition['parameters'] = FREE_TEXT_PARAMETERS
    } else {
      if (tool.legacy) names.declare(tool.name, 'legacy')
      if (tool.strict === true) losses.lose('tools.strict')
      if (tool.cache !== null) losses.lose('content.cache_control')
      for (const name of Object.keys(tool.extra ?? {})) if (name !== 'type') losses.drop(`tools.${name}`)
      definition['parameters'] = tool.parameters === null ? NO_PARAMETERS : { type: 'object', ...tool.parameters }
    }
    built.push({ type: 'function', function: definition })
  }
  return built
}

function toolChoice({ toolChoice: choice }: Conversation, losses: LossReport): string | null {
  switch (choice?.type) {
    case 'none':
      return 'NONE'
    case 'required':
      return 'REQUIRED'
    case 'tool':
      losses.drop('tools')
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
  losses: LossReport,
): void {
  const { temperature, topP, topK } = sampling
  if (temperature !== null && temperature > HIGHEST_TEMPERATURE) losses.drop('temperature')
  if (target.takesSampling) {
    put(body, 'temperature', temperature === null ? null : Math.min(temperature, HIGHEST_TEMPERATURE))
    put(body, 'p', topP)
    put(body, 'k', topK)
  } else {
    losses.dropValue('temperature', temperature)
    losses.dropValue('top_p', topP)
    losses.dropValue('top_k', topK)
  }
  put(body, 'seed', sampling.seed)
  buildPenalty(body, 'presence_penalty', sampling.presencePenalty, losses)
  buildPenalty(body, 'frequency_penalty', sampling.frequencyPenalty, losses)
  losses.dropValue('logprobs', sampling.logprobs === false ? null : sampling.logprobs)
  losses.dropValue('top_logprobs', sampling.topLogprobs)
  if (stop.length > target.maxStopSequences) losses.drop('stop')
  if (stop.length > 0) body['stop_sequences'] = stop.slice(0, target.maxStopSequences)
}

/** Between 0 and 1 here. */
function buildPenalty(
  body: Record<string, unknown>,
  name: 'presence_penalty' | 'frequency_penalty',
  penalty: number | null,
  losses: LossReport,
): void {
  if (penalty === null) return
  const bound = Math.min(Math.max(penalty, 0), 1)
  if (bound !== penalty) losses.drop(name)
  body[name] = bound
}

function buildThinking(
  body: Record<string, unknown>,
  { reasoning }: Conversation,
  target: Target,
  losses: LossReport,
): void {
  const effort = reasoning === null ? null : effortOf(reasoning)
  if (reasoning === null || effort === null) return
  if (target.reasoning === 'none') {
    if (effort !== 'none') losses.drop('reasoning_effort')
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
