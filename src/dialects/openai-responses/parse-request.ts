import type { Conversation, Message, OutputFormat, Reasoning } from '../../shared/core/conversation.ts'
import { textBlock } from '../../shared/core/content.ts'
import type { JsonObject } from '../../shared/core/json-object.ts'
import { arrayOf, booleanOrNull, numberOrNull, restOf, textOr } from '../common/fields.ts'
import { asObject, valueAt } from '../common/json-value.ts'
import { parseInput } from './parse-input.ts'
import { parseToolChoice, parseTools } from './parse-tools.ts'

/** Includes fields that are dropped without a report: nothing is stored, and reasoning is always sealed. */
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
const LOGPROBS = 'message.output_text.logprobs'

/** Parses a request for a response into a conversation. Requests that need stored state were refused before. */
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
    tools: parseTools(request['tools']),
    toolChoice: parseToolChoice(request['tool_choice'], request['tools']),
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
