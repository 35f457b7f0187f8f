import type { UpstreamCodec } from '../../core/codec.ts'
import { cloudBody } from '../anthropic-messages/cloud-body.ts'
import { messagesCodec } from '../anthropic-messages/codec.ts'

const VERSION = 'vertex-2023-10-16'

/** Messages through Vertex AI: the model is told by the path. */
export const vertexMessagesCodec: UpstreamCodec = {
  ...messagesCodec,
  buildRequest: (conversation, target) =>
    cloudBody(messagesCodec.buildRequest(conversation, target), VERSION, ['model']),
}
