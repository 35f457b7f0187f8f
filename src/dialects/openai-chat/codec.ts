import type { Codec } from '../../shared/core/codec.ts'
import { buildAnswer } from './build-answer.ts'
import { buildRequest } from './build-request.ts'
import { parseAnswer } from './parse-answer.ts'
import { parseRequest } from './parse-request.ts'
import { ChatDecoder } from './stream-decoder.ts'
import { ChatEncoder } from './stream-encoder.ts'
import { CHAT_TARGET } from './target.ts'

/** Chat completions, both ways. */
export const chatCodec: Codec = {
  name: 'openai-chat',
  defaultTarget: CHAT_TARGET,
  framing: 'sse',
  parseRequest,
  buildRequest,
  parseAnswer,
  buildAnswer,
  createDecoder: () => new ChatDecoder(),
  createEncoder: (options) => new ChatEncoder(options),
}
