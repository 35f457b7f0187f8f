import type { BuiltRequest, Target } from '../../shared/core/codec.ts'
import { textBlock } from '../../shared/core/content.ts'
import type { Block } from '../../shared/core/content.ts'
import type { Conversation, Message } from '../../shared/core/conversation.ts'
import type { JsonObject } from '../../shared/core/json-object.ts'
import { writeCacheMark } from '../common/cache-mark.ts'
import { put, putExtra } from '../common/fields.ts'
import { DroppedFields, unsupportedField } from '../dropped-fields.ts'
import { ToolNames } from '../common/tool-names.ts'
import { takeTurns } from '../common/turns.ts'
import type { Turn } from '../common/turns.ts'
import { BlockAdapter } from './adapt.ts'
import { writeBlock } from './build-block.ts'
import { answerToolFits, buildFormat } from './build-format.ts'
import { buildSampling } from './build-sampling.ts'
import { buildThinking } from './build-thinking.ts'
import { buildToolChoice, buildTools } from './build-tools.ts'
import { rebuildRequest } from './rebuild-request.ts'

const DEFAULT_MAX_TOKENS = 4096

/** Builds a messages request from a conversation. */
export function buildRequest(conversation: Conversation, target: Target): BuiltRequest {
  if (conversation.from === 'anthropic-messages') return rebuildRequest(conversation, target)
  const droppedFields = new DroppedFields(conversation.from)
  const names = new ToolNames()
  const adapter = new BlockAdapter(target, names, droppedFields)
  const extra = droppedFields.loseExtra(conversation, target.passFields)
  if (conversation.choices !== null && conversation.choices > 1) droppedFields.lose('n')
  const answerTool = answerToolFits(conversation, target) ? conversation.format : null
  const thinking = buildThinking(conversation, target, droppedFields)
  const tools = buildTools(conversation, target, adapter, names, droppedFields)
  const { thinks } = thinking
  const choice = buildToolChoice(conversation, target, names, droppedFields, { thinks, hasTools: tools.length > 0 })
  const format = buildFormat(conversation.format, target, answerTool, droppedFields)
  if (format.tool !== null) tools.push(format.tool)
  names.answerTool = format.answerTool

  const body: Record<string, unknown> = { model: target.model }
  body['max_tokens'] = maxTokensOf(conversation, target, thinking.budgetTokens)
  const system = buildSystem(conversation.system, adapter, droppedFields, format.instruction)
  if (system.length > 0) body['system'] = system
  body['messages'] = buildMessages(conversation, target, adapter, droppedFields)
  if (tools.length > 0) body['tools'] = tools
  put(body, 'tool_choice', format.toolChoice ?? choice)
  if (target.stream) body['stream'] = true
  buildSampling(body, conversation, target, droppedFields, thinking.thinks)
  put(body, 'thinking', thinking.thinking)
  const output = { ...thinking.output, ...format.output }
  if (Object.keys(output).length > 0) body['output_config'] = output
  if (conversation.user !== null) body['metadata'] = { user_id: conversation.user }
  droppedFields.dropValue('metadata', conversation.metadata)
  put(body, 'service_tier', serviceTier(conversation.serviceTier))
  put(body, 'cache_control', writeCacheMark(adapter.mark(conversation.cache)))
  putExtra(body, extra)
  return { body, dropped: droppedFields.dropped, restoration: names.restoration }
}

/** The limit must leave room for an answer after the thinking. */
function maxTokensOf(conversation: Conversation, target: Target, budgetTokens: number | null): number {
  const asked = conversation.maxTokens ?? target.maxOutputTokens ?? DEFAULT_MAX_TOKENS
  const wanted = budgetTokens !== null && asked <= budgetTokens ? asked + budgetTokens : asked
  return target.maxOutputTokens === null ? wanted : Math.min(wanted, target.maxOutputTokens)
}

function buildSystem(
  system: readonly Message[],
  adapter: BlockAdapter,
  droppedFields: DroppedFields,
  instruction: string | null,
): JsonObject[] {
  const blocks: Block[] = []
  for (const message of system) {
    reportMessage(message, droppedFields)
    for (const block of message.content) {
      const adapted = adapter.adapt(block, message.role)
      if (adapted === null) continue
      if (adapted.type !== 'text') throw unsupportedField(`messages.content.${adapted.type}`)
      if (adapted.text.trim() !== '') blocks.push(adapted)
    }
  }
  if (instruction !== null) blocks.push(textBlock(instruction))
  return blocks.map(writeBlock)
}

function buildMessages(
  conversation: Conversation,
  target: Target,
  adapter: BlockAdapter,
  droppedFields: DroppedFields,
): JsonObject[] {
  for (const message of conversation.messages) reportMessage(message, droppedFields)
  const turns = takeTurns(conversation.messages, {
    systemAnywhere: target.takesSystemAnywhere,
    adapt: (block, role) => adapter.adapt(block, role),
  })
  trimPrefill(turns, target, droppedFields)
  return turns.map(({ role, content }) => ({ role, content: content.map(writeBlock) }))
}

function reportMessage(message: Message, droppedFields: DroppedFields): void {
  if (message.name !== null) droppedFields.lose('messages.name')
  if (message.extra !== null) for (const name of Object.keys(message.extra)) droppedFields.drop(`messages.${name}`)
}

/** The beginning of an answer (prefill) must not end in white space, and not every model continues one. */
function trimPrefill(turns: readonly Turn[], target: Target, droppedFields: DroppedFields): void {
  const last = turns.at(-1)
  if (last?.role !== 'assistant') return
  if (!target.takesPrefill) droppedFields.lose('prefill', 'messages')
  const at = last.content.length - 1
  const block = last.content[at]
  if (block?.type === 'text') last.content[at] = { ...block, text: block.text.trimEnd() }
}

function serviceTier(tier: string | null): string | null {
  switch (tier) {
    case null:
      return null
    case 'default':
    case 'flex':
      return 'standard_only'
    default:
      return 'auto'
  }
}
