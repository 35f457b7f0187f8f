import type { UpstreamCodec } from '../../shared/core/codec.ts'
import { COHERE_CHAT_PATH } from './address.ts'
import { buildRequest } from './build-request.ts'
import { CohereDecoder } from './decoder.ts'
import { parseAnswer } from './parse-answer.ts'
import { COHERE_TARGET } from './target.ts'

/** Version 2 of Cohere's chat API, for upstreams. */
export const cohereCodec: UpstreamCodec = {
  name: 'cohere-chat',
  defaultTarget: COHERE_TARGET,
  framing: 'sse',
  path: (base) => base + COHERE_CHAT_PATH,
  buildRequest,
  parseAnswer,
  createDecoder: () => new CohereDecoder(),
}
