import type { Conversation, Message, OutputFormat, Reasoning, Tool, ToolChoice } from '../../core/conversation.ts'
import { textBlock } from '../../core/content.ts'
import type { JsonObject } from '../../core/json-object.ts'
import { arrayOf, booleanOrNull, numberOrNull, objects, restOf, textOr, withOddSchema } from '../fields.ts'
import { asObject, valueAt } from '../json-value.ts'
import { parseInput } from './parse-input.ts'

/** Those that need no report when nothing comes of them are among them: nothing is stored, and reasoning is always sealed. */
const KNOWN = new Set([
  'model',
  'input',
  'instructions',
  'tools',
  'tool_choice',
  'parallel_tool_calls',
  'max_output_tokens',
  'temperature',
  'top_p',
  'stream',
  'stream_options',
  'reasoning',
  'text',
  'user',
  'metadata',
  'service_tier',
  'include',
  'store',
  'background',
  'truncation',
])
const KNOWN_TEXT = new Set(['format'])
const KNOWN_FUNCTION = new Set(['type', 'name', 'description', 'parameters', 'strict'])
const KNOWN_CUSTOM = new Set(['type', 'name', 'description', 'format'])
const LOGPROBS = 'message.output_text.logprobs'

/** A request for a response as a conversation. What keeps state or needs tools of the server was refused before. */
export function parseRequest(body: unknown): Conversation {
  const request = asObject(body) ?? {}
  const messages = parseInput(request['input'])
  let lead = 0
  while (lead < messages.length && isInstruction(messages[lead])) lead++
  return {
    from: 'openai-responses',
    model: textOr(request['model'], ''),
    system: [...instructions(request['instructions']), ...messages.slice(0, lead)],
    messages: messages.slice(lead),
    tools: objects(request['tools']).map(parseTool),
    toolChoice: parseToolChoice(request['tool_choice']),
    parallelToolCalls: booleanOrNull(request['parallel_tool_calls']),
    maxTokens: numberOrNull(request['max_output_tokens']),
    choices: null,
    sampling: {
      temperature: numberOrNull(request['temperature']),
      topP: numberOrNull(request['top_p']),
      topK: null,
      seed: null,
      presencePenalty: null,
      frequencyPenalty: null,
      logprobs: null,
      topLogprobs: null,
    },
    stop: [],
    stream: request['stream'] === true,
    wantsUsage: true,
    reasoning: parseReasoning(request['reasoning']),
    format: parseFormat(valueAt(request, 'text', 'format')),
    user: textOr(request['user'], null),
    metadata: asObject(request['metadata']),
    serviceTier: textOr(request['service_tier'], null),
    cache: null,
    extra: extraOf(request),
  }
}

function isInstruction(message: Message | undefined): boolean {
  return message?.role === 'system' || message?.role === 'developer'
}

function instructions(value: unknown): Message[] {
  if (typeof value !== 'string' || value === '') return []
  return [{ role: 'system', content: [textBlock(value)], plain: true, name: null, extra: null }]
}

function extraOf(request: JsonObject): JsonObject | null {
  const text = asObject(request['text'])
  const extra = { ...restOf(request, KNOWN), ...(text === null ? null : restOf(text, KNOWN_TEXT)) }
  if (request['truncation'] === 'auto') extra['truncation'] = 'auto'
  if (arrayOf(request['include']).includes(LOGPROBS)) extra['include'] = [LOGPROBS]
  return Object.keys(extra).length === 0 ? null : extra
}

function parseTool(tool: JsonObject): Tool {
  const name = textOr(tool['name'], '')
  const description = textOr(tool['description'], null)
  switch (tool['type']) {
    case 'function':
      return {
        type: 'function',
        name,
        description,
        parameters: asObject(tool['parameters']),
        strict: booleanOrNull(tool['strict']),
        legacy: false,
        cache: null,
        extra: withOddSchema(restOf(tool, KNOWN_FUNCTION), 'parameters', tool['parameters']),
      }
    case 'custom': {
      const format = parseGrammar(asObject(tool['format']))
      return { type: 'custom', name, description, format, extra: restOf(tool, KNOWN_CUSTOM) }
    }
    default:
      return { type: 'native', kind: textOr(tool['type'], ''), name: null, value: tool }
  }
}

/** The form has it as chat completions do, where a grammar stands in an object of its own. */
function parseGrammar(format: JsonObject | null): JsonObject | null {
  if (format?.['type'] !== 'grammar') return null
  const { syntax, definition } = format
  return { type: 'grammar', grammar: { syntax, definition } }
}

function parseToolChoice(value: unknown): ToolChoice | null {
  if (value === 'auto' || value === 'none' || value === 'required') return { type: value }
  const choice = asObject(value)
  switch (choice?.['type']) {
    case 'function':
    case 'custom':
      return { type: 'tool', name: textOr(choice['name'], ''), kind: choice['type'] }
    case 'allowed_tools': {
      const names = objects(choice['tools'])
        .map((tool) => tool['name'])
        .filter((name) => typeof name === 'string')
      return { type: 'allowed', required: choice['mode'] === 'required', names, native: choice }
    }
    default:
      return null
  }
}

function parseReasoning(value: unknown): Reasoning | null {
  const effort = textOr(valueAt(value, 'effort'), null)
  if (effort === null) return null
  const shown = valueAt(value, 'summary') ?? valueAt(value, 'generate_summary')
  return { mode: null, effort, budgetTokens: null, display: typeof shown === 'string' ? 'summarized' : null }
}

function parseFormat(value: unknown): OutputFormat | null {
  const format = asObject(value)
  switch (format?.['type']) {
    case 'text':
      return { type: 'text' }
    case 'json_object':
      return { type: 'json' }
    case 'json_schema':
      return {
        type: 'schema',
        name: textOr(format['name'], null),
        description: textOr(format['description'], null),
        schema: asObject(format['schema']) ?? {},
        strict: booleanOrNull(format['strict']),
      }
    default:
      return null
  }
}
