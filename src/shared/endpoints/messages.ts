import { Type } from 'typebox'
import type { Static } from 'typebox'
import { nullable, stringOrArray } from '../api/nullable.ts'
import type { RequestFields } from '../core/request-body.ts'
import { tagsOfMessages } from '../core/tags.ts'
import { conversationEndpoint } from './declare.ts'
import { connectorServersOf, MCP_SERVERS, MCP_TOOLSET_MEMBERS } from './mcp-connector.ts'
import type { ConnectorRequest } from './mcp-connector.ts'

const LARGEST_INTEGER = 2_147_483_647

export const ContentBlock = Type.Object(
  {
    type: Type.String({
      description: 'text, image, document, tool_use, tool_result, thinking, or a kind that the upstream alone knows.',
    }),
    text: Type.Optional(Type.String({ description: 'Text of a text block.' })),
  },
  { description: 'A block of content. Members beyond these pass through.' },
)

export const InputMessage = Type.Object(
  {
    role: Type.Enum(['user', 'assistant', 'system'], { description: 'The author of the message.' }),
    content: stringOrArray(ContentBlock, { description: 'A text, or blocks.' }),
  },
  { description: 'A message of the conversation.' },
)

export const MessagesTool = Type.Object(
  {
    name: Type.Optional(Type.String({ description: 'Letters, digits, _ and -.' })),
    type: Type.Optional(
      nullable(
        Type.String({
          description: 'custom, mcp_toolset (tools of one of mcp_servers), or a tool of the upstream with its date.',
        }),
      ),
    ),
    description: Type.Optional(nullable(Type.String())),
    input_schema: Type.Optional(nullable(Type.Object({}, { description: 'JSON Schema of the input.' }))),
    ...MCP_TOOLSET_MEMBERS,
  },
  { description: 'A tool that the model may use.' },
)

/** The fields that a messages request and a count of its tokens share: all that the model reads. */
export const promptFields = {
  model: Type.String({ description: 'Model id.', minLength: 1, maxLength: 256 }),
  messages: Type.Array(InputMessage, { description: 'The conversation so far.', minItems: 1 }),
  system: Type.Optional(stringOrArray(ContentBlock, { description: 'System prompt: a text, or text blocks.' })),
  tools: Type.Optional(Type.Array(MessagesTool, { description: 'Tools that the model may use.' })),
  mcp_servers: MCP_SERVERS,
  tool_choice: Type.Optional(Type.Object({}, { description: 'auto, any, none, or the tool to use.' })),
  thinking: Type.Optional(
    Type.Object({}, { description: 'Whether and how much the model reasons before it answers.' }),
  ),
}

/** POST /v1/messages. Fields not named here pass through. */
export const MessagesRequest = Type.Object(
  {
    ...promptFields,
    max_tokens: Type.Integer({ description: 'Most tokens of the answer.', minimum: 1, maximum: LARGEST_INTEGER }),
    stream: Type.Optional(Type.Boolean({ description: 'Answer as server-sent events.', default: false })),
    temperature: Type.Optional(Type.Number({ description: 'Sampling temperature.', minimum: 0, maximum: 1 })),
    top_p: Type.Optional(Type.Number({ description: 'Nucleus sampling.', minimum: 0, maximum: 1 })),
    top_k: Type.Optional(
      Type.Integer({ description: 'Sample from the k likeliest tokens.', minimum: 0, maximum: LARGEST_INTEGER }),
    ),
    stop_sequences: Type.Optional(Type.Array(Type.String(), { description: 'Sequences that end the answer.' })),
    metadata: Type.Optional(Type.Object({}, { description: 'user_id: an opaque identifier of the end user.' })),
  },
  { description: 'A messages request.' },
)
export type MessagesRequest = Static<typeof MessagesRequest>

export const MessagesUsage = Type.Object(
  {
    input_tokens: Type.Integer({
      description: 'Tokens of the prompt that were neither read from the prompt cache nor written to it.',
    }),
    output_tokens: Type.Integer({ description: 'Thinking included.' }),
    cache_creation_input_tokens: Type.Optional(nullable(Type.Integer())),
    cache_read_input_tokens: Type.Optional(nullable(Type.Integer())),
  },
  { description: 'Tokens of the request and its answer.' },
)
export type MessagesUsage = Static<typeof MessagesUsage>

const stopReason = nullable(
  Type.String({ description: 'end_turn, max_tokens, stop_sequence, tool_use, pause_turn, refusal, …' }),
)

/** The answer to a messages request. */
export const Message = Type.Object(
  {
    id: Type.String(),
    type: Type.Literal('message'),
    role: Type.Literal('assistant'),
    model: Type.String({ description: 'Model id.' }),
    content: Type.Array(ContentBlock),
    stop_reason: stopReason,
    stop_sequence: Type.Optional(nullable(Type.String({ description: 'The stop sequence that ended the answer.' }))),
    usage: MessagesUsage,
  },
  { description: 'A whole answer.' },
)
export type Message = Static<typeof Message>

const streamEvents = [
  Type.Object({ type: Type.Literal('message_start'), message: Message }),
  Type.Object({ type: Type.Literal('content_block_start'), index: Type.Integer(), content_block: ContentBlock }),
  Type.Object({
    type: Type.Literal('content_block_delta'),
    index: Type.Integer(),
    delta: Type.Object({
      type: Type.String({
        description: 'text_delta, input_json_delta, thinking_delta, signature_delta or citations_delta.',
      }),
    }),
  }),
  Type.Object({ type: Type.Literal('content_block_stop'), index: Type.Integer() }),
  Type.Object({
    type: Type.Literal('message_delta'),
    delta: Type.Object({ stop_reason: stopReason, stop_sequence: Type.Optional(nullable(Type.String())) }),
    usage: Type.Partial(MessagesUsage, { description: 'Tokens of the whole message so far.' }),
  }),
  Type.Object({ type: Type.Literal('message_stop') }),
  Type.Object({ type: Type.Literal('ping') }),
  Type.Object({
    type: Type.Literal('error'),
    error: Type.Object({ type: Type.String(), message: Type.String() }),
    request_id: Type.Optional(Type.String()),
  }),
]

export type MessageStreamEvent = Static<(typeof streamEvents)[number]>

/** One event of a streamed answer; the event's name is its type. */
export const MessageStreamEvent = Type.Unsafe<MessageStreamEvent>({
  type: 'object',
  description: 'One event of a streamed answer.',
  discriminator: { propertyName: 'type' },
  oneOf: streamEvents,
})

export const messages = conversationEndpoint('/v1/messages', {
  operation: 'message',
  name: 'messages',
  summary: 'Answer a conversation (messages protocol)',
  isAliased: true,
  dialect: 'anthropic-messages',
  servedBy: 'any',
  body: MessagesRequest,
  example: { model: 'sim-claude', max_tokens: 100, stream: true, messages: [{ role: 'user', content: 'Say hello' }] },
  answer: Message,
  event: MessageStreamEvent,
  fields: (request) => promptFieldsOf(request, request.stream ?? false, request.max_tokens),
})

export function promptFieldsOf(
  request: Pick<MessagesRequest, 'model' | 'metadata'> & ConnectorRequest,
  stream: boolean,
  maxOutputTokens: number | null,
): RequestFields {
  return {
    model: request.model,
    stream,
    wantsUsage: true,
    maxOutputTokens,
    choices: 1,
    namesServers: connectorServersOf(request).length > 0,
    hasTools: (request.tools?.length ?? 0) > 0,
    expected: null,
    tags: tagsOfMessages(request.metadata),
  }
}
