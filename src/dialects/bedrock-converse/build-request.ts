import type { BuiltRequest, Target } from '../../shared/core/codec.ts'
import type { Conversation, Message } from '../../shared/core/conversation.ts'
import type { JsonObject } from '../../shared/core/json-object.ts'
import { answerToolFits, buildFormat } from '../anthropic-messages/build-format.ts'
import { buildSampling } from '../anthropic-messages/build-sampling.ts'
import { buildThinking } from '../anthropic-messages/build-thinking.ts'
import { cloudBetas, losesBetas } from '../anthropic-messages/cloud-betas.ts'
import { isBillingHeader } from '../common/billing-header.ts'
import { put } from '../common/fields.ts'
import { asObject, valueAt } from '../common/json-value.ts'
import { DroppedFields, unsupportedField } from '../dropped-fields.ts'
import { effortOf, nearestEffort } from '../common/reasoning-effort.ts'
import { ToolNames } from '../common/tool-names.ts'
import { takeTurns } from '../common/turns.ts'
import type { Turn } from '../common/turns.ts'
import { ConverseAdapter } from './adapt.ts'
import { BlockWriter, cachePoint } from './build-block.ts'
import { buildToolConfig, specOf } from './build-tools.ts'
import { familyOf } from './family.ts'
import type { Family } from './family.ts'

const ROOM_FOR_ANSWER = 4096

/** Builds a body of Converse. The path names the model. */
export function buildRequest(conversation: Conversation, target: Target): BuiltRequest {
  const family = familyOf(target.model === '' ? conversation.model : target.model)
  const droppedFields = new DroppedFields(conversation.from)
  const names = new ToolNames()
  const adapter = new ConverseAdapter(target, family, names, droppedFields)
  const extra = droppedFields.loseExtra(conversation, target.passFields)
  if (conversation.choices !== null && conversation.choices > 1) droppedFields.lose('n')
  const fields: Record<string, unknown> = { ...extra }
  if (family === 'anthropic') addBetas(fields, target.betas ?? [], droppedFields)
  const thinking = addReasoning(fields, conversation, target, family, droppedFields)
  const answerTool = answerToolFits(conversation, target) ? conversation.format : null
  const format = buildFormat(conversation.format, target, answerTool, droppedFields)
  names.answerTool = format.answerTool

  const body: Record<string, unknown> = {}
  const system = buildSystem(conversation.system, adapter, droppedFields, format.instruction)
  const turns = buildTurns(conversation, target, adapter, droppedFields)
  const writer = new BlockWriter(family, conversation.from)
  const messages = turns.map(({ role, content }) => ({ role, content: writer.write(content) }))
  const mark = adapter.mark(conversation.cache)
  if (mark !== null) messages.at(-1)?.content.push(cachePoint(mark))
  body['messages'] = messages
  if (system.length > 0) body['system'] = system
  const sampling: Record<string, unknown> = {}
  buildSampling(sampling, conversation, target, droppedFields, thinking.thinks)
  put(body, 'inferenceConfig', inferenceConfig(conversation, target, sampling, thinking.budgetTokens))
  if (sampling['top_k'] !== undefined) addTopK(fields, sampling['top_k'], family)
  const toolConfig = buildToolConfig(conversation, {
    target,
    adapter,
    names,
    droppedFields,
    turns,
    thinks: thinking.thinks,
  })
  put(body, 'toolConfig', format.tool === null ? toolConfig : answerConfig(format.tool))
  if (format.output !== null)
    body['outputConfig'] = { textFormat: textFormat(conversation.format, valueAt(format.output, 'format', 'schema')) }
  put(body, 'serviceTier', serviceTier(conversation.serviceTier))
  droppedFields.dropValue('user', conversation.user)
  droppedFields.dropValue('metadata', conversation.metadata)
  if (Object.keys(fields).length > 0) body['additionalModelRequestFields'] = fields
  if (family === 'anthropic' && sampling['stop_sequences'] !== undefined) {
    body['additionalModelResponseFieldPaths'] = ['/stop_sequence']
  }
  return { body, dropped: droppedFields.dropped, restoration: names.restoration }
}

/** Beta flags belong to the model, not to the service. */
function addBetas(fields: Record<string, unknown>, asked: readonly string[], droppedFields: DroppedFields): void {
  const betas = cloudBetas(asked)
  if (betas.length > 0) fields['anthropic_beta'] = betas
  if (losesBetas(asked)) droppedFields.drop('anthropic-beta')
}

interface Reasons {
  readonly thinks: boolean
  readonly budgetTokens: number | null
}

