import type { Dialect } from '../../shared/core/dialect.ts'
import { routeBody } from '../common/body-edits.ts'
import { openaiChat } from '../openai-chat/index.ts'
import { readAnswer } from './answer.ts'

/** Handles the bodies of POST /v1/embeddings. Its errors are those of chat. */
export const openaiEmbeddings = {
  ...openaiChat,
  name: 'openai-embeddings',
  prepareBody: routeBody,
  readAnswer,
} as const satisfies Dialect
