import { Type } from 'typebox'
import type { Static } from 'typebox'
import { nullable, stringOrArray } from '../api/nullable.ts'
import { GatewayError } from '../core/errors.ts'
import { fieldName } from '../core/field-error.ts'
import type { RequestFields } from '../core/request-body.ts'
import { tagsOfBody } from '../core/tags.ts'
import { conversationEndpoint } from './declare.ts'
import { MCP_TOOL_MEMBERS, namesServers } from './named-servers.ts'

const LARGEST_INTEGER = 2_147_483_647

/** Any object. Its members pass unchecked. */
const Anything = (description: string) => Type.Object({}, { description })

export const ResponsesItem = Type.Object(
  {
    type: Type.Optional(
      nullable(
        Type.String({
          description:
            'message (by default), reasoning, function_call, function_call_output, custom_tool_call or custom_tool_call_output.',
        }),
      ),
    ),
    role: Type.Optional(Type.Enum(['user', 'assistant', 'system', 'developer'], { description: 'Role of a message.' })),
    content: Type.Optional(
      Type.Unsafe<string | Record<string, unknown>[] | null>({
        type: ['string', 'array', 'null'],
        items: { type: 'object' },
        description:
          'Content of a message: a text, or parts (input_text, input_image, input_file, output_text, refusal).',
      }),
    ),
    call_id: Type.Optional(Type.String({ description: 'Id of a call, which its output repeats.' })),
    output: Type.Optional(
      stringOrArray(Anything('A part, as messages have them.'), { description: 'Output of a tool: a text, or parts.' }),
    ),
  },
  { description: 'An item of the conversation.' },
)

export const ResponsesTool = Type.Object(
  {
    type: Type.String({
      description:
        'function, custom, namespace (a group of both), or mcp (tools of a server of the gateway, which the gateway calls). Any other type is a tool of the provider (web_search, …). If the upstream does not have it, Sluice leaves it out and names it in X-Sluice-Dropped.',
    }),
    name: Type.Optional(Type.String({ description: 'Letters, digits, _ and -.' })),
    description: Type.Optional(nullable(Type.String())),
    parameters: Type.Optional(nullable(Anything('JSON Schema of the arguments.'))),
    strict: Type.Optional(nullable(Type.Boolean())),
    ...MCP_TOOL_MEMBERS,
    tools: Type.Optional(Type.Array(Type.Object({ type: Type.String() }), { description: 'Tools of a namespace.' })),
  },
  { description: 'A tool that the model may call.' },
)

/** POST /v1/responses. A null is the same as leaving the field out; nothing is stored. */
export const ResponsesRequest = Type.Object(
  {
    model: Type.String({ description: 'Model id.', minLength: 1, maxLength: 256 }),
    input: Type.Optional(
      Type.Unsafe<string | Static<typeof ResponsesItem>[] | null>({
        type: ['string', 'array', 'null'],
        items: ResponsesItem,
        description:
          'The conversation so far: a text of the user, or items. May be empty where there are instructions.',
      }),
    ),
    instructions: Type.Optional(nullable(Type.String({ description: 'Instructions for the model.' }))),
    stream: Type.Optional(nullable(Type.Boolean({ description: 'Answer as server-sent events.', default: false }))),
    max_output_tokens: Type.Optional(
      nullable(
        Type.Integer({
          description: 'Most tokens of the answer, reasoning included.',
          minimum: 1,
          maximum: LARGEST_INTEGER,
        }),
      ),
    ),
    temperature: Type.Optional(nullable(Type.Number({ description: 'Sampling temperature.', minimum: 0, maximum: 2 }))),
    top_p: Type.Optional(nullable(Type.Number({ description: 'Nucleus sampling.', minimum: 0, maximum: 1 }))),
    tools: Type.Optional(
      nullable(
        Type.Array(ResponsesTool, {
          description: 'Functions and custom tools, also in groups; tools of the provider.',
        }),
      ),
    ),
    tool_choice: Type.Optional(
      Type.Unsafe<string | Record<string, unknown> | null>({
        type: ['string', 'object', 'null'],
        description:
          'none, auto, required, or the tool to call; a tool of the provider only where the upstream has it.',
      }),
    ),
    parallel_tool_calls: Type.Optional(
      nullable(Type.Boolean({ description: 'Whether one answer may hold several calls.' })),
    ),
    reasoning: Type.Optional(nullable(Anything('effort: none, minimal, low, medium, high, …'))),
    text: Type.Optional(nullable(Anything('format: text, json_object or json_schema.'))),
    include: Type.Optional(
      nullable(Type.Array(Type.String(), { description: 'reasoning.encrypted_content is always part of the answer.' })),
    ),
    metadata: Type.Optional(nullable(Anything('Names and values for your own use.'))),
    user: Type.Optional(nullable(Type.String({ description: 'An opaque identifier of the end user.' }))),
    store: Type.Optional(nullable(Type.Boolean({ description: 'Must not be true: Sluice stores nothing.' }))),
    background: Type.Optional(nullable(Type.Boolean({ description: 'Must not be true: the answer comes at once.' }))),
  },
  { description: 'A request for a response.' },
)
export type ResponsesRequest = Static<typeof ResponsesRequest>

