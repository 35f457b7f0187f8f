import { Type } from 'typebox'
import type { Static, TProperties } from 'typebox'
import { nullable, stringOrArray } from '../api/nullable.ts'
import { GatewayError } from '../core/errors.ts'
import type { RequestFields } from '../core/request-body.ts'
import { tagsOfBody } from '../core/tags.ts'
import { conversationEndpoint } from './declare.ts'
import { MCP_TOOL_MEMBERS, namesServers } from './named-servers.ts'

/** A larger integer is surely a mistake, and arithmetic with it would not be exact. */
const LARGEST_INTEGER = 2_147_483_647

const Integer = (description: string, minimum: number) =>
  Type.Integer({ description, minimum, maximum: LARGEST_INTEGER })
/** The maximum of OpenAI. */
const MAX_ANSWERS = 128
const Range = (description: string, minimum: number, maximum: number) => Type.Number({ description, minimum, maximum })

/** Any object. Its members pass unchecked. */
const Anything = (description: string) => Type.Object({}, { description })

export const ChatContentPart = Type.Object(
  {
    type: Type.String({
      description: 'text, image_url, input_audio, file, refusal, or a kind that the upstream alone knows.',
    }),
    text: Type.Optional(nullable(Type.String({ description: 'Text of a text part.' }))),
  },
  { description: 'A part of a message. Members beyond these pass through.' },
)

const Content = stringOrArray(ChatContentPart, { description: 'The text, or its parts.' })

export const ChatToolCall = Type.Object(
  {
    id: Type.Optional(nullable(Type.String())),
    type: Type.Optional(nullable(Type.String({ description: 'function or custom.' }))),
    function: Type.Optional(
      nullable(
        Type.Object({
          name: Type.Optional(nullable(Type.String())),
          arguments: Type.Optional(Type.Unknown({ description: 'A JSON text; some clients send the object itself.' })),
        }),
      ),
    ),
  },
  { description: 'A call that the model made.' },
)

/** One kind of message: the members of all kinds, and `own`, which adds or replaces members. */
function message<Role extends string, Own extends TProperties>(role: Role, description: string, own: Own) {
  return Type.Object(
    {
      role: Type.Literal(role),
      name: Type.Optional(nullable(Type.String({ description: 'Tells participants of one role apart.' }))),
      ...own,
    },
    { description },
  )
}

const OptionalContent = { content: Type.Optional(nullable(Content)) }

const messageKinds = [
  message('user', 'A message of the user.', { content: Content }),
  message('assistant', 'An earlier message of the model.', {
    ...OptionalContent,
    refusal: Type.Optional(nullable(Type.String())),
    tool_calls: Type.Optional(nullable(Type.Array(ChatToolCall))),
  }),
  message('tool', 'The result of a tool call.', {
    ...OptionalContent,
    tool_call_id: Type.Optional(nullable(Type.String({ description: 'The id of the call it answers.' }))),
  }),
  message('system', 'Instructions.', { content: Content }),
  message('developer', 'Instructions, for models that tell them from system messages.', { content: Content }),
  message('function', 'The result of a function call (deprecated).', OptionalContent),
]

export type ChatMessage = Static<(typeof messageKinds)[number]>

export const ChatMessage = Type.Unsafe<ChatMessage>({
  type: 'object',
  description: 'A message; its role decides what else it holds.',
  discriminator: { propertyName: 'role' },
  oneOf: messageKinds,
})

export const ChatTool = Type.Object(
  {
    type: Type.Optional(
      nullable(
        Type.String({
          description:
            'function, custom, mcp (tools of a server of the gateway, which the gateway calls), or a kind that the upstream knows.',
        }),
      ),
    ),
    ...MCP_TOOL_MEMBERS,
    function: Type.Optional(
      nullable(
        Type.Object({
          name: Type.Optional(Type.String({ description: 'Letters, digits, _ and -, at most 64.' })),
          description: Type.Optional(nullable(Type.String())),
          parameters: Type.Optional(nullable(Anything('JSON Schema of the arguments.'))),
          strict: Type.Optional(nullable(Type.Boolean())),
        }),
      ),
    ),
  },
  { description: 'A tool that the model may call.' },
)

