import { scriptsTurns } from './behaviour.ts'
import { isRecord, type JsonObject } from './json.ts'
import { countTokens } from './tokens.ts'

export interface ToolDefinition {
  readonly name: string
  /** JSON Schema of the arguments. */
  readonly schema: unknown
}

/** A conversation request, independent of its dialect. */
export interface Prompt {
  readonly model: string
  readonly stream: boolean
  /** Chat only: the stream ends with the usage. */
  readonly includeUsage: boolean
  readonly choices: number
  readonly maxTokens: number | null
  /** `user` or `metadata.user_id`. */
  readonly user: string | null
  readonly lastUserText: string
  /** The current turn of a tool loop that a text of the user scripts with `turns`; null: no text does. */
  readonly scripted: ScriptedTurn | null
  /** The text of the tool result, when the conversation ends with one. */
  readonly toolResult: string | null
  /** Tokens of the text of all messages, the system prompt, tool calls and tool results included; at least 1. */
  readonly promptTokens: number
  readonly tools: readonly ToolDefinition[]
  readonly toolChoice: ToolChoice
}

export interface ScriptedTurn {
  readonly text: string
  /** Number of the model's answers since that text. */
  readonly turn: number
}

export type ToolChoice = { readonly mode: 'none' | 'auto' | 'any' } | { readonly mode: 'named'; readonly name: string }

/** A request that the provider would refuse, mostly with 400. */
export class BadRequest extends Error {
  readonly param: string | null
  readonly code: string | null
  readonly status: number

  constructor(message: string, param: string | null = null, code: string | null = null, status = 400) {
    super(message)
    this.status = status
    this.name = 'BadRequest'
    this.param = param
    this.code = code
  }
}

/** Reads a body of POST chat/completions. Throws BadRequest with the provider's own wording. */
export function readChatPrompt(body: JsonObject): Prompt {
  if (typeof body['model'] !== 'string' || body['model'] === '') {
    throw new BadRequest('you must provide a model parameter')
  }
  const messages = body['messages']
  if (messages === undefined || messages === null) {
    throw new BadRequest("Missing required parameter: 'messages'.", 'messages', 'missing_required_parameter')
  }
  if (!Array.isArray(messages)) {
    throw new BadRequest("Invalid type for 'messages': expected an array of objects.", 'messages', 'invalid_type')
  }
  if (messages.length === 0) {
    const text =
      "Invalid 'messages': empty array. Expected an array with minimum length 1, but got an empty array instead."
    throw new BadRequest(text, 'messages', 'empty_array')
  }
  const reader = new MessageReader()
  for (let i = 0; i < messages.length; i++) {
    const message: unknown = messages[i]
    if (!isRecord(message) || typeof message['role'] !== 'string') {
      throw new BadRequest(`Missing required parameter: 'messages[${i}].role'.`, `messages[${i}].role`)
    }
    reader.add(message['role'], message['content'], message['tool_calls'])
  }
  const streamOptions = body['stream_options']
  const tools = toolList(body['tools'], (tool) => (isRecord(tool['function']) ? tool['function'] : tool), 'parameters')
  return {
    model: body['model'],
    stream: body['stream'] === true,
    includeUsage: isRecord(streamOptions) && streamOptions['include_usage'] === true,
    choices: positiveInteger(body['n'], 'n') ?? 1,
    maxTokens:
      positiveInteger(body['max_completion_tokens'], 'max_completion_tokens') ??
      positiveInteger(body['max_tokens'], 'max_tokens'),
    user: textOf(body['user']) ?? userOfMetadata(body['metadata']),
    lastUserText: reader.lastUserText,
    scripted: reader.scripted,
    toolResult: reader.toolResult,
    promptTokens: Math.max(1, reader.tokens),
    tools,
    toolChoice: chatToolChoice(body['tool_choice']),
  }
}

/** Reads a body of POST messages, or of messages/count_tokens, where `max_tokens` may be absent. Throws BadRequest. */
export function readMessagesPrompt(body: JsonObject, needsMaxTokens: boolean): Prompt {
  if (typeof body['model'] !== 'string' || body['model'] === '') throw new BadRequest('model: Field required')
  const messages = body['messages']
  if (!Array.isArray(messages)) throw new BadRequest('messages: Field required')
  if (messages.length === 0) throw new BadRequest('messages: at least one message is required')
  if (needsMaxTokens && typeof body['max_tokens'] !== 'number') throw new BadRequest('max_tokens: Field required')
  const reader = new MessageReader()
  reader.add('system', body['system'], undefined)
  for (let i = 0; i < messages.length; i++) {
    const message: unknown = messages[i]
    if (!isRecord(message) || typeof message['role'] !== 'string') {
      throw new BadRequest(`messages.${i}.role: Field required`)
    }
    if (!MESSAGES_ROLES.has(message['role'])) {
      throw new BadRequest(`messages.${i}.role: Input should be 'user' or 'assistant'`)
    }
    if (i === 0 && message['role'] !== 'user') throw new BadRequest('messages: first message must use the "user" role')
    reader.add(message['role'], message['content'], undefined)
  }
  return {
    model: body['model'],
    stream: body['stream'] === true,
    includeUsage: true,
    choices: 1,
    maxTokens: positiveInteger(body['max_tokens'], 'max_tokens'),
    user: userOfMetadata(body['metadata']),
    lastUserText: reader.lastUserText,
    scripted: reader.scripted,
    toolResult: reader.toolResult,
    promptTokens: Math.max(1, reader.tokens),
    tools: toolList(body['tools'], (tool) => tool, 'input_schema'),
    toolChoice: messagesToolChoice(body['tool_choice']),
  }
}

