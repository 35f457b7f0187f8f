import type { Codec } from '../../shared/core/codec.ts'
import { buildAnswer } from './build-answer.ts'
import { buildRequest } from './build-request.ts'
import { parseAnswer } from './parse-answer.ts'
import { parseRequest } from './parse-request.ts'
import { ChatDecoder } from './stream-decoder.ts'
import { ChatEncoder } from './stream-encoder.ts'
import { CHAT_TARGET } from './target.ts'

/** Path after a base URL of OpenAI's kind. */
export const CHAT_PATH = '/chat/completions'

/** The chat completions dialect, for clients and upstreams. */
export const chatCodec: Codec = {
  name: 'openai-chat',
  defaultTarget: CHAT_TARGET,
  framing: 'sse',
  path: (base) => base + CHAT_PATH,
  addHeaders(headers, { dialect, headers: sent }) {
    const beta = dialect === 'openai-chat' ? sent['openai-beta'] : undefined
    if (beta !== undefined) headers.push('openai-beta', beta)
  },
  parseRequest,
  buildRequest,
  parseAnswer,
  buildAnswer,
  createDecoder: () => new ChatDecoder(),
  createEncoder: (options) => new ChatEncoder(options),
}
