import type { Dialect } from '../../shared/core/dialect.ts'
import { openaiChat } from '../openai-chat/index.ts'
import { readAnswer } from './answer.ts'
import { prepareBody } from './request.ts'

/** Handles the bodies of POST /v1/rerank, which many services take with small differences. Its errors are those of chat. */
export const rerank = {
  ...openaiChat,
  name: 'rerank',
  prepareBody,
  readAnswer,
} as const satisfies Dialect
