import type { Dialect } from '../../shared/core/dialect.ts'
import { openaiChat } from '../openai-chat/index.ts'
import { readAnswer } from './answer.ts'
import { prepareBody } from './request.ts'

/** The body that begins a video job at POST /videos, and its answer; see `videos/` for what is read later. */
export const openaiVideos = {
  ...openaiChat,
  name: 'openai-videos',
  prepareBody,
  readAnswer,
} as const satisfies Dialect
