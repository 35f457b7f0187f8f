import type {
  Conversation,
  Message,
  OutputFormat,
  Reasoning,
  Role,
  Tool,
  ToolChoice,
} from '../../shared/core/conversation.ts'
import type { JsonObject } from '../../shared/core/json-object.ts'
import { readCacheMark } from '../common/cache-mark.ts'
import { booleanOrNull, numberOrNull, objects, restOf, textOr, withOddSchema } from '../common/fields.ts'
import { asObject, valueAt } from '../common/json-value.ts'
import { readBlocks } from './parse-block.ts'

const KNOWN = new Set([
  'model',
  'messages',
  'system',
  'max_tokens',
  'stop_sequences',
  'stream',
  'temperature',
  'top_p',
  'top_k',
  'tools',
  'tool_choice',
  'thinking',
  'output_config',
  'output_format',
  'metadata',
  'service_tier',
  'cache_control',
])
const KNOWN_MESSAGE = new Set(['role', 'content'])
const KNOWN_TOOL = new Set(['type', 'name', 'description', 'input_schema', 'strict', 'cache_control'])
const KNOWN_OUTPUT = new Set(['effort', 'format'])
const KNOWN_METADATA = new Set(['user_id'])

/** Parses a messages request into a conversation. */
export function parseRequest(body: unknown): Conversation {
  const request = asObject(body) ?? {}
  const system = request['system']
  const output = asObject(request['output_config'])
  const metadata = asObject(request['metadata'])
  const choice = asObject(request['tool_choice'])
  const disableParallel = booleanOrNull(choice?.['disable_parallel_tool_use'])
  return {
    from: 'anthropic-messages',
    model: textOr(request['model'], ''),
    system: system === undefined || system === null ? [] : [message('system', system, null)],
    messages: objects(request['messages']).map(parseMessage),
    tools: objects(request['tools']).map(parseTool),
    toolChoice: choice === null ? null : parseToolChoice(choice),
    parallelToolCalls: disableParallel === null ? null : !disableParallel,
    maxTokens: numberOrNull(request['max_tokens']),
    choices: null,
    sampling: {
      temperature: numberOrNull(request['temperature']),
      topP: numberOrNull(request['top_p']),
      topK: numberOrNull(request['top_k']),
      seed: null,
      presencePenalty: null,
      frequencyPenalty: null,
      logprobs: null,
      topLogprobs: null,
    },
    stop: objectsOrTexts(request['stop_sequences']),
    stream: request['stream'] === true,
    wantsUsage: true,
    reasoning: parseReasoning(asObject(request['thinking']), textOr(output?.['effort'], null)),
    format: parseFormat(output?.['format'] ?? request['output_format']),
    user: textOr(metadata?.['user_id'], null),
    metadata: metadata === null ? null : restOf(metadata, KNOWN_METADATA),
    serviceTier: textOr(request['service_tier'], null),
    cache: readCacheMark(request['cache_control']),
    extra: extraOf(request, output),
  }
}

function extraOf(request: JsonObject, output: JsonObject | null): JsonObject | null {
  const rest = restOf(request, KNOWN)
  const restOfOutput = output === null ? null : restOf(output, KNOWN_OUTPUT)
  return restOfOutput === null ? rest : { ...rest, output_config: restOfOutput }
}

function objectsOrTexts(value: unknown): readonly string[] {
  return Array.isArray(value) ? value.filter((entry) => typeof entry === 'string') : []
}

function parseMessage(value: JsonObject): Message {
  const role = value['role']
  const known: Role = role === 'assistant' || role === 'system' ? role : 'user'
  return message(known, value['content'], restOf(value, KNOWN_MESSAGE))
}

function message(role: Role, content: unknown, extra: JsonObject | null): Message {
  return { role, content: readBlocks(content), plain: typeof content === 'string', name: null, extra }
}

function parseTool(tool: JsonObject): Tool {
  const kind = textOr(tool['type'], 'custom')
  if (kind !== 'custom') return { type: 'native', kind, name: textOr(tool['name'], null), value: tool }
  const explicit = tool['type'] === 'custom' ? { type: 'custom' } : null
  const rest = withOddSchema(restOf(tool, KNOWN_TOOL), 'input_schema', tool['input_schema'])
  return {
    type: 'function',
    name: textOr(tool['name'], ''),
    description: textOr(tool['description'], null),
    parameters: asObject(tool['input_schema']),
    strict: booleanOrNull(tool['strict']),
    legacy: false,
    cache: readCacheMark(tool['cache_control']),
    extra: explicit === null && rest === null ? null : { ...explicit, ...rest },
  }
}

function parseToolChoice(choice: JsonObject): ToolChoice | null {
  switch (choice['type']) {
    case 'auto':
    case 'none':
      return { type: choice['type'] }
    case 'any':
      return { type: 'required' }
    case 'tool':
      return { type: 'tool', name: textOr(choice['name'], ''), kind: 'function' }
    default:
      return null
  }
}

function parseReasoning(thinking: JsonObject | null, effort: string | null): Reasoning | null {
  if (thinking === null && effort === null) return null
  const type = thinking?.['type']
  return {
    mode: type === 'enabled' || type === 'adaptive' || type === 'disabled' ? type : null,
    effort,
    budgetTokens: numberOrNull(thinking?.['budget_tokens']),
    display: textOr(thinking?.['display'], null),
  }
}

function parseFormat(value: unknown): OutputFormat | null {
  if (valueAt(value, 'type') !== 'json_schema') return null
  const schema = asObject(valueAt(value, 'schema')) ?? {}
  return { type: 'schema', name: null, description: null, schema, strict: null }
}
