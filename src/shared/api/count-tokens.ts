import { Type } from 'typebox'
import type { Static } from 'typebox'
import { promptFields } from './messages.ts'

/** POST /v1/messages/count_tokens: a messages request without what concerns the answer. */
export const CountTokensRequest = Type.Object(promptFields, { description: 'The prompt to count.' })
export type CountTokensRequest = Static<typeof CountTokensRequest>

export const CountTokensResponse = Type.Object(
  { input_tokens: Type.Integer({ description: 'Tokens of the prompt.', minimum: 0 }) },
  { description: 'The size of a prompt.' },
)
export type CountTokensResponse = Static<typeof CountTokensResponse>