/** POST /v1/chat/completions. A null is the same as leaving the field out; fields not named here pass through. */
export const ChatCompletionRequest = Type.Object(
  {
    model: Type.String({ description: 'Model id.', minLength: 1, maxLength: 256 }),
    messages: Type.Array(ChatMessage, { description: 'The conversation so far.', minItems: 1 }),
    stream: Type.Optional(nullable(Type.Boolean({ description: 'Answer as server-sent events.', default: false }))),
    stream_options: Type.Optional(
      nullable(
        Type.Object(
          { include_usage: Type.Optional(nullable(Type.Boolean({ description: 'End the stream with the usage.' }))) },
          { description: 'Only with stream.' },
        ),
      ),
    ),
    max_tokens: Type.Optional(
      nullable(Integer('Most tokens of the answer; the older name of max_completion_tokens.', 1)),
    ),
    max_completion_tokens: Type.Optional(nullable(Integer('Most tokens of the answer, reasoning included.', 1))),
    n: Type.Optional(
      nullable(Type.Integer({ description: 'Number of answers; 1 by default.', minimum: 1, maximum: MAX_ANSWERS })),
    ),
    temperature: Type.Optional(nullable(Range('Sampling temperature.', 0, 2))),
    top_p: Type.Optional(nullable(Range('Nucleus sampling.', 0, 1))),
    top_k: Type.Optional(nullable(Integer('Sample from the k likeliest tokens, where the upstream can.', 0))),
    presence_penalty: Type.Optional(nullable(Range('Discourages any token that has occurred.', -2, 2))),
    frequency_penalty: Type.Optional(nullable(Range('Discourages tokens by how often they have occurred.', -2, 2))),
    stop: Type.Optional(
      nullable(
        stringOrArray(Type.String(), { description: 'Sequences that end the answer; they are not part of it.' }),
      ),
    ),
    tools: Type.Optional(nullable(Type.Array(ChatTool, { description: 'Tools that the model may call.' }))),
    tool_choice: Type.Optional(
      Type.Unsafe<string | Record<string, unknown> | null>({
        type: ['string', 'object', 'null'],
        description: 'none, auto, required, or the tool to call.',
      }),
    ),
    parallel_tool_calls: Type.Optional(
      nullable(Type.Boolean({ description: 'Whether one answer may hold several calls.' })),
    ),
    response_format: Type.Optional(nullable(Anything('text, json_object or json_schema.'))),
    seed: Type.Optional(
      nullable(Type.Integer({ description: 'The same seed gives the same answer, as far as the upstream can.' })),
    ),
    logit_bias: Type.Optional(nullable(Anything('Bias by token id, -100 to 100.'))),
    logprobs: Type.Optional(nullable(Type.Boolean({ description: 'Return log probabilities.' }))),
    top_logprobs: Type.Optional(nullable(Integer('Alternatives for each token.', 0))),
    reasoning_effort: Type.Optional(nullable(Type.String({ description: 'none, minimal, low, medium, high, …' }))),
    user: Type.Optional(nullable(Type.String({ description: 'An opaque identifier of the end user.' }))),
    metadata: Type.Optional(nullable(Anything('Names and values for your own use.'))),
  },
  { description: 'A chat completion request.' },
)
export type ChatCompletionRequest = Static<typeof ChatCompletionRequest>

export const ChatUsage = Type.Object(
  {
    prompt_tokens: Type.Integer({ description: 'Cached tokens included.' }),
    completion_tokens: Type.Integer({ description: 'Reasoning tokens included.' }),
    total_tokens: Type.Integer(),
    prompt_tokens_details: Type.Optional(nullable(Type.Object({ cached_tokens: Type.Optional(Type.Integer()) }))),
    completion_tokens_details: Type.Optional(
      nullable(Type.Object({ reasoning_tokens: Type.Optional(Type.Integer()) })),
    ),
  },
  { description: 'Tokens of the request and its answer.' },
)
export type ChatUsage = Static<typeof ChatUsage>

