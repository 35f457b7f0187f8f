import type { Codec } from '../../shared/core/codec.ts'
import { buildAnswer } from './build-answer.ts'
import { buildRequest } from './build-request.ts'
import { parseAnswer } from './parse-answer.ts'
import { parseRequest } from './parse-request.ts'
import { MessagesDecoder } from './stream-decoder.ts'
import { MessagesEncoder } from './stream-encoder.ts'
import { MESSAGES_TARGET } from './target.ts'

/** Messages, both ways. */
export const messagesCodec: Codec = {
  name: 'anthropic-messages',
  defaultTarget: MESSAGES_TARGET,
  framing: 'sse',
  parseRequest,
  buildRequest,
  parseAnswer,
  buildAnswer,
  createDecoder: () => new MessagesDecoder(),
  createEncoder: (options) => new MessagesEncoder(options),
}
