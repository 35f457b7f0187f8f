import type { UpstreamCodec } from '../../shared/core/codec.ts'
import { bedrockPath } from './address.ts'
import { buildRequest } from './build-request.ts'
import { ConverseDecoder } from './decoder.ts'
import { parseAnswer } from './parse-answer.ts'
import { CONVERSE_TARGET } from './target.ts'

/** Converse and ConverseStream, for upstreams. */
export const converseCodec: UpstreamCodec = {
  name: 'bedrock-converse',
  defaultTarget: CONVERSE_TARGET,
  framing: 'aws-event-stream',
  path: (base, model, stream) => base + bedrockPath(model, stream ? 'converse-stream' : 'converse'),
  buildRequest,
  parseAnswer,
  createDecoder: () => new ConverseDecoder(),
}
