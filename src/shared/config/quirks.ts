import { Type, type Static, type TSchema } from 'typebox'
import type { TargetQuirks } from '../core/codec.ts'

const flag = (description: string) => Type.Optional(Type.Boolean({ description }))

const count = (description: string) =>
  Type.Optional(Type.Integer({ description, minimum: 1, maximum: Number.MAX_SAFE_INTEGER }))

const names = (description: string) => Type.Optional(Type.Array(Type.String({ minLength: 1 }), { description }))

type Snake<Name extends string> = Name extends `${infer Letter}${infer Rest}`
  ? `${Letter extends Lowercase<Letter> ? Letter : `_${Lowercase<Letter>}`}${Snake<Rest>}`
  : Name

/** Deviations of an upstream or a model from the service that defines the dialect. Names as in `Target`. */
const quirkProperties = {
  max_tokens_field: Type.Optional(
    Type.Enum(['max_tokens', 'max_completion_tokens'], {
      description: 'Name of the token limit that the upstream knows; Sluice renames the other one.',
    }),
  ),
  max_output_tokens: count('Most tokens of an answer.'),
  takes_stream_options: flag('Whether a request may ask for usage in streams (stream_options).'),
  refused_fields: names(
    'Fields that the upstream refuses and the answer does not depend on: Sluice leaves them out and reports them.',
  ),
  field_names: Type.Optional(
    Type.Record(Type.String(), Type.String({ minLength: 1 }), {
      description: 'Fields that the upstream knows by another name, e.g. {seed: random_seed}.',
    }),
  ),
  pass_fields: names("Fields of the client's dialect that the upstream knows by the same name."),
  hosted_tools: Type.Optional(
    Type.Array(Type.Enum(['web_search']), {
      description: 'Tools that the provider runs, also for clients of another dialect.',
    }),
  ),
  reasoning: Type.Optional(
    Type.Enum(['none', 'effort', 'budget', 'adaptive'], { description: 'How a request asks for reasoning.' }),
  ),
  efforts: names('Reasoning efforts that the upstream knows, in rising order.'),
  reasoning_back: Type.Optional(
    Type.Enum(['never', 'tool-turns', 'always'], {
      description: 'Assistant turns that are sent back with their reasoning.',
    }),
  ),
  takes_sampling: flag('Whether temperature, top_p and top_k are accepted.'),
  takes_temperature_with_top_p: flag('Whether temperature and top_p are accepted in one request.'),
  takes_top_k: flag('Whether top_k is accepted.'),
  takes_prefill: flag('Whether the last message may be the beginning of the answer.'),
  takes_system_anywhere: flag('Whether system messages may come after other messages.'),
  takes_developer_role: flag('Whether the role "developer" is accepted.'),
  plain_content: flag('Whether content must be a string wherever it can be.'),
  alternates: flag('Whether user and assistant must take turns.'),
  takes_cache_marks: flag('Whether cache_control is accepted.'),
  takes_custom_tools: flag('Whether custom tools (whose input is text) are accepted.'),
  schema_output: Type.Optional(
    Type.Enum(['native', 'tool', 'instruction'], { description: 'How a request asks for an answer by a JSON schema.' }),
  ),
  takes_json_mode: flag('Whether response_format json_object is accepted.'),
  max_stop_sequences: count('Most stop sequences.'),
  max_tool_id_length: count('Most characters in the id of a tool call.'),
  exact_tool_id_length: count('Exact number of letters and digits in the id of a tool call.'),
} satisfies Partial<Record<Snake<keyof TargetQuirks>, TSchema>>

export const quirksSchema = Type.Object(quirkProperties, {
  description: 'Deviations from the service that defines the dialect.',
  additionalProperties: false,
})

type QuirksEntry = Static<typeof quirksSchema>

type Camel<Name extends string> = Name extends `${infer Head}_${infer Tail}`
  ? `${Head}${Capitalize<Camel<Tail>>}`
  : Name

/** The same members under the names of the code. */
type CamelQuirks = { readonly [Name in keyof QuirksEntry as Camel<Name>]: QuirksEntry[Name] }

/** The quirks of an entry of the file. */
export function quirksOf(entry: QuirksEntry = {}): TargetQuirks {
  const members = Object.entries(entry).map(([name, value]) => [camel(name), value])
  const quirks: CamelQuirks = Object.fromEntries(members) as CamelQuirks
  return quirks
}

function camel(name: string): string {
  return name.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase())
}
