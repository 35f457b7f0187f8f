import { Type } from 'typebox'
import type { Static, TSchema } from 'typebox'
import { localEndpoint } from './declare.ts'

/** Null: not known. */
const unknownOr = <Schema extends TSchema>(schema: Schema) => Type.Union([schema, Type.Null()])

/** GET /v1/models/{id}. */
export const ModelEntry = Type.Object(
  {
    id: Type.String({ description: 'The value of `model` in requests.' }),
    object: Type.Literal('model'),
    created: Type.Integer({ description: 'Unix time in seconds.' }),
    owned_by: Type.String(),
    context_window: Type.Optional(
      unknownOr(Type.Integer({ description: 'Most tokens of prompt and answer together.' })),
    ),
    max_output_tokens: Type.Optional(unknownOr(Type.Integer({ description: 'Most tokens of an answer.' }))),
    capabilities: Type.Optional(
      Type.Object({
        images: unknownOr(Type.Boolean({ description: 'Whether prompts may hold images.' })),
        tools: unknownOr(Type.Boolean({ description: 'Whether the model can call tools.' })),
        reasoning: unknownOr(Type.Boolean({ description: 'Whether the model reasons before it answers.' })),
      }),
    ),
    type: Type.Literal('model', {
      description: 'type, display_name and created_at are for clients of the messages protocol.',
    }),
    display_name: Type.String(),
    created_at: Type.String({ format: 'date-time' }),
  },
  { description: 'A model that the key may use.' },
)
export type ModelEntry = Static<typeof ModelEntry>

/** The same for clients of the messages protocol, which send `anthropic-version`. */
export interface MessagesModel {
  readonly type: 'model'
  readonly id: string
  readonly display_name: string
  readonly created_at: string
  readonly max_input_tokens: number | null
  readonly max_tokens: number | null
  readonly capabilities: Readonly<Record<string, { readonly supported: boolean }>> | null
}

export interface MessagesModelList {
  readonly data: readonly MessagesModel[]
  readonly has_more: boolean
  readonly first_id: string | null
  readonly last_id: string | null
}

/** Query of the list, for requests with `anthropic-version`. */
export const ModelListQuery = Type.Object({
  limit: Type.Optional(
    Type.Integer({ description: 'Only with anthropic-version: most models of a page.', minimum: 1, maximum: 1000 }),
  ),
  after_id: Type.Optional(
    Type.String({ description: 'Only with anthropic-version: the page begins after this model.' }),
  ),
  before_id: Type.Optional(
    Type.String({ description: 'Only with anthropic-version: the page ends before this model.' }),
  ),
})

/** GET /v1/models. */
export const ModelList = Type.Object(
  {
    object: Type.Literal('list'),
    data: Type.Array(ModelEntry),
    has_more: Type.Literal(false),
    first_id: Type.Union([Type.String(), Type.Null()]),
    last_id: Type.Union([Type.String(), Type.Null()]),
  },
  { description: 'All models that the key may use.' },
)
export type ModelList = Static<typeof ModelList>

export const modelList = localEndpoint('/v1/models', {
  operation: 'models',
  name: 'models.list',
  summary: 'The models that this key may use',
  isAliased: true,
  query: ModelListQuery,
  answer: ModelList,
})

export const model = localEndpoint('/v1/models/{id}', {
  operation: 'model',
  name: 'models.get',
  summary: 'One model',
  isAliased: true,
  takesSlashes: true,
  answer: ModelEntry,
})