const finishReason = 'stop, length, tool_calls, content_filter or function_call.'

export const ChatCompletion = Type.Object(
  {
    id: Type.String({ description: 'Completion identifier.' }),
    object: Type.Literal('chat.completion'),
    created: Type.Integer({ description: 'Unix time in seconds.' }),
    model: Type.String({ description: 'Model id.' }),
    choices: Type.Array(
      Type.Object({
        index: Type.Integer(),
        message: Type.Object({
          role: Type.Literal('assistant'),
          content: nullable(Type.String()),
          refusal: Type.Optional(nullable(Type.String())),
          tool_calls: Type.Optional(Type.Array(ChatToolCall)),
        }),
        finish_reason: nullable(Type.String({ description: finishReason })),
      }),
    ),
    usage: Type.Optional(ChatUsage),
  },
  { description: 'A whole answer.' },
)
export type ChatCompletion = Static<typeof ChatCompletion>

export const ChatCompletionChunk = Type.Object(
  {
    id: Type.String({ description: 'The same on every chunk.' }),
    object: Type.Literal('chat.completion.chunk'),
    created: Type.Integer({ description: 'Unix time in seconds.' }),
    model: Type.String({ description: 'Model id.' }),
    choices: Type.Array(
      Type.Object({
        index: Type.Integer(),
        delta: Type.Object({
          role: Type.Optional(Type.Literal('assistant')),
          content: Type.Optional(nullable(Type.String())),
          refusal: Type.Optional(nullable(Type.String())),
          tool_calls: Type.Optional(
            Type.Array(Type.Object({ index: Type.Integer(), ...ChatToolCall.properties }), {
              description: 'Fragments of calls; those of one call have one index.',
            }),
          ),
        }),
        finish_reason: nullable(Type.String({ description: `Null except on the last chunk: ${finishReason}` })),
      }),
      { description: 'Empty on the chunk that carries the usage.' },
    ),
    usage: Type.Optional(nullable(ChatUsage)),
  },
  { description: 'One event of a streamed answer; the stream ends with the event [DONE].' },
)
export type ChatCompletionChunk = Static<typeof ChatCompletionChunk>

export const chat = conversationEndpoint('/v1/chat/completions', {
  operation: 'chatCompletion',
  name: 'chat.completions',
  summary: 'Answer a conversation (chat-completions protocol)',
  dialect: 'openai-chat',
  servedBy: 'any',
  body: ChatCompletionRequest,
  example: { model: 'sim-gpt', stream: true, messages: [{ role: 'user', content: 'Say hello' }] },
  answer: ChatCompletion,
  event: ChatCompletionChunk,
  fields: fieldsOf,
})

function fieldsOf(request: ChatCompletionRequest): RequestFields {
  const older = request.max_tokens ?? null
  const newer = request.max_completion_tokens ?? null
  return {
    model: request.model,
    stream: request.stream ?? false,
    wantsUsage: request.stream_options?.include_usage ?? false,
    // Upstreams differ in which of the two they obey: reserve for the larger.
    maxOutputTokens: older !== null && newer !== null ? Math.max(older, newer) : (newer ?? older),
    choices: request.n ?? 1,
    namesServers: asksServers(request),
    hasTools: (request.tools?.length ?? 0) > 0,
    expected: null,
    tags: tagsOfBody(request.user, request.metadata),
  }
}

/** Throws INVALID_FIELD or UNSUPPORTED_FIELD. */
function asksServers({ tools, n }: ChatCompletionRequest): boolean {
  if (!namesServers(tools, false)) return false
  if ((n ?? 1) === 1) return true
  throw new GatewayError('UNSUPPORTED_FIELD', { param: '/n', message: 'n must be 1 where tools are of type mcp.' })
}
