import type { Dialect } from '../../shared/core/dialect.ts'
import { routeBody } from '../common/body-edits.ts'
import { openaiChat } from '../openai-chat/index.ts'
import { readAnswer } from './answer.ts'

/** Handles the bodies of POST /v1/images/generations. Its errors are those of chat. */
export const openaiImages = {
  ...openaiChat,
  name: 'openai-images',
  prepareBody: routeBody,
  readAnswer,
} as const satisfies Dialect
