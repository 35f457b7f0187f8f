import { Type } from 'typebox'
import type { Static } from 'typebox'
import { conversationEndpoint } from './declare.ts'
import { promptFields, promptFieldsOf } from './messages.ts'

/** POST /v1/messages/count_tokens: a messages request without the fields for the answer. */
export const CountTokensRequest = Type.Object(promptFields, { description: 'The prompt to count.' })
export type CountTokensRequest = Static<typeof CountTokensRequest>

export const CountTokensResponse = Type.Object(
  { input_tokens: Type.Integer({ description: 'Tokens of the prompt.', minimum: 0 }) },
  { description: 'The size of a prompt.' },
)
export type CountTokensResponse = Static<typeof CountTokensResponse>

export const countTokens = conversationEndpoint('/v1/messages/count_tokens', {
  operation: 'countTokens',
  name: 'messages.count_tokens',
  summary: 'Count the tokens of a prompt',
  isAliased: true,
  dialect: 'anthropic-messages',
  servedBy: 'anthropic-messages',
  countsTokens: true,
  body: CountTokensRequest,
  example: { model: 'sim-claude', messages: [{ role: 'user', content: 'Say hello' }] },
  answer: CountTokensResponse,
  fields: (request) => promptFieldsOf(request, false, null),
})
