import type { Dialect } from '../shared/core/dialect.ts'
import type { BodyDialectName } from '../shared/core/endpoint.ts'
import { anthropicMessages } from './anthropic-messages/index.ts'
import { openaiChat } from './openai-chat/index.ts'
import { openaiEmbeddings } from './openai-embeddings/index.ts'
import { openaiImages } from './openai-images/index.ts'
import { openaiResponses } from './openai-responses/index.ts'
import { openaiVideos } from './openai-videos/index.ts'
import { rerank } from './rerank/index.ts'

const DIALECTS: Readonly<Record<BodyDialectName, Dialect>> = {
  'openai-chat': openaiChat,
  'openai-responses': openaiResponses,
  'anthropic-messages': anthropicMessages,
  'openai-embeddings': openaiEmbeddings,
  'openai-images': openaiImages,
  'openai-videos': openaiVideos,
  rerank,
}

export function dialectOf(name: BodyDialectName): Dialect {
  return DIALECTS[name]
}
