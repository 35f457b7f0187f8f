import type { UpstreamCodec } from '../../shared/core/codec.ts'
import { googlePath } from './address.ts'
import { buildRequest } from './build-request.ts'
import { parseAnswer } from './parse-answer.ts'
import { GeminiStreamDecoder } from './stream-decoder.ts'
import { GEMINI_TARGET } from './target.ts'

/** The Gemini API and Vertex AI, for upstreams only. */
export const geminiCodec: UpstreamCodec = {
  name: 'gemini',
  defaultTarget: GEMINI_TARGET,
  framing: 'sse',
  path: (base, model, stream) => googlePath(base, model, stream ? 'streamGenerateContent' : 'generateContent'),
  buildRequest,
  parseAnswer,
  createDecoder,
}

function createDecoder(): GeminiStreamDecoder {
  return new GeminiStreamDecoder()
}