/** Asks for reasoning in the fields of the model's maker. */
function addReasoning(
  fields: Record<string, unknown>,
  conversation: Conversation,
  target: Target,
  family: Family,
  droppedFields: DroppedFields,
): Reasons {
  if (family === 'anthropic') {
    const { thinking, output, thinks, budgetTokens } = buildThinking(conversation, target, droppedFields)
    put(fields, 'thinking', thinking)
    put(fields, 'output_config', output)
    return { thinks, budgetTokens }
  }
  const wanted = conversation.reasoning === null ? null : effortOf(conversation.reasoning)
  const effort = wanted === null || wanted === 'none' ? null : nearestEffort(wanted, target.efforts)
  if (effort !== null && target.reasoning === 'none') droppedFields.drop('reasoning_effort')
  else if (effort !== null && family === 'nova') {
    fields['reasoningConfig'] = { type: 'enabled', maxReasoningEffort: effort }
  } else if (effort !== null) fields[family === 'openai' ? 'reasoning_effort' : 'reasoning_config'] = effort
  return { thinks: false, budgetTokens: null }
}

function buildSystem(
  system: readonly Message[],
  adapter: ConverseAdapter,
  droppedFields: DroppedFields,
  instruction: string | null,
): JsonObject[] {
  const written: JsonObject[] = []
  for (const message of system) {
    reportMessage(message, droppedFields)
    for (const block of message.content) {
      if (block.type === 'text' && isBillingHeader(block.text)) continue
      const adapted = adapter.adapt(block, message.role)
      if (adapted === null) continue
      if (adapted.type !== 'text') throw unsupportedField(`messages.content.${adapted.type}`)
      if (adapted.text.trim() === '') continue
      written.push({ text: adapted.text })
      if (adapted.cache !== null) written.push(cachePoint(adapted.cache))
    }
  }
  if (instruction !== null) written.push({ text: instruction })
  return written
}

function buildTurns(
  conversation: Conversation,
  target: Target,
  adapter: ConverseAdapter,
  droppedFields: DroppedFields,
): readonly Turn[] {
  for (const message of conversation.messages) reportMessage(message, droppedFields)
  const turns = takeTurns(conversation.messages, {
    systemAnywhere: false,
    adapt: (block, role) => adapter.adapt(block, role),
  })
  const last = turns.at(-1)
  if (last?.role !== 'assistant') return turns
  // The beginning of an answer (prefill) must not end in white space, and not every model continues one.
  if (!target.takesPrefill) droppedFields.lose('prefill', 'messages')
  const block = last.content.at(-1)
  if (block?.type === 'text') last.content[last.content.length - 1] = { ...block, text: block.text.trimEnd() }
  return turns
}

function reportMessage(message: Message, droppedFields: DroppedFields): void {
  if (message.name !== null) droppedFields.lose('messages.name')
  if (message.extra !== null) for (const name of Object.keys(message.extra)) droppedFields.drop(`messages.${name}`)
}

/** The limit must leave room for an answer after the thinking. */
function inferenceConfig(
  { maxTokens }: Conversation,
  { maxOutputTokens }: Target,
  sampling: JsonObject,
  budgetTokens: number | null,
): JsonObject | null {
  const config: Record<string, unknown> = {}
  const asked = budgetTokens === null ? maxTokens : (maxTokens ?? maxOutputTokens ?? ROOM_FOR_ANSWER)
  if (asked !== null) {
    const wanted = budgetTokens !== null && asked <= budgetTokens ? asked + budgetTokens : asked
    config['maxTokens'] = maxOutputTokens === null ? wanted : Math.min(wanted, maxOutputTokens)
  }
  put(config, 'temperature', sampling['temperature'])
  put(config, 'topP', sampling['top_p'])
  put(config, 'stopSequences', sampling['stop_sequences'])
  return Object.keys(config).length === 0 ? null : config
}

function addTopK(fields: Record<string, unknown>, topK: unknown, family: Family): void {
  if (family === 'nova') fields['inferenceConfig'] = { topK }
  else fields['top_k'] = topK
}

/** Declares the tool whose input is the answer, and forces the model to call it. */
function answerConfig({ name, description, input_schema: schema }: JsonObject): JsonObject {
  const answer = String(name)
  return {
    tools: [specOf(answer, String(description), asObject(schema) ?? {})],
    toolChoice: { tool: { name: answer } },
  }
}

function textFormat(format: Conversation['format'], schema: unknown): JsonObject | null {
  if (format?.type !== 'schema') return null
  const jsonSchema: Record<string, unknown> = { schema: JSON.stringify(schema), name: format.name ?? 'output' }
  put(jsonSchema, 'description', format.description)
  return { type: 'json_schema', structure: { jsonSchema } }
}

function serviceTier(tier: string | null): JsonObject | null {
  switch (tier) {
    case 'flex':
    case 'priority':
    case 'default':
      return { type: tier }
    case 'standard_only':
      return { type: 'default' }
    default:
      return null
  }
}