const MESSAGES_ROLES = new Set(['user', 'assistant', 'system'])

/** Counts the tokens of messages, and keeps the last text of the user and the last tool result. */
export class MessageReader {
  tokens = 0
  lastUserText = ''
  toolResult: string | null = null
  scripted: ScriptedTurn | null = null

  add(role: string, content: unknown, toolCalls: unknown): void {
    if (role === 'assistant') {
      this.toolResult = null
      if (this.scripted !== null) this.scripted = { ...this.scripted, turn: this.scripted.turn + 1 }
    }
    const text = this.#textOf(content)
    if (role === 'user' && (text !== '' || typeof content === 'string')) {
      this.lastUserText = text
      if (scriptsTurns(text)) this.scripted = { text, turn: 0 }
      this.toolResult = null
    }
    if (role === 'tool') this.toolResult = text
    if (!Array.isArray(toolCalls)) return
    for (const call of toolCalls) {
      if (!isRecord(call) || !isRecord(call['function'])) continue
      this.#count(textOf(call['function']['name']) ?? '')
      this.#count(textOf(call['function']['arguments']) ?? '')
    }
  }

  /** Counts the tokens of all of the content. Returns its plain text. */
  #textOf(content: unknown): string {
    if (typeof content === 'string') return this.#count(content)
    if (!Array.isArray(content)) return ''
    let text = ''
    let result: string | null = null
    for (const part of content) {
      if (!isRecord(part)) continue
      if (typeof part['text'] === 'string') text += (text === '' ? '' : '\n') + this.#count(part['text'])
      else if (part['type'] === 'tool_result') result = this.#textOf(part['content'])
      else if (isRecord(part['toolResult'])) result = this.#textOf(part['toolResult']['content'])
      else if (part['json'] !== undefined) this.#count(JSON.stringify(part['json']))
      else {
        const call = part['type'] === 'tool_use' ? part : part['toolUse']
        if (!isRecord(call)) continue
        this.#count(textOf(call['name']) ?? '')
        this.#count(JSON.stringify(call['input'] ?? {}))
      }
    }
    if (result !== null) this.toolResult = result
    return text
  }

  #count(text: string): string {
    this.tokens += countTokens(text)
    return text
  }
}

export function toolList(
  tools: unknown,
  definition: (tool: JsonObject) => JsonObject,
  schema: string,
): ToolDefinition[] {
  const found: ToolDefinition[] = []
  if (!Array.isArray(tools)) return found
  for (const tool of tools) {
    if (!isRecord(tool)) continue
    const { [schema]: parameters, name } = definition(tool)
    if (typeof name === 'string') found.push({ name, schema: parameters })
  }
  return found
}

function chatToolChoice(choice: unknown): ToolChoice {
  if (choice === 'none') return { mode: 'none' }
  if (choice === 'required' || choice === 'any') return { mode: 'any' }
  if (isRecord(choice) && isRecord(choice['function']) && typeof choice['function']['name'] === 'string') {
    return { mode: 'named', name: choice['function']['name'] }
  }
  return { mode: 'auto' }
}

function messagesToolChoice(choice: unknown): ToolChoice {
  if (!isRecord(choice)) return { mode: 'auto' }
  if (choice['type'] === 'none') return { mode: 'none' }
  if (choice['type'] === 'any') return { mode: 'any' }
  if (choice['type'] === 'tool' && typeof choice['name'] === 'string') return { mode: 'named', name: choice['name'] }
  return { mode: 'auto' }
}

export function positiveInteger(value: unknown, name: string): number | null {
  if (value === undefined || value === null) return null
  if (typeof value === 'number' && Number.isInteger(value) && value >= 1) return value
  throw new BadRequest(`Invalid '${name}': integer below minimum value. Expected a value >= 1.`, name, 'invalid_value')
}

function userOfMetadata(metadata: unknown): string | null {
  return isRecord(metadata) ? textOf(metadata['user_id']) : null
}

function textOf(value: unknown): string | null {
  return typeof value === 'string' ? value : null
}
