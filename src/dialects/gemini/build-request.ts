import type { BuiltRequest, Target } from '../../shared/core/codec.ts'
import type { Conversation, Message } from '../../shared/core/conversation.ts'
import type { JsonObject } from '../../shared/core/json-object.ts'
import { isBillingHeader } from '../common/billing-header.ts'
import { putExtra } from '../common/fields.ts'
import { jsonInstruction, schemaInstruction } from '../common/format-instruction.ts'
import { DroppedFields, unsupportedField } from '../dropped-fields.ts'
import { takeTurns } from '../common/turns.ts'
import { buildGeneration } from './build-generation.ts'
import { ContentWriter } from './build-parts.ts'
import { buildDeclarations, buildToolChoice } from './build-tools.ts'
import { GeminiToolNames } from './tool-names.ts'

/** Builds a body of generateContent from a conversation. The path names the model, and tells whether to stream. */
export function buildRequest(conversation: Conversation, target: Target): BuiltRequest {
  const droppedFields = new DroppedFields(conversation.from)
  const names = new GeminiToolNames()
  const extra = droppedFields.loseExtra(conversation, target.passFields)
  if (conversation.choices !== null && conversation.choices > 1) droppedFields.lose('n')
  const declarations = buildDeclarations(conversation.tools, names, droppedFields)
  const choice = buildToolChoice(conversation, names, droppedFields)
  const saysFormat = takesFormat(target, declarations.length > 0)
  const generation = buildGeneration(conversation, target, saysFormat ? conversation.format : null, droppedFields)

  const body: Record<string, unknown> = { contents: buildContents(conversation, target, names, droppedFields) }
  const system = buildSystem(conversation, saysFormat, droppedFields)
  if (system.length > 0) body['systemInstruction'] = { parts: system }
  if (declarations.length > 0) {
    body['tools'] = [{ functionDeclarations: declarations }]
    if (choice !== null) body['toolConfig'] = { functionCallingConfig: choice }
  } else if (choice !== null) droppedFields.drop('tool_choice')
  if (Object.keys(generation).length > 0) body['generationConfig'] = generation
  droppedFields.dropValue('user', conversation.user)
  droppedFields.dropValue('metadata', conversation.metadata)
  droppedFields.dropValue('service_tier', conversation.serviceTier)
  if (conversation.cache !== null) droppedFields.lose('content.cache_control')
  putExtra(body, extra)
  return { body, dropped: droppedFields.dropped, restoration: names.restoration }
}

/** Models that think by a budget, and older ones, refuse an answer format together with tools. */
function takesFormat(target: Target, hasTools: boolean): boolean {
  return target.schemaOutput === 'native' && (!hasTools || target.reasoning === 'effort')
}

function buildContents(
  { messages }: Conversation,
  target: Target,
  names: GeminiToolNames,
  droppedFields: DroppedFields,
): JsonObject[] {
  for (const message of messages) reportMessage(message, droppedFields)
  const writer = new ContentWriter(target, names, droppedFields)
  const turns = takeTurns(messages, { systemAnywhere: false, adapt: (block, role) => writer.adapt(block, role) })
  return writer.write(turns)
}

function buildSystem(
  { system, format }: Conversation,
  saysFormat: boolean,
  droppedFields: DroppedFields,
): JsonObject[] {
  const parts: JsonObject[] = []
  for (const message of system) {
    reportMessage(message, droppedFields)
    for (const block of message.content) {
      if (block.type !== 'text') throw unsupportedField(`messages.content.${block.type}`)
      if (block.cache !== null) droppedFields.lose('content.cache_control')
      if (block.text.trim() !== '' && !isBillingHeader(block.text)) parts.push({ text: block.text })
    }
  }
  if (format === null || format.type === 'text' || saysFormat) return parts
  return [...parts, { text: format.type === 'schema' ? schemaInstruction(format.schema) : jsonInstruction() }]
}

function reportMessage(message: Message, droppedFields: DroppedFields): void {
  if (message.name !== null) droppedFields.lose('messages.name')
  if (message.extra !== null) for (const name of Object.keys(message.extra)) droppedFields.drop(`messages.${name}`)
}
