import type { Dialect } from '../../shared/core/dialect.ts'
import { openaiChat } from '../openai-chat/index.ts'
import { readAnswer } from './answer.ts'
import { prepareBody } from './request.ts'

/** Handles the body of POST /videos, which starts a video job, and its answer. `videos/` reads the job later. */
export const openaiVideos = {
  ...openaiChat,
  name: 'openai-videos',
  prepareBody,
  readAnswer,
} as const satisfies Dialect
