import { Type, type Static, type TSchema } from 'typebox'
import type { TargetQuirks } from '../core/codec.ts'

const flag = (description: string) => Type.Optional(Type.Boolean({ description }))

const count = (description: string) =>
  Type.Optional(Type.Integer({ description, minimum: 1, maximum: Number.MAX_SAFE_INTEGER }))

const names = (description: string) => Type.Optional(Type.Array(Type.String({ minLength: 1 }), { description }))

type Snake<Name extends string> = Name extends `${infer Letter}${infer Rest}`
  ? `${Letter extends Lowercase<Letter> ? Letter : `_${Lowercase<Letter>}`}${Snake<Rest>}`
  : Name

/** What an upstream, or a model, takes otherwise than the service whose dialect it is. Names as in `Target`. */
const quirkProperties = {
  max_tokens_field: Type.Optional(
    Type.Enum(['max_tokens', 'max_completion_tokens'], {
      description: 'The name of the token limit that it knows; the other one is renamed.',
    }),
  ),
  max_output_tokens: count('Most tokens of an answer.'),
  takes_stream_options: flag('Whether usage of streams may be asked for.'),
  refused_fields: names('Fields it refuses and an answer can do without: left out, and reported.'),
  field_names: Type.Optional(
    Type.Record(Type.String(), Type.String({ minLength: 1 }), {
      description: 'Fields it knows by another name, e.g. {seed: random_seed}.',
    }),
  ),
  pass_fields: names("Fields of the client's dialect that it knows by the same name."),
  hosted_tools: Type.Optional(
    Type.Array(Type.Enum(['web_search']), {
      description: 'Tools of its own that clients of another dialect may ask for.',
    }),
  ),
  reasoning: Type.Optional(
    Type.Enum(['none', 'effort', 'budget', 'adaptive'], { description: 'How it is told to reason.' }),
  ),
  efforts: names('Efforts of reasoning it knows, in rising order.'),
  reasoning_back: Type.Optional(
    Type.Enum(['never', 'tool-turns', 'always'], { description: 'Which of its turns take their reasoning back.' }),
  ),
  takes_sampling: flag('Whether temperature, top_p and top_k are taken.'),
  takes_temperature_with_top_p: flag('Whether temperature and top_p are taken in one request.'),
  takes_top_k: flag('Whether top_k is taken.'),
  takes_prefill: flag('Whether the last message may be the beginning of the answer.'),
  takes_system_anywhere: flag('Whether instructions may stand among the messages.'),
  takes_developer_role: flag('Whether it knows the role "developer".'),
  plain_content: flag('Whether content must be a string wherever it can be.'),
  alternates: flag('Whether user and assistant must take turns.'),
  takes_cache_marks: flag('Whether it knows cache_control.'),
  takes_custom_tools: flag('Whether it knows tools whose input is text.'),
  schema_output: Type.Optional(
    Type.Enum(['native', 'tool', 'instruction'], { description: 'How it is told the schema of an answer.' }),
  ),
  takes_json_mode: flag('Whether it knows response_format json_object.'),
  max_stop_sequences: count('Most stop sequences.'),
  max_tool_id_length: count('Most characters of the id of a tool call.'),
  exact_tool_id_length: count('Ids of tool calls are so many letters and digits, no more and no fewer.'),
} satisfies Partial<Record<Snake<keyof TargetQuirks>, TSchema>>

export const quirksSchema = Type.Object(quirkProperties, {
  description: 'What it takes otherwise than the service whose dialect it speaks.',
  additionalProperties: false,
})

type QuirksEntry = Static<typeof quirksSchema>

type Camel<Name extends string> = Name extends `${infer Head}_${infer Tail}`
  ? `${Head}${Capitalize<Camel<Tail>>}`
  : Name

/** The same members under the names that the code has for them. */
type CamelQuirks = { readonly [Name in keyof QuirksEntry as Camel<Name>]: QuirksEntry[Name] }

/** The quirks of an entry of the file; none when it has none. */
export function quirksOf(entry: QuirksEntry = {}): TargetQuirks {
  const members = Object.entries(entry).map(([name, value]) => [camel(name), value])
  const quirks: CamelQuirks = Object.fromEntries(members) as CamelQuirks
  return quirks
}

function camel(name: string): string {
  return name.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase())
}
