import type {
  Conversation,
  CustomTool,
  FunctionTool,
  OutputFormat,
  Tool,
  ToolChoice,
} from '../../shared/core/conversation.ts'
import type { JsonObject } from '../../shared/core/json-object.ts'
import { readCacheMark } from '../common/cache-mark.ts'
import { arrayOf, booleanOrNull, numberOrNull, objects, restOf, textOr, withOddSchema } from '../common/fields.ts'
import { asObject, valueAt } from '../common/json-value.ts'
import { MessageParser } from './parse-message.ts'

const KNOWN = new Set([
  'model',
  'messages',
  'tools',
  'functions',
  'tool_choice',
  'function_call',
  'parallel_tool_calls',
  'max_completion_tokens',
  'max_tokens',
  'n',
  'temperature',
  'top_p',
  'top_k',
  'seed',
  'presence_penalty',
  'frequency_penalty',
  'logprobs',
  'top_logprobs',
  'stop',
  'stream',
  'stream_options',
  'reasoning_effort',
  'response_format',
  'user',
  'metadata',
  'service_tier',
  'cache_control',
])
const KNOWN_STREAM_OPTIONS = new Set(['include_usage'])
const KNOWN_TOOL = new Set(['type', 'function', 'cache_control'])
const KNOWN_FUNCTION = new Set(['name', 'description', 'parameters', 'strict'])
const KNOWN_CUSTOM = new Set(['name', 'description', 'format'])

/** Parses a chat completion request into a conversation. */
export function parseRequest(body: unknown): Conversation {
  const request = asObject(body) ?? {}
  const parser = new MessageParser()
  const all = objects(request['messages'])
  let lead = 0
  while (lead < all.length && isInstruction(all[lead]?.['role'])) lead++
  const messages = all.map((message) => parser.parse(message))
  return {
    from: 'openai-chat',
    model: textOr(request['model'], ''),
    system: messages.slice(0, lead),
    messages: messages.slice(lead),
    tools: [...objects(request['tools']).map(parseTool), ...objects(request['functions']).map(parseLegacyFunction)],
    toolChoice: parseToolChoice(request['tool_choice']) ?? parseFunctionCall(request['function_call']),
    parallelToolCalls: booleanOrNull(request['parallel_tool_calls']),
    maxTokens: numberOrNull(request['max_completion_tokens']) ?? numberOrNull(request['max_tokens']),
    choices: numberOrNull(request['n']),
    sampling: {
      temperature: numberOrNull(request['temperature']),
      topP: numberOrNull(request['top_p']),
      topK: numberOrNull(request['top_k']),
      seed: numberOrNull(request['seed']),
      presencePenalty: numberOrNull(request['presence_penalty']),
      frequencyPenalty: numberOrNull(request['frequency_penalty']),
      logprobs: booleanOrNull(request['logprobs']),
      topLogprobs: numberOrNull(request['top_logprobs']),
    },
    stop: parseStop(request['stop']),
    stream: request['stream'] === true,
    wantsUsage: valueAt(request, 'stream_options', 'include_usage') === true,
    reasoning:
      typeof request['reasoning_effort'] === 'string'
        ? { mode: null, effort: request['reasoning_effort'], budgetTokens: null, display: null }
        : null,
    format: parseFormat(request['response_format']),
    user: textOr(request['user'], null),
    metadata: asObject(request['metadata']),
    serviceTier: textOr(request['service_tier'], null),
    cache: readCacheMark(request['cache_control']),
    extra: extraOf(request),
  }
}

function isInstruction(role: unknown): boolean {
  return role === 'system' || role === 'developer'
}

/** Keeps stream options other than usage unchanged. */
function extraOf(request: JsonObject): JsonObject | null {
  const rest = restOf(request, KNOWN)
  const options = asObject(request['stream_options'])
  const restOfOptions = options === null ? null : restOf(options, KNOWN_STREAM_OPTIONS)
  return restOfOptions === null ? rest : { ...rest, stream_options: restOfOptions }
}

function parseStop(stop: unknown): readonly string[] {
  if (typeof stop === 'string') return [stop]
  return arrayOf(stop).filter((entry) => typeof entry === 'string')
}

function parseTool(tool: JsonObject): Tool {
  const custom = asObject(tool['custom'])
  if (tool['type'] === 'custom' && custom !== null) return parseCustomTool(custom)
  const definition = asObject(tool['function'])
  const kind = textOr(tool['type'], 'function')
  if (kind !== 'function' || definition === null) {
    return { type: 'native', kind, name: textOr(tool['name'], null), value: tool }
  }
  const rest = withOddSchema(restOf(definition, KNOWN_FUNCTION), 'parameters', definition['parameters'])
  const outer = restOf(tool, KNOWN_TOOL)
  return {
    type: 'function',
    name: textOr(definition['name'], ''),
    description: textOr(definition['description'], null),
    parameters: asObject(definition['parameters']),
    strict: booleanOrNull(definition['strict']),
    legacy: false,
    cache: readCacheMark(tool['cache_control']),
    extra: rest === null && outer === null ? null : { ...outer, ...(rest === null ? null : { function: rest }) },
  }
}

function parseLegacyFunction(definition: JsonObject): FunctionTool {
  return {
    type: 'function',
    name: textOr(definition['name'], ''),
    description: textOr(definition['description'], null),
    parameters: asObject(definition['parameters']),
    strict: null,
    legacy: true,
    cache: null,
    extra: restOf(definition, KNOWN_FUNCTION),
  }
}

function parseCustomTool(custom: JsonObject): CustomTool {
  return {
    type: 'custom',
    name: textOr(custom['name'], ''),
    description: textOr(custom['description'], null),
    format: asObject(custom['format']),
    extra: restOf(custom, KNOWN_CUSTOM),
  }
}

function parseToolChoice(value: unknown): ToolChoice | null {
  switch (value) {
    case 'auto':
    case 'none':
    case 'required':
      return { type: value }
    case 'any':
      return { type: 'required' }
  }
  const choice = asObject(value)
  if (choice === null) return null
  if (choice['type'] === 'allowed_tools') return parseAllowedTools(choice)
  const kind = choice['type'] === 'custom' ? 'custom' : 'function'
  const name = valueAt(choice, kind, 'name') ?? choice['name']
  return typeof name === 'string' ? { type: 'tool', name, kind } : null
}

function parseAllowedTools(choice: JsonObject): ToolChoice {
  const allowed = asObject(choice['allowed_tools']) ?? choice
  const names: string[] = []
  for (const tool of objects(allowed['tools'])) {
    const name = valueAt(tool, 'function', 'name') ?? valueAt(tool, 'custom', 'name') ?? tool['name']
    if (typeof name === 'string') names.push(name)
  }
  return { type: 'allowed', required: allowed['mode'] === 'required', names, native: choice }
}

function parseFunctionCall(value: unknown): ToolChoice | null {
  if (value === 'auto' || value === 'none') return { type: value }
  const name = valueAt(value, 'name')
  return typeof name === 'string' ? { type: 'tool', name, kind: 'legacy' } : null
}

function parseFormat(value: unknown): OutputFormat | null {
  switch (valueAt(value, 'type')) {
    case 'text':
      return { type: 'text' }
    case 'json_object':
      return { type: 'json' }
    case 'json_schema': {
      const format = asObject(valueAt(value, 'json_schema')) ?? {}
      return {
        type: 'schema',
        name: textOr(format['name'], null),
        description: textOr(format['description'], null),
        schema: asObject(format['schema']) ?? {},
        strict: booleanOrNull(format['strict']),
      }
    }
    default:
      return null
  }
}
