import { Type } from 'typebox'
import type { Static } from 'typebox'
import { nullable, stringOrArray } from './nullable.ts'

const LARGEST_INTEGER = 2_147_483_647

/** Any object; its members are not our business. */
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
    role: Type.Optional(Type.Enum(['user', 'assistant', 'system', 'developer'], { description: 'Of a message.' })),
    content: Type.Optional(
      Type.Unsafe<string | Record<string, unknown>[] | null>({
        type: ['string', 'array', 'null'],
        items: { type: 'object' },
        description: 'Of a message: a text, or parts (input_text, input_image, input_file, output_text, refusal).',
      }),
    ),
    call_id: Type.Optional(Type.String({ description: 'Of a call and of its output.' })),
    output: Type.Optional(
      stringOrArray(Anything('A part, as messages have them.'), { description: 'Of a tool: a text, or parts.' }),
    ),
  },
  { description: 'An item of the conversation.' },
)

export const ResponsesTool = Type.Object(
  {
    type: Type.String({
      description:
        'function, custom, or namespace (a group of both). Any other is a tool of the provider (web_search, …): left out, and named in X-Sluice-Dropped, where the upstream does not have it.',
    }),
    name: Type.Optional(Type.String({ description: 'Letters, digits, _ and -.' })),
    description: Type.Optional(nullable(Type.String())),
    parameters: Type.Optional(nullable(Anything('JSON Schema of the arguments.'))),
    strict: Type.Optional(nullable(Type.Boolean())),
    tools: Type.Optional(Type.Array(Type.Object({ type: Type.String() }), { description: 'Of a namespace.' })),
  },
  { description: 'A tool the model may call.' },
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
    instructions: Type.Optional(nullable(Type.String({ description: 'What the model is to follow.' }))),
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
    parallel_tool_calls: Type.Optional(nullable(Type.Boolean({ description: 'Several calls in one answer.' }))),
    reasoning: Type.Optional(nullable(Anything('effort: none, minimal, low, medium, high, …'))),
    text: Type.Optional(nullable(Anything('format: text, json_object or json_schema.'))),
    include: Type.Optional(
      nullable(Type.Array(Type.String(), { description: 'reasoning.encrypted_content is always part of the answer.' })),
    ),
    metadata: Type.Optional(nullable(Anything('Names and values for your own use.'))),
    user: Type.Optional(nullable(Type.String({ description: 'The end user, as an opaque name.' }))),
    store: Type.Optional(nullable(Type.Boolean({ description: 'false: nothing is stored.' }))),
    background: Type.Optional(nullable(Type.Boolean({ description: 'false: the answer comes at once.' }))),
  },
  { description: 'A request for a response.' },
)
export type ResponsesRequest = Static<typeof ResponsesRequest>
