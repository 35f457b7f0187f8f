import type { Dialect } from '../shared/core/dialect.ts'
import type { BodyDialectName } from '../shared/core/endpoint.ts'
import { anthropicMessages } from './anthropic-messages/index.ts'
import { openaiChat } from './openai-chat/index.ts'
import { openaiResponses } from './openai-responses/index.ts'
import { SERVICE_BODIES } from './services/codecs.ts'

const DIALECTS: Readonly<Record<BodyDialectName, Dialect>> = {
  'openai-chat': openaiChat,
  'openai-responses': openaiResponses,
  'anthropic-messages': anthropicMessages,
  ...SERVICE_BODIES,
}

export function dialectOf(name: BodyDialectName): Dialect {
  return DIALECTS[name]
}