export const responses = conversationEndpoint('/v1/responses', {
  operation: 'response',
  name: 'responses',
  summary: 'Answer a conversation (responses protocol, stateless)',
  dialect: 'openai-responses',
  servedBy: 'any',
  body: ResponsesRequest,
  example: { model: 'sim-gpt', stream: true, input: 'Say hello' },
  answer: null,
  fields: fieldsOf,
})

/** Fields that refer to state stored at a server. */
const STATEFUL = ['previous_response_id', 'conversation', 'prompt'] as const

/** The required members of an item, by its type. */
const REQUIRED: ReadonlyMap<string, readonly string[]> = new Map([
  ['message', ['role', 'content']],
  ['reasoning', []],
  ['function_call', ['call_id', 'name', 'arguments']],
  ['function_call_output', ['call_id', 'output']],
  ['custom_tool_call', ['call_id', 'name', 'input']],
  ['custom_tool_call_output', ['call_id', 'output']],
])

type Tool = Omit<NonNullable<ResponsesRequest['tools']>[number], 'tools'> & { readonly tools?: readonly Tool[] }

/** Items of tools that ran at a server. The conversation makes sense without them. */
const PASSED_OVER: ReadonlySet<string> = new Set([
  'web_search_call',
  'file_search_call',
  'code_interpreter_call',
  'image_generation_call',
  'mcp_call',
  'mcp_list_tools',
  'mcp_approval_request',
  'mcp_approval_response',
])

/** Throws INVALID_FIELD or UNSUPPORTED_FIELD for fields that need stored state. */
function fieldsOf(request: ResponsesRequest): RequestFields {
  const fields: Readonly<Record<string, unknown>> = request
  for (const name of STATEFUL) {
    if (fields[name] !== undefined && fields[name] !== null) throw unsupported(`/${name}`, 'nothing is stored here')
  }
  if (request.store === true) throw unsupported('/store', 'nothing is stored here; send false')
  if (request.background === true) throw unsupported('/background', 'answers come at once; send false')
  const { input } = request
  // The service accepts instructions without input.
  if ((input?.length ?? 0) === 0 && (request.instructions ?? '') === '') {
    const message = 'input must not be empty where there are no instructions.'
    throw new GatewayError('INVALID_FIELD', { param: '/input', message })
  }
  if (typeof input === 'object' && input !== null) input.forEach(checkItem)
  request.tools?.forEach((tool, index) => checkTool(tool, `/tools/${index}`))
  checkToolChoice(request.tool_choice)
  return {
    model: request.model,
    stream: request.stream ?? false,
    wantsUsage: true,
    maxOutputTokens: request.max_output_tokens ?? null,
    choices: 1,
    namesServers: namesServers(request.tools, true),
    hasTools: (request.tools?.length ?? 0) > 0,
    expected: null,
    tags: tagsOfBody(request.user, request.metadata),
  }
}

function checkItem(item: Readonly<Record<string, unknown>>, index: number): void {
  const type = typeof item['type'] === 'string' ? item['type'] : 'message'
  const required = REQUIRED.get(type)
  if (required === undefined) {
    if (PASSED_OVER.has(type)) return
    throw unsupported(`/input/${index}/type`, `${quoted(type)} refers to state or tools of a server`)
  }
  for (const name of required) {
    const value = item[name]
    if (value === undefined || (value === null && name !== 'content')) throw missing(`/input/${index}/${name}`)
  }
}

/** A tool of the provider passes unchecked: the upstream has it or not. A tool of the client must have a name. */
function checkTool({ type, name, tools }: Tool, place: string): void {
  if (type !== 'function' && type !== 'custom' && type !== 'namespace') return
  if (name === undefined || name === '') throw missing(`${place}/name`)
  if (type !== 'namespace') return
  if (tools === undefined || tools.length === 0) throw missing(`${place}/tools`)
  tools.forEach((tool, index) => {
    const inGroup = `${place}/tools/${index}`
    if (tool.type !== 'function' && tool.type !== 'custom') {
      throw unsupported(`${inGroup}/type`, `a namespace holds functions and custom tools, not ${quoted(tool.type)}`)
    }
    checkTool(tool, inGroup)
  })
}

function checkToolChoice(choice: ResponsesRequest['tool_choice']): void {
  if (typeof choice !== 'object' || choice === null) return
  if (typeof choice['type'] !== 'string') throw missing('/tool_choice/type')
}

/** Quotes 40 characters at most: enough for every known type. */
function quoted(type: string): string {
  return JSON.stringify(type.slice(0, 40))
}

function missing(param: string): GatewayError {
  return new GatewayError('INVALID_FIELD', { param, message: `${fieldName(param)} is required.` })
}

function unsupported(param: string, why: string): GatewayError {
  return new GatewayError('UNSUPPORTED_FIELD', { param, message: `${fieldName(param)} cannot be used: ${why}.` })
}
