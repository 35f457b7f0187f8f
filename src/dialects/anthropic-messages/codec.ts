import type { Codec } from '../../shared/core/codec.ts'
import { buildAnswer } from './build-answer.ts'
import { buildRequest } from './build-request.ts'
import { parseAnswer } from './parse-answer.ts'
import { parseRequest } from './parse-request.ts'
import { MessagesDecoder } from './stream-decoder.ts'
import { MessagesEncoder } from './stream-encoder.ts'
import { MESSAGES_TARGET } from './target.ts'

/** The version that is sent for clients of other dialects. */
const VERSION = '2023-06-01'

/** The messages dialect, for clients and upstreams. */
export const messagesCodec: Codec = {
  name: 'anthropic-messages',
  defaultTarget: MESSAGES_TARGET,
  framing: 'sse',
  path: (base) => `${base}/messages`,
  addHeaders(headers, { dialect, headers: sent, vendor }) {
    if (dialect !== 'anthropic-messages') {
      headers.push('anthropic-version', VERSION)
      return
    }
    const version = sent[`${vendor}-version`]
    const beta = sent[`${vendor}-beta`]
    if (version !== undefined) headers.push('anthropic-version', version)
    if (beta !== undefined) headers.push('anthropic-beta', beta)
  },
  parseRequest,
  buildRequest,
  parseAnswer,
  buildAnswer,
  createDecoder: () => new MessagesDecoder(),
  createEncoder: (options) => new MessagesEncoder(options),
}
