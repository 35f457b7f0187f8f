import type { BuiltRequest, Target } from '../../shared/core/codec.ts'
import type { Conversation } from '../../shared/core/conversation.ts'
import { writeCacheMark } from '../common/cache-mark.ts'
import { put, putExtra } from '../common/fields.ts'
import { DroppedFields } from '../dropped-fields.ts'
import { effortOf, nearestEffort } from '../common/reasoning-effort.ts'
import { hashText } from '../common/tool-ids.ts'
import { ToolNames } from '../common/tool-names.ts'
import { buildMessages } from './build-messages.ts'
import { asksForJson, writeFormat } from './build-format.ts'
import { buildToolChoice, buildTools } from './build-tools.ts'
import { rebuildRequest } from './rebuild-request.ts'

const MAX_USER_LENGTH = 64

/** Builds a chat completion request from a conversation. */
export function buildRequest(conversation: Conversation, target: Target): BuiltRequest {
  if (conversation.from === 'openai-chat') return rebuildRequest(conversation, target)
  const droppedFields = new DroppedFields(conversation.from)
  const names = new ToolNames()
  const extra = droppedFields.loseExtra(conversation, target.passFields)
  if (conversation.choices !== null && conversation.choices > 1) droppedFields.lose('n')
  const tools = buildTools(conversation, target, names, droppedFields)

  const body: Record<string, unknown> = { model: target.model }
  body['messages'] = buildMessages(conversation, target, names, droppedFields, asksForJson(conversation.format, target))
  if (tools.length > 0) body['tools'] = tools
  put(body, 'tool_choice', buildToolChoice(conversation, tools.length > 0, names, droppedFields))
  if (conversation.parallelToolCalls === false && tools.length > 0) body['parallel_tool_calls'] = false
  put(body, target.maxTokensField, limit(conversation.maxTokens, target.maxOutputTokens))
  buildSampling(body, conversation, target, droppedFields)
  buildReasoning(body, conversation, target, droppedFields)
  put(body, 'response_format', writeFormat(conversation.format, target, droppedFields))
  if (conversation.user !== null) body['user'] = userName(conversation.user)
  droppedFields.dropValue('metadata', conversation.metadata)
  droppedFields.dropValue('service_tier', conversation.serviceTier)
  if (conversation.cache !== null) {
    if (target.takesCacheMarks) body['cache_control'] = writeCacheMark(conversation.cache)
    else droppedFields.drop('cache_control')
  }
  putExtra(body, extra)
  if (target.stream) {
    body['stream'] = true
    if (target.takesStreamOptions ?? true) body['stream_options'] = { include_usage: true }
  }
  applyHostNames(body, target, droppedFields)
  return { body, dropped: droppedFields.dropped, restoration: names.restoration }
}

/** Renames fields to the host's own names, and drops the fields that the host refuses. */
function applyHostNames(
  body: Record<string, unknown>,
  { fieldNames = {}, refusedFields = [] }: Target,
  droppedFields: DroppedFields,
): void {
  for (const name of refusedFields) {
    if (name in body) droppedFields.drop(name)
    delete body[name]
  }
  for (const [name, other] of Object.entries(fieldNames)) {
    if (!(name in body)) continue
    body[other] ??= body[name]
    delete body[name]
  }
}

function limit(wanted: number | null, most: number | null): number | null {
  return wanted === null || most === null ? wanted : Math.min(wanted, most)
}

function buildSampling(
  body: Record<string, unknown>,
  { sampling, stop }: Conversation,
  target: Target,
  droppedFields: DroppedFields,
): void {
  const { temperature, topP, topK } = sampling
  if (target.takesSampling) put(body, 'temperature', temperature)
  else droppedFields.dropValue('temperature', temperature)
  const both = temperature === null || target.takesTemperatureWithTopP
  if (target.takesSampling && both) put(body, 'top_p', topP)
  else droppedFields.dropValue('top_p', topP)
  if (target.takesSampling && target.takesTopK) put(body, 'top_k', topK)
  else droppedFields.dropValue('top_k', topK)
  put(body, 'seed', sampling.seed)
  put(body, 'presence_penalty', sampling.presencePenalty)
  put(body, 'frequency_penalty', sampling.frequencyPenalty)
  put(body, 'logprobs', sampling.logprobs)
  put(body, 'top_logprobs', sampling.topLogprobs)
  if (stop.length > target.maxStopSequences) droppedFields.drop('stop_sequences')
  if (stop.length > 0) body['stop'] = stop.slice(0, target.maxStopSequences)
}

function buildReasoning(
  body: Record<string, unknown>,
  { reasoning }: Conversation,
  target: Target,
  droppedFields: DroppedFields,
): void {
  if (reasoning === null) return
  const effort = effortOf(reasoning)
  const known = effort === null || target.reasoning === 'none' ? null : nearestEffort(effort, target.efforts)
  if (known === null) droppedFields.drop('thinking')
  else body['reasoning_effort'] = known
}

/** Coding agents put a page of JSON there. The service takes 64 characters. */
function userName(user: string): string {
  return user.length <= MAX_USER_LENGTH ? user : `user_${hashText(user, 32)}`
}
