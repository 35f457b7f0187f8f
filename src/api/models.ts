import { Type } from 'typebox'
import type { Static } from 'typebox'

/** GET /v1/models/{id}. */
export const ModelEntry = Type.Object(
  {
    id: Type.String({ description: 'What requests name in `model`.' }),
    object: Type.Literal('model'),
    created: Type.Integer({ description: 'Unix time in seconds.' }),
    owned_by: Type.String(),
    type: Type.Literal('model', { description: 'This and the next two are for clients of the messages protocol.' }),
    display_name: Type.String(),
    created_at: Type.String({ format: 'date-time' }),
  },
  { description: 'A model that the key may use.' },
)
export type ModelEntry = Static<typeof ModelEntry>

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
