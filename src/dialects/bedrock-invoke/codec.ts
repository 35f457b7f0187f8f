import type { UpstreamCodec } from '../../core/codec.ts'
import { cloudBody } from '../anthropic-messages/cloud-body.ts'
import { messagesCodec } from '../anthropic-messages/codec.ts'
import { InvokeDecoder } from './decoder.ts'

const VERSION = 'bedrock-2023-05-31'

/** Messages through InvokeModel: model and stream are told by the path. */
export const invokeCodec: UpstreamCodec = {
  name: 'anthropic-messages',
  defaultTarget: messagesCodec.defaultTarget,
  framing: 'aws-event-stream',
  buildRequest: (conversation, target) =>
    cloudBody(messagesCodec.buildRequest(conversation, target), VERSION, ['model', 'stream']),
  parseAnswer: (body) => messagesCodec.parseAnswer(body),
  createDecoder: () => new InvokeDecoder(),
}
