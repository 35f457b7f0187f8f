import type { BuiltRequest, Target } from '../../shared/core/codec.ts'
import type { Conversation, Message } from '../../shared/core/conversation.ts'
import type { JsonObject } from '../../shared/core/json-object.ts'
import { isBillingHeader } from '../billing-header.ts'
import { putExtra } from '../fields.ts'
import { jsonInstruction, schemaInstruction } from '../format-instruction.ts'
import { LossReport, unsupported } from '../losses.ts'
import { takeTurns } from '../turns.ts'
import { buildGeneration } from './build-generation.ts'
import { ContentWriter } from './build-parts.ts'
import { buildDeclarations, buildToolChoice } from './build-tools.ts'
import { GeminiToolNames } from './tool-names.ts'

/** A conversation as the body of generateContent. The model and whether it is a stream are told by the path. */
export function buildRequest(conversation: Conversation, target: Target): BuiltRequest {
  const losses = new LossReport(conversation.from)
  const names = new GeminiToolNames()
  const extra = losses.loseExtra(conversation, target.passFields)
  if (conversation.choices !== null && conversation.choices > 1) losses.lose('n')
  const declarations = buildDeclarations(conversation.tools, names, losses)
  const choice = buildToolChoice(conversation, names, losses)
  const saysFormat = takesFormat(target, declarations.length > 0)
  const generation = buildGeneration(conversation, target, saysFormat ? conversation.format : null, losses)

  const body: Record<string, unknown> = { contents: buildContents(conversation, target, names, losses) }
  const system = buildSystem(conversation, saysFormat, losses)
  if (system.length > 0) body['systemInstruction'] = { parts: system }
  if (declarations.length > 0) {
    body['tools'] = [{ functionDeclarations: declarations }]
    if (choice !== null) body['toolConfig'] = { functionCallingConfig: choice }
  } else if (choice !== null) losses.drop('tool_choice')
  if (Object.keys(generation).length > 0) body['generationConfig'] = generation
  losses.dropValue('user', conversation.user)
  losses.dropValue('metadata', conversation.metadata)
  losses.dropValue('service_tier', conversation.serviceTier)
  if (conversation.cache !== null) losses.lose('content.cache_control')
  putExtra(body, extra)
  return { body, dropped: losses.dropped, restoration: names.restoration }
}

/** Models that think by a budget, and older ones, refuse a shape of the answer beside tools. */
function takesFormat(target: Target, hasTools: boolean): boolean {
  return target.schemaOutput === 'native' && (!hasTools || target.reasoning === 'effort')
}

function buildContents(
  { messages }: Conversation,
  target: Target,
  names: GeminiToolNames,
  losses: LossReport,
): JsonObject[] {
  for (const message of messages) reportMessage(message, losses)
  const writer = new ContentWriter(target, names, losses)
  const turns = takeTurns(messages, { systemAnywhere: false, adapt: (block, role) => writer.adapt(block, role) })
  return writer.write(turns)
}

function buildSystem({ system, format }: Conversation, saysFormat: boolean, losses: LossReport): JsonObject[] {
  const parts: JsonObject[] = []
  for (const message of system) {
    reportMessage(message, losses)
    for (const block of message.content) {
      if (block.type !== 'text') throw unsupported(`messages.content.${block.type}`)
      if (block.cache !== null) losses.lose('content.cache_control')
      if (block.text.trim() !== '' && !isBillingHeader(block.text)) parts.push({ text: block.text })
    }
  }
  if (format === null || format.type === 'text' || saysFormat) return parts
  return [...parts, { text: format.type === 'schema' ? schemaInstruction(format.schema) : jsonInstruction() }]
}

function reportMessage(message: Message, losses: LossReport): void {
  if (message.name !== null) losses.lose('messages.name')
  if (message.extra !== null) for (const name of Object.keys(message.extra)) losses.drop(`messages.${name}`)
}
