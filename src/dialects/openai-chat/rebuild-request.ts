import type { BuiltRequest, Target } from '../../shared/core/codec.ts'
import type { Block } from '../../shared/core/content.ts'
import type { Conversation, Message, OutputFormat, Tool, ToolChoice } from '../../shared/core/conversation.ts'
import type { JsonObject } from '../../shared/core/json-object.ts'
import { writeCacheMark } from '../common/cache-mark.ts'
import { put, putExtra } from '../common/fields.ts'
import { asObject } from '../common/json-value.ts'
import { writeCall, writePart, writeReasoning } from './build-part.ts'

/** Writes a conversation that came in this dialect as it came: without losses, in the same order. */
export function rebuildRequest(conversation: Conversation, target: Target): BuiltRequest {
  const { sampling, tools, stop } = conversation
  const body: Record<string, unknown> = { model: target.model }
  body['messages'] = [...conversation.system, ...conversation.messages].map(writeMessage)
  const current = tools.filter((tool) => !isLegacy(tool))
  const legacy = tools.filter(isLegacy)
  if (current.length > 0) body['tools'] = current.map(writeTool)
  if (legacy.length > 0) body['functions'] = legacy.map(writeLegacyFunction)
  const forcesLegacy = legacy.length > 0 && current.length === 0
  put(body, forcesLegacy ? 'function_call' : 'tool_choice', writeToolChoice(conversation.toolChoice))
  put(body, 'parallel_tool_calls', conversation.parallelToolCalls)
  put(body, target.maxTokensField, conversation.maxTokens)
  put(body, 'n', conversation.choices)
  put(body, 'temperature', sampling.temperature)
  put(body, 'top_p', sampling.topP)
  put(body, 'top_k', sampling.topK)
  put(body, 'seed', sampling.seed)
  put(body, 'presence_penalty', sampling.presencePenalty)
  put(body, 'frequency_penalty', sampling.frequencyPenalty)
  put(body, 'logprobs', sampling.logprobs)
  put(body, 'top_logprobs', sampling.topLogprobs)
  if (stop.length > 0) body['stop'] = stop
  put(body, 'reasoning_effort', conversation.reasoning?.effort)
  put(body, 'response_format', writeOwnFormat(conversation.format))
  put(body, 'user', conversation.user)
  put(body, 'metadata', conversation.metadata)
  put(body, 'service_tier', conversation.serviceTier)
  put(body, 'cache_control', writeCacheMark(conversation.cache))
  if (target.stream) {
    body['stream'] = true
    body['stream_options'] = { include_usage: true, ...asObject(conversation.extra?.['stream_options']) }
  }
  putExtra(body, conversation.extra)
  return { body, dropped: [], restoration: null }
}

function writeMessage(message: Message): JsonObject {
  const { role, plain, name, content, extra } = message
  if (role === 'tool') return writeResult(message)
  const written: Record<string, unknown> = { role }
  const parts: Block[] = []
  const calls: JsonObject[] = []
  for (const block of content) {
    if (block.type === 'tool-call') {
      if (block.kind === 'legacy') written['function_call'] = { name: block.name, arguments: block.input }
      else calls.push(writeCall(block))
    } else if (block.type === 'refusal' && plain) {
      written['refusal'] = block.text
    } else if (block.type !== 'redacted-thinking' && (block.type !== 'thinking' || block.format === 'part')) {
      parts.push(block)
    }
  }
  const first = parts[0]
  if (!plain) written['content'] = parts.map(writePart)
  else if (first?.type === 'text') written['content'] = first.text
  else if (role !== 'assistant') written['content'] = ''
  writeReasoning(written, content)
  put(written, 'name', name)
  if (calls.length > 0) written['tool_calls'] = calls
  putExtra(written, extra)
  return written
}

function writeResult({ content, extra }: Message): JsonObject {
  const result = content[0]
  const written: Record<string, unknown> = {}
  if (result?.type === 'tool-result') {
    written['role'] = result.kind === 'legacy' ? 'function' : 'tool'
    if (result.kind !== 'legacy') written['tool_call_id'] = result.callId
    put(written, 'name', result.name)
    const first = result.content[0]
    if (!result.plain) written['content'] = result.content.map(writePart)
    else written['content'] = first?.type === 'text' ? first.text : ''
  }
  putExtra(written, extra)
  return written
}

function isLegacy(tool: Tool): boolean {
  return tool.type === 'function' && tool.legacy
}

function writeTool(tool: Tool): JsonObject {
  if (tool.type === 'native') return tool.value
  if (tool.type === 'custom') {
    const custom: Record<string, unknown> = { name: tool.name }
    put(custom, 'description', tool.description)
    put(custom, 'format', tool.format)
    putExtra(custom, tool.extra)
    return { type: 'custom', custom }
  }
  const definition = writeDefinition(tool)
  put(definition, 'strict', tool.strict)
  putExtra(definition, asObject(tool.extra?.['function']))
  const written: Record<string, unknown> = { type: 'function', function: definition }
  put(written, 'cache_control', writeCacheMark(tool.cache))
  putExtra(written, tool.extra)
  return written
}

function writeLegacyFunction(tool: Tool): JsonObject {
  if (tool.type !== 'function') return {}
  const definition = writeDefinition(tool)
  putExtra(definition, tool.extra)
  return definition
}

function writeDefinition(tool: Extract<Tool, { type: 'function' }>): Record<string, unknown> {
  const definition: Record<string, unknown> = { name: tool.name }
  put(definition, 'description', tool.description)
  put(definition, 'parameters', tool.parameters)
  return definition
}

function writeToolChoice(choice: ToolChoice | null): unknown {
  if (choice === null) return null
  switch (choice.type) {
    case 'allowed':
      return choice.native
    case 'tool':
      if (choice.kind === 'legacy') return { name: choice.name }
      return { type: choice.kind, [choice.kind]: { name: choice.name } }
    default:
      return choice.type
  }
}

function writeOwnFormat(format: OutputFormat | null): JsonObject | null {
  if (format === null) return null
  if (format.type !== 'schema') return { type: format.type === 'json' ? 'json_object' : 'text' }
  const schema: Record<string, unknown> = {}
  put(schema, 'name', format.name)
  put(schema, 'description', format.description)
  put(schema, 'schema', format.schema)
  put(schema, 'strict', format.strict)
  return { type: 'json_schema', json_schema: schema }
}
