import type { BuiltRequest, Target } from '../../shared/core/codec.ts'
import type { Conversation, Message, Reasoning, Tool, ToolChoice } from '../../shared/core/conversation.ts'
import type { JsonObject } from '../../shared/core/json-object.ts'
import { writeCacheMark } from '../common/cache-mark.ts'
import { put, putExtra } from '../common/fields.ts'
import { writeContent } from './build-block.ts'

/** Writes a conversation that came in this dialect as it came: without losses, in the same order. */
export function rebuildRequest(conversation: Conversation, target: Target): BuiltRequest {
  const { sampling, system } = conversation
  const body: Record<string, unknown> = { model: target.model }
  put(body, 'max_tokens', conversation.maxTokens)
  const prompt = system[0]
  if (prompt !== undefined) body['system'] = writeContent(prompt.content, prompt.plain)
  body['messages'] = conversation.messages.map(writeMessage)
  if (conversation.tools.length > 0) body['tools'] = conversation.tools.map(writeTool)
  put(body, 'tool_choice', writeToolChoice(conversation.toolChoice, conversation.parallelToolCalls))
  if (target.stream) body['stream'] = true
  put(body, 'temperature', sampling.temperature)
  put(body, 'top_p', sampling.topP)
  put(body, 'top_k', sampling.topK)
  if (conversation.stop.length > 0) body['stop_sequences'] = conversation.stop
  put(body, 'thinking', conversation.reasoning === null ? null : writeThinking(conversation.reasoning))
  put(body, 'output_config', writeOutput(conversation))
  if (conversation.user !== null || conversation.metadata !== null) {
    body['metadata'] = {
      ...(conversation.user === null ? null : { user_id: conversation.user }),
      ...conversation.metadata,
    }
  }
  put(body, 'service_tier', conversation.serviceTier)
  put(body, 'cache_control', writeCacheMark(conversation.cache))
  putExtra(body, conversation.extra)
  return { body, dropped: [], restoration: null }
}

function writeMessage({ role, content, plain, extra }: Message): JsonObject {
  const written: Record<string, unknown> = { role, content: writeContent(content, plain) }
  putExtra(written, extra)
  return written
}

function writeTool(tool: Tool): JsonObject {
  if (tool.type === 'native') return tool.value
  const written: Record<string, unknown> = { name: tool.name }
  put(written, 'description', tool.description)
  if (tool.type === 'custom') return written
  put(written, 'input_schema', tool.parameters)
  put(written, 'strict', tool.strict)
  put(written, 'cache_control', writeCacheMark(tool.cache))
  putExtra(written, tool.extra)
  return written
}

function writeToolChoice(choice: ToolChoice | null, parallel: boolean | null): JsonObject | null {
  if (choice === null || choice.type === 'allowed') return null
  const written: Record<string, unknown> = { type: choice.type === 'required' ? 'any' : choice.type }
  if (choice.type === 'tool') written['name'] = choice.name
  if (parallel !== null) written['disable_parallel_tool_use'] = !parallel
  return written
}

function writeThinking({ mode, budgetTokens, display }: Reasoning): JsonObject | null {
  if (mode === null) return null
  const written: Record<string, unknown> = { type: mode }
  put(written, 'budget_tokens', budgetTokens)
  put(written, 'display', display)
  return written
}

function writeOutput({ reasoning, format, extra }: Conversation): JsonObject | null {
  const output: Record<string, unknown> = {}
  put(output, 'effort', reasoning?.effort)
  if (format?.type === 'schema') output['format'] = { type: 'json_schema', schema: format.schema }
  const rest = extra?.['output_config']
  if (typeof rest === 'object') Object.assign(output, rest)
  return Object.keys(output).length === 0 ? null : output
}
