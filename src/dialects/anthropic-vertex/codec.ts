import type { UpstreamCodec } from '../../shared/core/codec.ts'
import { buildCloudRequest } from '../anthropic-messages/cloud-body.ts'
import type { Cloud } from '../anthropic-messages/cloud-body.ts'
import { messagesCodec } from '../anthropic-messages/codec.ts'

/** Flags are set by a header, which the caller writes. */
const VERTEX: Cloud = { version: 'vertex-2023-10-16', inPath: ['model'], betasIn: 'header' }

/** Messages through Vertex AI: the model is told by the path. */
export const vertexMessagesCodec: UpstreamCodec = {
  name: 'anthropic-vertex',
  defaultTarget: messagesCodec.defaultTarget,
  framing: 'sse',
  buildRequest: (conversation, target) => buildCloudRequest(conversation, target, VERTEX),
  parseAnswer: (body) => messagesCodec.parseAnswer(body),
  createDecoder: () => messagesCodec.createDecoder(),
}
