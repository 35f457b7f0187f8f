import type { Dialect } from '../core/dialect.ts'
import type { DialectName } from '../core/endpoint.ts'
import { anthropicMessages } from './anthropic-messages/index.ts'
import { openaiChat } from './openai-chat/index.ts'

const DIALECTS: Readonly<Record<DialectName, Dialect>> = {
  'openai-chat': openaiChat,
  'anthropic-messages': anthropicMessages,
}

export function dialectOf(name: DialectName): Dialect {
  return DIALECTS[name]
}
